package agents

import (
	"encoding/json"
	"strconv"
	"strings"

	"pawl/internal/lazyregexp"
)

// exitLine is how the agents name a command's exit code in the text for their model: Codex before its output, Gemini CLI after it, Copilot CLI
// in the last line.
var exitLine = lazyregexp.New(`(?m)^(?:Exit [Cc]ode: |Process exited with code |<(?:(?:command with )?\w+: \d+ )?(?:exited|completed) with exit code )(\d+)>?$`)

// exitKeys are the fields of an answer with a command's exit code, by their names in lower case without underscores.
var exitKeys = []string{"exitcode", "exit", "returncode"}

// textKeys are the fields of an answer with the text for the model.
var textKeys = []string{"llmcontent", "output", "textresultforllm", "content"}

// maxExitText is how many bytes at each end of a text are searched for an exit code.
const maxExitText = 300

// exitCode returns the exit code that a tool's answer names, 0 if it names none.
func exitCode(answer json.RawMessage) int {
	var words string
	if json.Unmarshal(answer, &words) == nil {
		return exitCodeIn(words)
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(answer, &fields) != nil {
		return 0
	}
	plain := map[string]json.RawMessage{}
	for name, value := range fields {
		plain[strings.ToLower(strings.ReplaceAll(name, "_", ""))] = value
	}
	var code int
	for _, key := range exitKeys {
		if json.Unmarshal(plain[key], &code) == nil && plain[key] != nil {
			return code
		}
	}
	if meta, ok := plain["metadata"]; ok {
		if code := exitCode(meta); code != 0 {
			return code
		}
	}
	for _, key := range textKeys {
		if json.Unmarshal(plain[key], &words) == nil && plain[key] != nil {
			return exitCodeIn(words)
		}
	}
	return 0
}

// exitCodeIn returns the exit code that stands in a line of its own at the start or at the end of a text, 0 if there is none.
func exitCodeIn(text string) int {
	text = strings.TrimSpace(text)
	head, tail := text, ""
	if len(text) > 2*maxExitText {
		head, tail = text[:maxExitText], text[len(text)-maxExitText:]
	}
	for _, part := range []string{tail, head} {
		if all := exitLine.FindAllStringSubmatch(part, -1); len(all) > 0 {
			code, _ := strconv.Atoi(all[len(all)-1][1]) // too large: 0
			return code
		}
	}
	return 0
}
