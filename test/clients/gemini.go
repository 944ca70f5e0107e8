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
			trusted := fmt.Sprintf("{%q: \"TRUST_FOLDER\"}\n", p.project()) // --skip-trust would leave out the project's own settings
			return errors.Join(
				writeFile(p.home(".gemini", "settings.json"), settings),
				writeFile(p.home(".gemini", "trustedFolders.json"), trusted),
			)
		},
		program: func(dir string) []string { return []string{"node", filepath.Join(dir, "bundle", "gemini.js")} },
		arguments: func(prompt string) []string {
			return []string{"--prompt", prompt, "--approval-mode", "yolo", "--model", "gemini-2.5-pro"}
		},
		environ: func(_ place, url string) []string {
			return []string{
				"GEMINI_API_KEY=none", "GOOGLE_GEMINI_BASE_URL=" + url,
				"GEMINI_CLI_NO_RELAUNCH=true", // it would start itself once more with another heap size: one process is easier to kill
			}
		},
		server: "mcp_pawl_brief",
		shell: func(command string) call {
			return call{tool: "run_shell_command", args: object{"command": command, "description": "part of the work"}}
		},
		write: func(path, content string) call {
			return call{tool: "write_file", args: object{"file_path": path, "content": content}}
		},
		edit: func(path, old, new string) call {
			return call{tool: "replace", args: object{"file_path": path, "instruction": "change it", "old_string": old, "new_string": new}}
		},
	}
}
