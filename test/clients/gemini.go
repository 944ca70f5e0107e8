package main

import (
	"errors"
	"fmt"
	"path/filepath"
)

// gemini is Google's Gemini CLI, under Apache-2.0. It needs Node 20.
func gemini() agent {
	return agent{
		name: "gemini",
		from: release{
			spec:      "@google/gemini-cli@0.61.0",
			integrity: "sha512-dbQ9A0qBtFJNi6XBkHvfZ6Azpn6PNgH/P8h2MZ67RLlX8hSAVjup39CRWqdRxZv7YXIuhrFaytr8y0jKnkoxnQ==",
		},
		furnish: func(p place, _ string) error {
			settings := "{\n  \"security\": {\"auth\": {\"selectedType\": \"gemini-api-key\"}}\n}\n"
			trusted := fmt.Sprintf("{%q: \"TRUST_FOLDER\", %q: \"TRUST_FOLDER\"}\n", p.project(), p.worktree()) // --skip-trust would leave out the project's own settings
			return errors.Join(
				writeFile(p.home(".gemini", "settings.json"), settings),
				writeFile(p.home(".gemini", "trustedFolders.json"), trusted),
				writeFile(p.home(".gemini", "policies", "rules.toml"), geminiRules),
			)
		},
		program:   func(dir string) []string { return []string{"node", filepath.Join(dir, "bundle", "gemini.js")} },
		arguments: geminiArguments,
		asking:    geminiArguments, // in other modes it does not offer the tool to its model
		typing:    func(arguments string) []string { return geminiArguments("/pawl:resume " + arguments) },
		environ: func(_ place, url string) []string {
			return []string{
				"GEMINI_API_KEY=none", "GOOGLE_GEMINI_BASE_URL=" + url,
				"GEMINI_CLI_NO_RELAUNCH=true", // otherwise it restarts itself with another heap size: one process is easier to kill
			}
		},
		server: "mcp_pawl_brief",
		shell:  geminiShell,
		background: func(command, dir string) call {
			c := geminiShell(command, dir)
			c.args["is_background"] = true
			return c
		},
		delegate: func(task string, work call) []turn {
			return []turn{
				{calls: []call{{tool: "invoke_agent", args: object{"agent_name": "generalist", "prompt": task}}}},
				{sub: true, calls: []call{work}},
				{sub: true, calls: []call{{tool: "complete_task", args: object{"result": "That is done."}}}},
			}
		},
		write: func(path, content string) call {
			return call{tool: "write_file", args: object{"file_path": path, "content": content}}
		},
		edit: func(path, old, new string) call {
			return call{tool: "replace", args: object{"file_path": path, "instruction": "change it", "old_string": old, "new_string": new}}
		},
	}
}

func geminiShell(command, dir string) call {
	c := call{tool: "run_shell_command", args: object{"command": command, "description": "part of the work"}}
	if dir != "" {
		c.args["dir_path"] = dir
	}
	return c
}

func geminiArguments(prompt string) []string {
	return []string{"--prompt", prompt, "--approval-mode", "yolo", "--model", "gemini-2.5-pro"}
}

const geminiRules = `[[rule]]
toolName = "run_shell_command"
commandPrefix = "git push"
decision = "deny"
priority = 999

[[rule]]
toolName = "run_shell_command"
commandPrefix = "sh deploy.sh"
decision = "ask_user"
priority = 999
`
