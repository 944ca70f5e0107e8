package main

import "path/filepath"

// claude is Anthropic's Claude Code. Its licence is not free, so it runs only where it is asked for.
func claude() agent {
	return agent{
		name: "claude",
		from: release{
			spec:      "@anthropic-ai/claude-code-linux-x64@2.1.329",
			integrity: "sha512-+n4lu1ubYAp02Y0X/MAUnxw9yY6SHHZ77F+IoW+V0wVoFuiI9opdH6gofjf14gXJCEYMTNpks7Gn1i8XZTKAWA==",
			native:    true,
		},
		furnish:   func(place, string) error { return nil },
		program:   func(dir string) []string { return []string{filepath.Join(dir, "claude")} },
		arguments: func(prompt string) []string { return []string{"--print", prompt, "--dangerously-skip-permissions"} },
		environ: func(_ place, url string) []string {
			return []string{
				"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=none",
				"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
				"IS_SANDBOX=1", // else it refuses to skip permissions as root
			}
		},
		server: "mcp__pawl__brief",
		shell: func(command string) call {
			return call{tool: "Bash", args: object{"command": command, "description": "part of the work"}}
		},
		write: func(path, content string) call {
			return call{tool: "Write", args: object{"file_path": path, "content": content}}
		},
		edit: func(path, old, new string) call {
			return call{tool: "Edit", args: object{"file_path": path, "old_string": old, "new_string": new}}
		},
	}
}
