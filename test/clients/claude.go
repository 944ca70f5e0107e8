package main

import "path/filepath"

// claude is Anthropic's Claude Code. Its license is not free: it is downloaded, and never stored in the repository.
func claude() agent {
	return agent{
		name: "claude",
		from: release{
			spec:      "@anthropic-ai/claude-code-linux-x64@2.1.329",
			integrity: "sha512-+n4lu1ubYAp02Y0X/MAUnxw9yY6SHHZ77F+IoW+V0wVoFuiI9opdH6gofjf14gXJCEYMTNpks7Gn1i8XZTKAWA==",
			native:    true,
		},
		furnish: func(p place, _ string) error {
			return writeFile(p.home(".claude", "settings.json"), "{\"permissions\": {\"deny\": [\"Bash(git push *)\"]}}\n")
		},
		program:   func(dir string) []string { return []string{filepath.Join(dir, "claude")} },
		arguments: func(prompt string) []string { return []string{"--print", prompt, "--dangerously-skip-permissions"} },
		asking:    func(prompt string) []string { return []string{"--print", prompt, "--permission-mode", "acceptEdits"} },
		typing: func(arguments string) []string {
			return []string{"--print", "/pawl:resume " + arguments, "--dangerously-skip-permissions"}
		},
		environ: func(_ place, url string) []string {
			return []string{
				"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=none",
				"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
				"IS_SANDBOX=1", // without it, it refuses to skip permissions as root
			}
		},
		server: "mcp__pawl__brief",
		shell: func(command, dir string) call {
			return call{tool: "Bash", args: object{"command": inFolder(command, dir), "description": "part of the work"}}
		},
		background: func(command, dir string) call {
			return call{tool: "Bash", args: object{
				"command": inFolder(command, dir), "description": "wait for a sign", "run_in_background": true,
			}}
		},
		delegate: func(task string, work call) []turn {
			begin := call{tool: "Agent", args: object{
				"description": "part of the work", "prompt": task, "subagent_type": "general-purpose", "run_in_background": false,
			}}
			return []turn{{calls: []call{begin}}, {sub: true, calls: []call{work}}, {sub: true, text: "That is done."}}
		},
		write: func(path, content string) call {
			return call{tool: "Write", args: object{"file_path": path, "content": content}}
		},
		edit: func(path, old, new string) call {
			return call{tool: "Edit", args: object{"file_path": path, "old_string": old, "new_string": new}}
		},
	}
}
