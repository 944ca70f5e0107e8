package agentstest

import (
	"fmt"
	"strings"
)

// speech has an agent's names for events and tools. An empty name means that the agent does not have the event.
type speech struct {
	start, prompt, before, after, failed, compact, stop, wrong, end string // events
	compacted                                                       string // the event after a compaction
	begins, ends                                                    string // events of subagents
	asks                                                            string

	shell func(command string) use
	write func(path, content string, there bool) use
	edit  func(path, old, now string) use
	read  func(path string) use
	tasks func([]task) use // nil: it reports its list with a separate event

	answer func(text string) any // as its tools answer
	result string                // the key of that answer
	byWord bool                  // its hooks are run by a shell
	clean  bool                  // its hooks do not get variables that look secret
	orphan bool                  // its commands outlive it
}

// use is a tool call.
type use struct {
	tool  string
	input map[string]any
}

// task is an entry of a task list.
type task struct{ title, status string }

func plain(text string) any { return text }

var speeches = map[string]speech{
	"claude": {
		start: "SessionStart", prompt: "UserPromptSubmit", before: "PreToolUse", after: "PostToolUse", failed: "PostToolUseFailure",
		compact: "PreCompact", compacted: "SessionStart compact", stop: "Stop", wrong: "StopFailure", end: "SessionEnd",
		begins: "SubagentStart", ends: "SubagentStop", asks: "PermissionRequest",
		shell: func(command string) use {
			return use{"Bash", map[string]any{"command": command, "description": "a part of the work", "timeout": 120000}}
		},
		write: func(path, content string, _ bool) use {
			return use{"Write", map[string]any{"file_path": path, "content": content}}
		},
		edit: func(path, old, now string) use {
			return use{"Edit", map[string]any{"file_path": path, "old_string": old, "new_string": now, "replace_all": false}}
		},
		read: func(path string) use { return use{"Read", map[string]any{"file_path": path}} },
		tasks: func(list []task) use {
			return use{"TodoWrite", map[string]any{"todos": todos(list, "content")}}
		},
		answer: func(text string) any {
			return map[string]any{"stdout": text, "stderr": "", "interrupted": false, "isImage": false}
		},
		result: "tool_response", orphan: true,
	},
	"codex": {
		start: "SessionStart", prompt: "UserPromptSubmit", before: "PreToolUse", after: "PostToolUse", compact: "PreCompact",
		compacted: "SessionStart compact", stop: "Stop", wrong: "Interrupt", end: "SessionEnd",
		begins: "SubagentStart", ends: "SubagentStop", asks: "PermissionRequest",
		shell: func(command string) use { return use{"Bash", map[string]any{"command": command}} },
		write: func(path, content string, there bool) use {
			text := "*** Begin Patch\n*** Add File: " + path + "\n+" + strings.ReplaceAll(strings.TrimSuffix(content, "\n"), "\n", "\n+") + "\n*** End Patch\n"
			return use{"apply_patch", map[string]any{"command": text}}
		},
		edit: func(path, old, now string) use {
			text := "*** Begin Patch\n*** Update File: " + path + "\n@@\n-" + old + "\n+" + now + "\n*** End Patch\n"
			return use{"apply_patch", map[string]any{"command": text}}
		},
		read: func(path string) use { return use{"Bash", map[string]any{"command": "cat " + path}} },
		tasks: func(list []task) use {
			return use{"update_plan", map[string]any{"plan": todos(list, "step")}}
		},
		answer: plain, result: "tool_response", byWord: true,
	},
	"gemini": {
		start: "SessionStart", prompt: "BeforeAgent", before: "BeforeTool", after: "AfterTool", stop: "AfterAgent", end: "SessionEnd",
		asks: "Notification",
		shell: func(command string) use {
			return use{"run_shell_command", map[string]any{"command": command, "description": "a part of the work"}}
		},
		write: func(path, content string, _ bool) use {
			return use{"write_file", map[string]any{"file_path": path, "content": content}}
		},
		edit: func(path, old, now string) use {
			return use{"replace", map[string]any{"file_path": path, "old_string": old, "new_string": now, "instruction": "as asked"}}
		},
		read: func(path string) use { return use{"read_file", map[string]any{"file_path": path}} },
		tasks: func(list []task) use {
			return use{"write_todos", map[string]any{"todos": todos(list, "description")}}
		},
		answer: func(text string) any { return map[string]any{"llmContent": text, "returnDisplay": text} },
		result: "tool_response", byWord: true, clean: true, orphan: true,
	},
	"opencode": {
		start: "SessionStart", prompt: "UserPromptSubmit", before: "PreToolUse", after: "PostToolUse", failed: "PostToolUseFailure",
		compact: "PreCompact", compacted: "SessionStart compact", stop: "Stop", wrong: "StopFailure", end: "SessionEnd",
		begins: "SessionStart", ends: "SessionEnd", asks: "PermissionRequest",
		shell: func(command string) use {
			return use{"bash", map[string]any{"command": command, "description": "a part of the work"}}
		},
		write: func(path, content string, _ bool) use {
			return use{"write", map[string]any{"filePath": path, "content": content}}
		},
		edit: func(path, old, now string) use {
			return use{"edit", map[string]any{"filePath": path, "oldString": old, "newString": now}}
		},
		read:   func(path string) use { return use{"read", map[string]any{"filePath": path}} },
		answer: plain, result: "tool_response", orphan: true,
	},
	"copilot": {
		start: "SessionStart", prompt: "UserPromptSubmit", before: "PreToolUse", after: "PostToolUse", failed: "PostToolUseFailure",
		compact: "PreCompact", stop: "Stop", wrong: "ErrorOccurred", end: "SessionEnd",
		begins: "SubagentStart", ends: "SubagentStop", asks: "PermissionRequest",
		shell: func(command string) use {
			return use{"bash", map[string]any{"command": command, "description": "a part of the work", "sync": true}}
		},
		write: func(path, content string, _ bool) use {
			return use{"create", map[string]any{"path": path, "file_text": content}}
		},
		edit: func(path, old, now string) use {
			return use{"edit", map[string]any{"path": path, "old_str": old, "new_str": now}}
		},
		read: func(path string) use { return use{"view", map[string]any{"path": path}} },
		tasks: func(list []task) use {
			var lines []string
			for _, t := range list {
				lines = append(lines, fmt.Sprintf("- [%s] %s", map[bool]string{true: "x", false: " "}[t.status == "completed"], t.title))
			}
			return use{"update_todo", map[string]any{"todos": strings.Join(lines, "\n")}}
		},
		answer: func(text string) any {
			return map[string]any{"result_type": "success", "text_result_for_llm": text}
		},
		result: "tool_result", byWord: true, orphan: true,
	},
}

// todos returns a task list whose titles are under a key.
func todos(list []task, key string) []any {
	var all []any
	for _, t := range list {
		all = append(all, map[string]any{key: t.title, "status": t.status})
	}
	return all
}
