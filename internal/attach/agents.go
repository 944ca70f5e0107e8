package attach

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pawl"
)

// agent is a coding agent, with the files that pawl edits.
type agent struct {
	name    string
	command string // what its user types
	targets func(p Setup, s Scope) []target
	next    func(s Scope) []string
}

// agents are the supported agents.
var agents = []agent{
	{"claude", "claude", claude, func(s Scope) []string {
		if s == Project {
			return []string{"Claude Code asks at its first start here, and preselects no: choose `Yes, I trust this folder`, then `Use this MCP server`"}
		}
		return nil
	}},
	{"codex", "codex", codex, func(s Scope) []string {
		next := []string{"Codex runs no hook until you trust it: run `codex`, type /hooks and trust those of pawl"}
		if s == Project {
			next = append(next, "Codex reads .codex/ only in a folder that you trust: it asks at its first start there")
		}
		return next
	}},
	{"gemini", "gemini", gemini, func(s Scope) []string {
		if s == Project {
			return []string{"Gemini CLI runs a project's hooks only in a folder that you trust: it asks at its first start there"}
		}
		return nil
	}},
	{"opencode", "opencode", opencode, func(Scope) []string { return nil }},
	{"copilot", "copilot", copilot, func(s Scope) []string {
		if s == Project {
			return []string{"Copilot CLI runs a project's hooks only in a folder that you trust: run `copilot` there and choose `Yes, and remember this folder for future sessions`"}
		}
		return nil
	}},
}

// Names returns the names of the agents that can be attached.
func Names() []string {
	names := make([]string, len(agents))
	for i, a := range agents {
		names[i] = a.name
	}
	return names
}

func find(name string) (agent, error) {
	i := slices.IndexFunc(agents, func(a agent) bool { return a.name == name })
	if i < 0 {
		return agent{}, &pawl.Error{
			Kind: pawl.KindUsage,
			Err:  fmt.Errorf("unknown agent %q; supported: %s; for others use `pawl run -- COMMAND…` or `pawl mcp`", name, strings.Join(Names(), ", ")),
			Hint: "pawl attach --help",
		}
	}
	return agents[i], nil
}

// Timeouts of hooks, in seconds. At the end of a turn acceptance checks may run.
const (
	hookSeconds = 10
	stopSeconds = 60
)

func seconds(event string) int {
	if event == "Stop" || event == "AfterAgent" {
		return stopSeconds
	}
	return hookSeconds
}

var mcpArgs = []string{"mcp"}

// server is how most agents name an MCP server.
type server struct {
	Command string   `json:"command"`
	Args    []string `json:"args"`
}

// mcpServers is the MCP server in a file of Claude Code's format.
func mcpServers(p Setup) jsonServer {
	return jsonServer{in: "mcpServers", value: server{p.Pawl, mcpArgs}, must: map[string]any{"command": p.Pawl, "args": mcpArgs}}
}

// claude: the project's hooks go to the settings that are not committed, for they name a program of this machine. The
// fields command and args start it without a shell. Copilot CLI reads these files too, but runs bash if there is one:
// there it does nothing, and Copilot's own hooks do the work.
func claude(p Setup, s Scope) []target {
	hook := func(event string) handler {
		return handler{Type: "command", Command: p.hookProgram(), Args: []string{"hook", "claude"}, Bash: ":", Timeout: seconds(event)}
	}
	events := []string{"SessionStart", "SessionEnd", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "PreCompact",
		"SubagentStart", "SubagentStop", "Stop", "StopFailure", "PermissionRequest", "PermissionDenied", "TaskCreated", "TaskCompleted"}
	toolEvents := []string{"PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest", "PermissionDenied"}
	settings, servers, folder := "settings.local.json", filepath.Join(p.Root, ".mcp.json"), filepath.Join(p.Root, ".claude")
	if s == User {
		folder = p.home("CLAUDE_CONFIG_DIR", ".claude")
		settings, servers = "settings.json", filepath.Join(p.Home, ".claude.json")
		if p.Env("CLAUDE_CONFIG_DIR") != "" {
			servers = filepath.Join(folder, ".claude.json")
		}
	}
	return append([]target{
		{filepath.Join(folder, settings), "{}\n", []edit{hooks{agent: "claude", events: events, tools: toolEvents, hook: hook}}},
		{servers, "{}\n", []edit{mcpServers(p)}},
		p.skill(filepath.Join(folder, "skills"), "$ARGUMENTS"),
	}, p.commandFiles(filepath.Join(folder, "commands"), ".md", resumeMarkdown, "$ARGUMENTS", ":")...)
}

func codex(p Setup, s Scope) []target {
	hook := func(event string) handler {
		timeout := seconds(event)
		if slices.Contains(codexShort, event) {
			timeout = codexShortSeconds
		}
		return handler{Type: "command", Command: word(p.hookProgram()) + " hook codex", Timeout: timeout}
	}
	events := []string{"SessionStart", "SessionEnd", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PermissionRequest", "PreCompact",
		"SubagentStart", "SubagentStop", "Stop", "Interrupt"}
	folder, skills := filepath.Join(p.Root, ".codex"), filepath.Join(p.Root, ".agents", "skills")
	if s == User {
		folder = p.home("CODEX_HOME", ".codex")
		skills = filepath.Join(folder, "skills")
	}
	return []target{
		{filepath.Join(folder, "hooks.json"), "{}\n", []edit{hooks{agent: "codex", events: events, hook: hook}}},
		{filepath.Join(folder, "config.toml"), "", []edit{tomlServer{p.Pawl}}},
		p.skill(skills, ""),
	}
}

// gemini counts in milliseconds. It has PreCompress too, but at every turn.
func gemini(p Setup, s Scope) []target {
	hook := func(event string) handler {
		return handler{Type: "command", Name: geminiName, Command: word(p.hookProgram()) + " hook gemini", Timeout: 1000 * seconds(event)}
	}
	events := []string{"SessionStart", "SessionEnd", "BeforeAgent", "AfterAgent", "BeforeTool", "AfterTool", "Notification"}
	folder := filepath.Join(p.Root, ".gemini")
	if s == User {
		folder = p.geminiHome()
	}
	return append([]target{
		{filepath.Join(folder, "settings.json"), "{}\n", []edit{hooks{agent: "gemini", events: events, tools: []string{"BeforeTool", "AfterTool"}, hook: hook}, mcpServers(p)}},
		p.file(filepath.Join(folder, "commands", "pawl.toml"), geminiCommand, "{{args}}"),
	}, p.commandFiles(filepath.Join(folder, "commands"), ".toml", resumeTOML, "{{args}}", ":")...)
}

// geminiName is the name of pawl's hooks there.
const geminiName = "pawl"

// opencode has no command hooks: a plugin sends events to pawl.
func opencode(p Setup, s Scope) []target {
	folder, configs := filepath.Join(p.Root, ".opencode"), []string{p.Root, filepath.Join(p.Root, ".opencode")}
	if s == User {
		folder = filepath.Join(p.home("XDG_CONFIG_HOME", ".config"), "opencode")
		configs = []string{folder}
	}
	value := struct {
		Type    string   `json:"type"`
		Command []string `json:"command"`
		Enabled bool     `json:"enabled"`
	}{"local", []string{p.Pawl, "mcp"}, true}
	config := jsonServer{in: "mcp", value: value, must: map[string]any{"type": value.Type, "command": value.Command}}
	return append([]target{
		p.file(filepath.Join(folder, "plugin", "pawl.js"), opencodePlugin, ""),
		{opencodeConfig(configs), "{\n  \"$schema\": \"https://opencode.ai/config.json\"\n}\n", []edit{config}},
		p.file(filepath.Join(folder, "command", "pawl.md"), opencodeCommand, "$ARGUMENTS"),
	}, p.commandFiles(filepath.Join(folder, "command"), ".md", resumeMarkdown, "$ARGUMENTS", "/")...)
}

// opencodeConfig returns the existing settings file, or the one to create.
func opencodeConfig(folders []string) string {
	for _, folder := range folders {
		for _, name := range []string{"opencode.jsonc", "opencode.json"} {
			if path := filepath.Join(folder, name); isThere(path) {
				return path
			}
		}
	}
	return filepath.Join(folders[0], "opencode.json")
}

// copilot treats a failing hook as a denial. Without || true it would deny every tool call if pawl is missing. It has PermissionRequest too,
// but at every tool call, whether it asks or not.
func copilot(p Setup, s Scope) []target {
	hook := func(event string) handler {
		return handler{Type: "command", Bash: word(p.hookProgram()) + " hook copilot " + orElse, TimeoutSec: seconds(event)}
	}
	events := []string{"SessionStart", "SessionEnd", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "PreCompact",
		"SubagentStart", "SubagentStop", "Stop", "ErrorOccurred"}
	folder, servers := filepath.Join(p.Root, ".github"), "mcp.json"
	if s == User {
		folder, servers = p.home("COPILOT_HOME", ".copilot"), "mcp-config.json"
	}
	return []target{
		{filepath.Join(folder, "hooks", "pawl.json"), "{\n  \"version\": 1\n}\n", []edit{hooks{agent: "copilot", events: events, flat: true, hook: hook}}},
		{filepath.Join(folder, servers), "{}\n", []edit{mcpServers(p)}},
		p.skill(filepath.Join(folder, "skills"), ""),
	}
}

// home returns the folder that a variable names, or the default in the user's home.
func (p Setup) home(variable, usual string) string {
	if folder := p.Env(variable); filepath.IsAbs(folder) {
		return filepath.Clean(folder)
	}
	return filepath.Join(p.Home, usual)
}

func (p Setup) geminiHome() string { return filepath.Join(p.home("GEMINI_CLI_HOME", ""), ".gemini") }

func isThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Instructions for agents, with {{pawl}} for the program and {{arguments}} for the user's arguments.
var (
	//go:embed files/instructions.md
	instructions string
	//go:embed files/skill.md
	skillHead string
	//go:embed files/command.toml
	geminiCommand string
	//go:embed files/command.md
	opencodeCommand string
	//go:embed files/plugin.js
	opencodePlugin string
)

// skill is a skill below a folder of skills.
func (p Setup) skill(folder, arguments string) target {
	return p.file(filepath.Join(folder, "pawl", "SKILL.md"), skillHead, arguments)
}

// file is a file that pawl writes as a whole.
func (p Setup) file(path, text, arguments string) target {
	if arguments != "" {
		arguments = "\n\nAsked for: " + arguments
	}
	program, err := json.Marshal(p.hookProgram())
	if err != nil {
		program = []byte(`"pawl"`)
	}
	text = strings.NewReplacer("{{instructions}}", strings.TrimSpace(instructions)).Replace(text)
	skips, err := json.Marshal(matcher(skipped("opencode")))
	if err != nil {
		skips = []byte(`""`)
	}
	text = strings.NewReplacer("{{tools}}", string(skips), "{{pawl}}", word(p.Pawl), "{{program}}", string(program), "{{arguments}}", arguments).Replace(text)
	return target{path: path, edits: []edit{whole{content: []byte(text)}}}
}

// hookProgram returns the program that hooks start.
func (p Setup) hookProgram() string { return cmp.Or(p.Hook, p.Pawl) }

// word quotes a program for a shell if necessary.
func word(program string) string {
	if strings.Trim(program, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/") == "" {
		return program
	}
	return quoted(program)
}
