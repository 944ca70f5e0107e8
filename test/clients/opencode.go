package main

import (
	"fmt"
	"path/filepath"
)

// opencode is OpenCode, under the MIT license.
func opencode() agent {
	return agent{
		name: "opencode",
		from: release{
			spec:      "opencode-linux-x64@1.18.33",
			integrity: "sha512-q/t/3p2CTxOT9y2kvjesb/LZab2+1eqlhhWA02Be6mjTtmYtNBcBsrI5yDo4Fw7ZSPBW2oyMIGMNRqiKQjiAWw==",
			native:    true,
		},
		furnish: func(p place, url string) error {
			return writeFile(p.home(".config", "opencode", "opencode.json"), fmt.Sprintf(opencodeConfig, url))
		},
		program:   func(dir string) []string { return []string{filepath.Join(dir, "bin", "opencode")} },
		arguments: func(prompt string) []string { return []string{"run", "--auto", prompt} },
		asking:    func(prompt string) []string { return []string{"run", prompt} },
		typing: func(arguments string) []string {
			return []string{"run", "--auto", "--command", "pawl/resume", arguments}
		},
		environ: func(place, string) []string {
			return []string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "NPM_CONFIG_FETCH_RETRIES=0"}
		},
		server:     "pawl_brief",
		shell:      opencodeShell,
		background: func(command, dir string) call { return opencodeShell(detached(command), dir) },
		delegate: func(task string, work call) []turn {
			begin := call{tool: "task", args: object{
				"description": "part of the work", "prompt": task, "subagent_type": "general",
			}}
			return []turn{{calls: []call{begin}}, {sub: true, calls: []call{work}}, {sub: true, text: "That is done."}}
		},
		write: func(path, content string) call {
			return call{tool: "write", args: object{"filePath": path, "content": content}}
		},
		edit: func(path, old, new string) call {
			return call{tool: "edit", args: object{"filePath": path, "oldString": old, "newString": new}}
		},
	}
}

const opencodeConfig = `{
  "$schema": "https://opencode.ai/config.json",
  "model": "mock/mock",
  "autoupdate": false,
  "permission": {"bash": {"*": "allow", "git push*": "deny", "sh deploy.sh": "ask"}},
  "provider": {
    "mock": {
      "npm": "@ai-sdk/openai-compatible",
      "name": "mock",
      "options": {"baseURL": "%s/v1", "apiKey": "none"},
      "models": {"mock": {}}
    }
  }
}
`

func opencodeShell(command, dir string) call {
	c := call{tool: "bash", args: object{"command": command, "description": "part of the work"}}
	if dir != "" {
		c.args["workdir"] = dir
	}
	return c
}
