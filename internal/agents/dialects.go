package agents

// Claude Code 2.1: https://docs.claude.com/en/docs/claude-code/hooks. Codex 0.169 copies it, but rejects unknown fields. Gemini
// CLI 0.61 has other names, accepts only JSON, and fires PreCompress on every turn, so pawl does not use that. Copilot CLI
// 1.0 accepts additionalContext at the top level only, and asks its hooks for permission at each tool call, also where none is needed. OpenCode has no hooks: pawl's plugin (package attach) calls them.
var (
	claude = &Dialect{
		Name: "claude", tells: true, named: true, holds: true, refuse: "block",
		skips: []string{
			"Read", "Grep", "Glob", "LS", "NotebookRead", "WebFetch", "WebSearch", "ToolSearch", "LSP", // TaskCreated and TaskCompleted report tasks
			"TaskCreate", "TaskUpdate", "TaskGet", "TaskList", "mcp__pawl__.*",
		},
		adds: map[Kind]bool{Start: true, Prompt: true, SubStart: true},
		events: map[string]Kind{
			"SessionStart": Start, "SessionEnd": End, "UserPromptSubmit": Prompt, "PreToolUse": Before, "PostToolUse": After,
			"PostToolUseFailure": After, "PreCompact": Compact, "Stop": Stop, "StopFailure": Failure, "PermissionRequest": Permission,
			"PermissionDenied": Denied, "SubagentStart": SubStart, "SubagentStop": SubStop, "TaskCreated": Tasks, "TaskCompleted": Tasks,
		},
	}
	codex = &Dialect{
		Name: "codex", tells: true, named: true, holds: true, refuse: "block",
		adds: map[Kind]bool{Start: true, Prompt: true, SubStart: true},
		events: map[string]Kind{
			"SessionStart": Start, "SessionEnd": End, "UserPromptSubmit": Prompt, "PreToolUse": Before, "PostToolUse": After,
			"PreCompact": Compact, "Stop": Stop, "Interrupt": Interrupt, "PermissionRequest": Permission,
			"SubagentStart": SubStart, "SubagentStop": SubStop,
		},
	}
	gemini = &Dialect{
		Name: "gemini", tells: true, holds: true, refuse: "deny", silent: []byte("{}\n"), hides: true, late: []string{"clear"},
		skips: []string{
			"read_file", "read_many_files", "list_directory", "glob", "search_file_content", "grep_search", "google_web_search", "web_fetch",
			"mcp_pawl_.*",
		},
		adds: map[Kind]bool{Start: true, Prompt: true},
		events: map[string]Kind{
			"SessionStart": Start, "SessionEnd": End, "BeforeAgent": Prompt, "AfterAgent": Stop, "BeforeTool": Before, "AfterTool": After,
			"Notification": Permission,
		},
	}
	opencode = &Dialect{
		Name: "opencode", flat: true, silent: []byte("{}\n"), denied: openCodeDenied, quotes: true,
		skips: []string{"read", "grep", "glob", "list", "webfetch", "websearch", "codesearch", "lsp", "todoread", "pawl_.*"},
		adds:  map[Kind]bool{Start: true, Prompt: true, Compact: true},
		events: map[string]Kind{
			"SessionStart": Start, "SessionEnd": End, "UserPromptSubmit": Prompt, "PreToolUse": Before, "PostToolUse": After,
			"PostToolUseFailure": After, "PreCompact": Compact, "Stop": Stop, "StopFailure": Failure, "PermissionRequest": Permission,
			"TodoUpdated": Tasks,
		},
	}
	copilot = &Dialect{
		Name: "copilot", flat: true, holds: true, refuse: "block", silent: []byte("{}\n"), mixes: true, late: []string{"compact"},
		adds: map[Kind]bool{Start: true, Prompt: true},
		events: map[string]Kind{
			"SessionStart": Start, "SessionEnd": End, "UserPromptSubmit": Prompt, "PreToolUse": Before, "PostToolUse": After,
			"PostToolUseFailure": After, "PreCompact": Compact, "Stop": Stop, "ErrorOccurred": Failure,
			"SubagentStart": SubStart, "SubagentStop": SubStop,
		},
	}
)

// openCodeDenied begins the errors of tools in OpenCode 1.18 that a person or a rule did not permit.
var openCodeDenied = []string{
	"The user rejected permission to use this specific tool call",
	"The user has specified a rule which prevents you from using this specific tool call",
}
