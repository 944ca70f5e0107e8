package agents

// Claude Code 2.1: https://docs.claude.com/en/docs/claude-code/hooks. Codex 0.169 copies it, but rejects unknown fields. Gemini
// CLI 0.61 has other names, accepts only JSON, and fires PreCompress on every turn, so pawl does not use that. Copilot CLI
// 1.0 accepts additionalContext at the top level only. OpenCode has no hooks: pawl's plugin (package attach) calls them.
var (
	claude = &Dialect{
		Name: "claude", tells: true, named: true, holds: true, refuse: "block",
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
		Name: "gemini", tells: true, holds: true, refuse: "deny", silent: []byte("{}\n"), hides: true,
		adds: map[Kind]bool{Start: true, Prompt: true},
		events: map[string]Kind{
			"SessionStart": Start, "SessionEnd": End, "BeforeAgent": Prompt, "AfterAgent": Stop, "BeforeTool": Before, "AfterTool": After,
			"Notification": Permission,
		},
	}
	opencode = &Dialect{
		Name: "opencode", flat: true, silent: []byte("{}\n"),
		adds: map[Kind]bool{Start: true, Prompt: true, Compact: true},
		events: map[string]Kind{
			"SessionStart": Start, "SessionEnd": End, "UserPromptSubmit": Prompt, "PreToolUse": Before, "PostToolUse": After,
			"PostToolUseFailure": After, "PreCompact": Compact, "Stop": Stop, "StopFailure": Failure, "PermissionRequest": Permission,
			"TodoUpdated": Tasks,
		},
	}
	copilot = &Dialect{
		Name: "copilot", flat: true, holds: true, refuse: "block", silent: []byte("{}\n"),
		adds: map[Kind]bool{Start: true, Prompt: true},
		events: map[string]Kind{
			"SessionStart": Start, "SessionEnd": End, "UserPromptSubmit": Prompt, "PreToolUse": Before, "PostToolUse": After,
			"PostToolUseFailure": After, "PreCompact": Compact, "Stop": Stop, "ErrorOccurred": Failure, "PermissionRequest": Permission,
			"SubagentStart": SubStart, "SubagentStop": SubStop,
		},
	}
)
