package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// codex is OpenAI's Codex CLI, under Apache-2.0.
func codex() agent {
	return agent{
		name: "codex",
		from: release{
			spec:      "@openai/codex@0.169.0-linux-x64",
			integrity: "sha512-o05NyAOCDygSPRo1yinzxvkRSdmsZyBD9E7mbpmjRanSfM8lypqWtQgEo4XfNkwhuCR2aFu8mlGOsQGFXVbVww==",
			native:    true,
		},
		furnish: func(p place, url string) error {
			return errors.Join(
				writeFile(p.home(".codex", "config.toml"), fmt.Sprintf(codexConfig, url, p.project())),
				writeFile(p.home(".codex", "rules", "default.rules"), codexRules),
			)
		},
		program: func(dir string) []string {
			return []string{filepath.Join(dir, "vendor", "x86_64-unknown-linux-musl", "bin", "codex")}
		},
		arguments: func(prompt string) []string {
			return []string{"exec", "--dangerously-bypass-approvals-and-sandbox", prompt}
		},
		trust:   codexTrusts,
		environ: func(place, string) []string { return []string{"MOCK_KEY=none"} },
		server:  "mcp__pawl",
		shell:   codexShell,
		background: func(command, dir string) call { // after one second a command continues in the background
			c := codexShell(command, dir)
			c.args["yield_time_ms"] = 1000
			return c
		},
		delegate: func(task string, work call) []turn {
			begin := call{namespace: "collaboration", tool: "spawn_agent", args: object{
				"task_name": "part", "message": task, "fork_turns": "none",
			}}
			wait := call{namespace: "collaboration", tool: "wait_agent", args: object{"timeout_ms": 30000}}
			return []turn{
				{calls: []call{begin}}, {calls: []call{wait}}, {sub: true, calls: []call{work}}, {sub: true, text: "That is done."},
			}
		},
		write: func(path, content string) call {
			return patch("*** Add File: "+path, lines("+", content))
		},
		edit: func(path, old, new string) call {
			return patch("*** Update File: "+path, "@@\n"+lines("-", old)+lines("+", new))
		},
	}
}

// codexConfig names a model that Codex knows: it offers patches only to known models.
const codexConfig = `model = "gpt-5.5"
model_provider = "mock"

[model_providers.mock]
name = "mock"
base_url = "%s/v1"
env_key = "MOCK_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0

[analytics]
enabled = false

[features]
multi_agent_v2 = true

[projects."%s"]
trust_level = "trusted"
`

// patch is a call of the tool that takes a patch in OpenAI's own format.
func patch(header, body string) call {
	return call{tool: "apply_patch", text: "*** Begin Patch\n" + header + "\n" + body + "*** End Patch\n"}
}

// lines puts a mark before each line of a text.
func lines(mark, text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(mark + strings.TrimSuffix(line, "\n") + "\n")
	}
	return b.String()
}

func codexShell(command, dir string) call {
	c := call{tool: "exec_command", args: object{"cmd": command}}
	if dir != "" {
		c.args["workdir"] = dir
	}
	return c
}

const codexRules = `prefix_rule(pattern = ["git", "push"], decision = "forbidden")
`
