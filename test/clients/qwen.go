package main

import (
	"path/filepath"
)

// qwen is Qwen Code, under Apache-2.0, a fork of Gemini CLI. The last release for Node 20. In headless mode its hooks
// report neither the start nor the end of a session, so pawl does not attach to it: it is used over MCP and below `pawl run`.
func qwen() agent {
	return agent{
		name: "qwen",
		from: release{
			spec:      "@qwen-code/qwen-code@0.15.10",
			integrity: "sha512-A1rAUg7TTO62yuwogzEstMWLVxQ4n4JO26k9t6s93Ed14svp7W+7WEAAZhUMmxPf/q9xQQW7LwX48cuQcgKDBQ==",
		},
		recipe: true,
		furnish: func(p place, _ string) error {
			return writeFile(p.home(".qwen", "settings.json"), qwenSettings)
		},
		program:   func(dir string) []string { return []string{"node", filepath.Join(dir, "cli.js")} },
		arguments: func(prompt string) []string { return []string{"--prompt", prompt, "--approval-mode", "yolo"} },
		environ: func(_ place, url string) []string {
			return []string{"OPENAI_API_KEY=none", "OPENAI_BASE_URL=" + url + "/v1", "OPENAI_MODEL=mock"}
		},
		server: "mcp__pawl__brief",
		shell: func(command, dir string) call {
			return call{tool: "run_shell_command", args: object{
				"command": inFolder(command, dir), "description": "part of the work", "is_background": false,
			}}
		},
		write: func(path, content string) call {
			return call{tool: "write_file", args: object{"file_path": path, "content": content}}
		},
		edit: func(path, old, new string) call {
			return call{tool: "edit", args: object{"file_path": path, "old_string": old, "new_string": new}}
		},
	}
}

const qwenSettings = `{
  "security": {"auth": {"selectedType": "openai"}},
  "privacy": {"usageStatisticsEnabled": false}
}
`
