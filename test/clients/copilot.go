package main

import (
	"fmt"
	"path/filepath"
)

// copilot is GitHub's Copilot CLI. Its license is not free: it is downloaded, and never stored in the repository.
func copilot() agent {
	return agent{
		name: "copilot",
		from: release{
			spec:      "@github/copilot-linux-x64@1.0.102",
			integrity: "sha512-eGHPbsP0p2QgfVZCjtbGBFZPBOJQ0DN7xIbBRAo7oG8b1zfLirQIdfI4h8Iy68Dv2cKJGJZg2/EO7W7KpIMJOw==",
			native:    true,
		},
		furnish: func(p place, _ string) error {
			trusted := fmt.Sprintf("{\"trustedFolders\": [%q, %q]}\n", p.project(), p.worktree())
			return writeFile(p.home(".copilot", "config.json"), trusted)
		},
		program: func(dir string) []string { return []string{filepath.Join(dir, "copilot")} },
		arguments: func(prompt string) []string {
			return []string{"--prompt", prompt, "--allow-all", "--deny-tool", "shell(git push)"}
		},
		asking:  func(prompt string) []string { return []string{"--prompt", prompt, "--allow-tool", "write"} },
		forgets: true,
		environ: func(_ place, url string) []string {
			return []string{
				"COPILOT_OFFLINE=true", "COPILOT_AUTO_UPDATE=false",
				"COPILOT_PROVIDER_BASE_URL=" + url + "/v1", "COPILOT_PROVIDER_TYPE=openai", "COPILOT_PROVIDER_API_KEY=none",
				"COPILOT_MODEL=mock",
			}
		},
		server: "pawl-brief",
		shell: func(command, dir string) call {
			return call{tool: "bash", args: object{"command": inFolder(command, dir), "description": "part of the work"}}
		},
		background: func(command, dir string) call {
			return call{tool: "bash", args: object{
				"command": inFolder(command, dir), "description": "wait for a sign", "mode": "async",
			}}
		},
		delegate: func(task string, work call) []turn {
			begin := call{tool: "task", args: object{
				"description": "part of the work", "name": "part", "prompt": task, "agent_type": "general-purpose", "mode": "sync",
			}}
			return []turn{{calls: []call{begin}}, {sub: true, calls: []call{work}}, {sub: true, text: "That is done."}}
		},
		write: func(path, content string) call {
			return call{tool: "create", args: object{"path": path, "file_text": content}}
		},
		edit: func(path, old, new string) call {
			return call{tool: "edit", args: object{"path": path, "old_str": old, "new_str": new}}
		},
	}
}
