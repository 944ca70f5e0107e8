package operations

import (
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"syscall"

	"pawl"
)

// input is a tool's input, whatever its keys are spelled like.
type input map[string]json.RawMessage

func readInput(data json.RawMessage) input {
	in := input{}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(data, &given); err != nil {
		return in
	}
	for key, value := range given {
		in[plainKey(key)] = value
	}
	return in
}

// plainKey makes file_path, filePath and FilePath one.
func plainKey(key string) string { return strings.ToLower(strings.ReplaceAll(key, "_", "")) }

// text returns the first of the keys that holds a text, or a list of texts.
func (in input) text(keys ...string) (string, bool) {
	for _, key := range keys {
		var text string
		if json.Unmarshal(in[key], &text) == nil && in[key] != nil {
			return text, true
		}
		var words []string
		if json.Unmarshal(in[key], &words) == nil && len(words) > 0 {
			return commandOf(words), true
		}
	}
	return "", false
}

// commandOf returns the shell command of an argument list: the argument of a shell's -c, or the words.
func commandOf(words []string) string {
	for i, word := range words[:len(words)-1] {
		if word == "-c" || word == "-lc" {
			return words[i+1]
		}
	}
	quoted := make([]string, len(words))
	for i, word := range words {
		if quoted[i] = word; word == "" || strings.ContainsAny(word, " \t\n'\"\\;|&<>#~$`(){}*?[") {
			quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

func (in input) truth(key string) bool {
	var yes bool
	return json.Unmarshal(in[key], &yes) == nil && yes
}

// The keys under which agents give the same thing.
var (
	pathKeys    = []string{"filepath", "path", "absolutepath", "notebookpath", "targetfile"}
	contentKeys = []string{"content", "filetext", "contents"}
	oldKeys     = []string{"oldstring", "oldstr"}
	newKeys     = []string{"newstring", "newstr"}
	commandKeys = []string{"command", "cmd", "script"}
	patchKeys   = []string{"input", "patch", "patchtext", "command"}
	orderKeys   = []string{"prompt", "message", "objective", "task", "description"} // of a call to a subagent
	aboutKeys   = []string{"description", "pattern", "query", "url", "prompt", "message"}
)

// tool is how a sort of tool is read.
type tool struct {
	kind pawl.OperationKind
	plan func(in input, c Call) []planned // nil: the content of files afterwards is unknown
}

// subagentTools are the tools that run subagents, by their names in lower case.
var subagentTools = wordSet("task agent spawn_agent delegate_to_agent")

// toolOf returns how a tool is read. Of a tool that is not known, all that can be said is what it is called.
func toolOf(name string) tool {
	name = strings.ToLower(name)
	if t, ok := tools()[name]; ok {
		return t
	}
	if isPawl(name) {
		return tool{kind: pawl.OperationReads}
	}
	return tool{kind: pawl.OperationOther}
}

// isPawl reports whether a tool is one of pawl's own MCP server, as the agents spell it. Those record what they do themselves.
func isPawl(name string) bool {
	return slices.ContainsFunc([]string{"mcp__pawl__", "mcp_pawl_", "pawl__", "pawl_", "pawl-", "pawl."}, func(prefix string) bool {
		return strings.HasPrefix(name, prefix)
	})
}

// tools are the tools that the agents have themselves, by their names in lower case.
var tools = sync.OnceValue(func() map[string]tool {
	all := map[string]tool{}
	add := func(t tool, names ...string) {
		for _, name := range names {
			all[name] = t
		}
	}
	add(tool{kind: pawl.OperationCommand}, "bash", "shell", "run_shell_command", "exec_command", "local_shell", "powershell", "monitor")
	add(tool{kind: pawl.OperationFiles, plan: writePlan}, "write", "write_file", "create", "create_file")
	add(tool{kind: pawl.OperationFiles, plan: editPlan}, "edit", "replace", "str_replace", "str_replace_editor", "multiedit", "edit_file")
	add(tool{kind: pawl.OperationFiles, plan: patchPlan}, "apply_patch", "patch")
	add(tool{kind: pawl.OperationFiles, plan: openPlan}, "notebookedit")
	add(tool{kind: pawl.OperationReads},
		"read", "grep", "glob", "ls", "notebookread", "webfetch", "websearch", "todowrite", "todoread", "toolsearch", "askuserquestion",
		"exitplanmode", "enterplanmode", "bashoutput", "taskoutput", "tasklist", "taskget", "taskcreate", "taskupdate", "skill", "lsp",
		"read_file", "read_many_files", "list_directory", "search_file_content", "grep_search", "google_web_search", "web_fetch",
		"write_todos", "save_memory", "update_plan", "view_image", "web_search", "list", "view", "codesearch", "question",
		"report_intent", "update_todo", "list_dir", "grep_files", "rg", "tool_search", "get_internal_docs",
		"listmcpresourcestool", "readmcpresourcetool", "list_mcp_resources", "list_mcp_resource_templates", "read_mcp_resource")
	add(tool{kind: pawl.OperationReads}, controls...)
	return all
})

// controls are the tools that wait for a command or a subagent, read its output, end it or list what runs, and those that only
// concern the conversation. Repeating such a call is safe.
var controls = []string{
	"killshell", "killbash", "agentoutput", "agentoutputtool", "taskstop", "cronlist", "schedulewakeup", "listagents", // Claude Code
	"wait", "wait_agent", "list_agents", "close_agent", "interrupt_agent", "request_user_input", "get_goal", // Codex
	"read_background_output", "list_background_processes", "ask_user", "enter_plan_mode", "exit_plan_mode", "activate_skill", // Gemini CLI
	"plan_enter", "plan_exit", "task_status", "invalid", // OpenCode
	"list_bash", "read_bash", "stop_bash", "list_powershell", "read_powershell", "stop_powershell", "read_agent", "stop_agent", // Copilot CLI
}

// of returns how a tool is read with this input. A write to a command's input that writes nothing polls for output.
func (t tool) of(name string, in input) tool {
	if text, given := in.text("chars"); strings.EqualFold(name, "write_stdin") && (!given || text == "") {
		return tool{kind: pawl.OperationReads}
	}
	return t
}

// summary says in one text what a call is about.
func (t tool) summary(in input) string {
	keys := pathKeys
	switch {
	case t.kind == pawl.OperationCommand:
		keys = commandKeys
	case t.kind == pawl.OperationOther:
		keys = slices.Concat(orderKeys, aboutKeys, commandKeys)
	case t.kind == pawl.OperationReads:
		keys = append(slices.Clone(pathKeys), aboutKeys...)
	}
	text, _ := in.text(keys...)
	if title, ok := in.text("description"); ok && t.kind == pawl.OperationOther && title != text {
		return title + ": " + text
	}
	return text
}

// paths returns the paths that a call names.
func (t tool) paths(in input, plan []planned) []string {
	var paths []string
	for _, p := range plan {
		paths = append(paths, p.path)
	}
	if path, ok := in.text(pathKeys...); ok && len(paths) == 0 && t.kind != pawl.OperationCommand && t.kind != pawl.OperationOther {
		paths = append(paths, path)
	}
	return paths
}

// isMissing reports whether an error means that nothing is at a path.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
