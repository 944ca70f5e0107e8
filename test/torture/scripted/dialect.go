package scripted

import (
	"encoding/json"
	"fmt"
	"strings"

	"pawl/internal/agents/agentstest"
)

// Dialect is an agent's format of hooks, and the names of its tools.
type Dialect struct {
	Name     string
	names    map[Moment]string // of the events
	tools    map[tool]toolShape
	Nameless bool     // its calls have no ids
	whole    bool     // its paths are absolute
	hook     bool     // a hook is run by a shell
	shell    []string // what runs commands
	wrap     string   // what the agent wraps around a command; CMD is replaced by it
	answer   func(out string) (key string, value any)
}

// Moment is something that an agent reports to a hook.
type Moment string

// The moments of a session that are reported to hooks.
const (
	Starts    Moment = "starts"
	Prompts   Moment = "prompts"
	Announces Moment = "announces" // a call
	Reports   Moment = "reports"   // its outcome
	Fails     Moment = "fails"     // its failure
	Asks      Moment = "asks"      // a request for permission
	Stops     Moment = "stops"
	Ends      Moment = "ends"
	SubStarts Moment = "subagent starts"
	SubStops  Moment = "subagent stops"
)

// tool is a tool of agents, independent of its name.
type tool string

const (
	toolShell    tool = "shell"
	toolWrite    tool = "write"
	toolEdit     tool = "edit"
	toolMulti    tool = "multi"
	toolPatch    tool = "patch"
	toolNotebook tool = "notebook"
	toolRead     tool = "read"
	toolSearch   tool = "search"
	toolWeb      tool = "web"
	toolServer   tool = "server" // of a server that speaks MCP
	toolTask     tool = "task"
)

// toolShape is a tool's name, and the agent's keys of its input by ours.
type toolShape struct {
	name string
	keys map[string]string
}

func shape(name, keys string) toolShape {
	t := toolShape{name: name, keys: map[string]string{}}
	for pair := range strings.FieldsSeq(keys) {
		ours, theirs, _ := strings.Cut(pair, "=")
		t.keys[ours] = theirs
	}
	return t
}

// input returns an input with the agent's keys.
func (t toolShape) input(given map[string]any) map[string]any {
	in := map[string]any{}
	for ours, theirs := range t.keys {
		if value, ok := given[ours]; ok {
			in[theirs] = value
		}
	}
	return in
}

// claudeNames are the events of Claude Code, which others copy.
func claudeNames(sub bool) map[Moment]string {
	names := map[Moment]string{
		Starts: "SessionStart", Prompts: "UserPromptSubmit", Announces: "PreToolUse", Reports: "PostToolUse", Fails: "PostToolUseFailure",
		Asks: "PermissionRequest", Stops: "Stop", Ends: "SessionEnd",
	}
	if sub {
		names[SubStarts], names[SubStops] = "SubagentStart", "SubagentStop"
	}
	return names
}

// Dialects are those of the agents that pawl knows, each as its own program behaves.
var Dialects = []*Dialect{
	{
		Name: "claude", names: claudeNames(true), whole: true, shell: []string{"bash", "-c"},
		wrap: "{ shopt -u extglob; } >/dev/null 2>&1 || true && eval CMD < /dev/null && pwd -P >| /dev/null",
		tools: map[tool]toolShape{
			toolShell: shape("Bash", "command=command about=description background=run_in_background"), toolWrite: shape("Write", "path=file_path content=content"),
			toolEdit: shape("Edit", "path=file_path old=old_string now=new_string all=replace_all"), toolMulti: shape("MultiEdit", "path=file_path edits=edits"),
			toolNotebook: shape("NotebookEdit", "path=notebook_path content=new_source"), toolRead: shape("Read", "path=file_path"),
			toolSearch: shape("Grep", "pattern=pattern path=path"), toolWeb: shape("WebFetch", "url=url about=prompt"),
			toolServer: shape("mcp__tracker__create_issue", "about=title"), toolTask: shape("Task", "about=description prompt=prompt"),
		},
		answer: func(out string) (string, any) {
			return "tool_response", map[string]any{"stdout": out, "stderr": "", "interrupted": false, "isImage": false}
		},
	},
	{
		Name: "codex", names: with(claudeNames(true), Fails, "PostToolUse"), hook: true, shell: []string{"bash", "-lc"},
		tools: map[tool]toolShape{
			toolShell: shape("Bash", "command=command dir=workdir"), toolPatch: shape("apply_patch", "patch=command"),
			toolServer: shape("mcp__tracker__create_issue", "about=title"),
		},
		answer: func(out string) (string, any) { return "tool_response", out },
	},
	{
		Name: "gemini", Nameless: true, whole: true, hook: true, shell: []string{"bash", "-c"},
		wrap: "shopt -u promptvars nullglob extglob nocaseglob dotglob; {\nCMD\n}; __code=$?; exit $__code;",
		names: map[Moment]string{
			Starts: "SessionStart", Prompts: "BeforeAgent", Announces: "BeforeTool", Reports: "AfterTool", Fails: "AfterTool", Asks: "Notification", Stops: "AfterAgent", Ends: "SessionEnd",
		},
		tools: map[tool]toolShape{
			toolShell: shape("run_shell_command", "command=command about=description dir=dir_path background=is_background"), toolWrite: shape("write_file", "path=file_path content=content"),
			toolEdit: shape("replace", "path=file_path old=old_string now=new_string about=instruction"), toolRead: shape("read_file", "path=file_path"),
			toolSearch: shape("search_file_content", "pattern=pattern"), toolWeb: shape("web_fetch", "about=prompt"),
			toolServer: shape("mcp_tracker_create_issue", "about=title"),
		},
		answer: func(out string) (string, any) {
			return "tool_response", map[string]any{"llmContent": out, "returnDisplay": out}
		},
	},
	{
		Name: "opencode", names: with(with(claudeNames(false), SubStarts, "SessionStart"), SubStops, "SessionEnd"), whole: true, shell: []string{"bash", "-c"},
		tools: map[tool]toolShape{
			toolShell: shape("bash", "command=command about=description dir=workdir"), toolWrite: shape("write", "path=filePath content=content"),
			toolEdit: shape("edit", "path=filePath old=oldString now=newString"), toolPatch: shape("apply_patch", "patch=patchText"),
			toolRead: shape("read", "path=filePath"), toolSearch: shape("grep", "pattern=pattern"), toolWeb: shape("webfetch", "url=url"),
			toolServer: shape("tracker_create_issue", "about=title"), toolTask: shape("task", "about=description prompt=prompt"),
		},
		answer: func(out string) (string, any) { return "tool_response", out },
	},
	{
		Name: "copilot", Nameless: true, names: without(claudeNames(true), Asks), whole: true, hook: true, shell: []string{"bash", "--norc", "--noprofile", "-c"},
		tools: map[tool]toolShape{
			toolShell: shape("bash", "command=command about=description mode=mode"), toolWrite: shape("create", "path=path content=file_text"),
			toolEdit: shape("edit", "path=path old=old_str now=new_str"), toolPatch: shape("apply_patch", "patch=input"), toolRead: shape("view", "path=path"),
			toolSearch: shape("grep", "pattern=pattern"), toolWeb: shape("web_fetch", "url=url"),
			toolServer: shape("tracker-create_issue", "about=title"), toolTask: shape("task", "about=description prompt=prompt"),
		},
		answer: func(out string) (string, any) {
			return "tool_result", map[string]any{"result_type": "success", "text_result_for_llm": out}
		},
	},
}

func with(names map[Moment]string, m Moment, name string) map[Moment]string {
	names[m] = name
	return names
}

// without leaves out a moment that an agent does not report, or reports for every call.
func without(names map[Moment]string, m Moment) map[Moment]string {
	delete(names, m)
	return names
}

// Find returns the dialect with this name.
func Find(name string) *Dialect {
	for _, d := range Dialects {
		if d.Name == name {
			return d
		}
	}
	return nil
}

// has reports whether the agent has a tool.
func (d *Dialect) has(t tool) bool { _, ok := d.tools[t]; return ok }

// commandLine returns what is started to run a command.
func (d *Dialect) commandLine(command string) []string {
	if d.wrap != "" {
		word := command
		if strings.Contains(d.wrap, "eval") {
			word = "'" + strings.ReplaceAll(command, "'", `'"'"'`) + "'"
		}
		command = strings.Replace(d.wrap, "CMD", word, 1)
	}
	return append(append([]string{}, d.shell...), command)
}

// payload returns what the agent sends at a moment: the real agent's payload with our session and folders.
func (d *Dialect) payload(m Moment, session, dir string) (map[string]any, error) {
	shapes, err := agentstest.Shapes(d.Name)
	if err != nil {
		return nil, err
	}
	for _, s := range shapes {
		if s.Name == d.names[m] {
			fields := map[string]any{}
			err := json.Unmarshal(s.Payload, &fields)
			fields["session_id"], fields["cwd"] = session, dir
			return fields, err
		}
	}
	return nil, fmt.Errorf("%s has no %s", d.Name, d.names[m])
}
