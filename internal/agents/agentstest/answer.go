package agentstest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Answer is a hook's output as an agent understands it.
type Answer struct {
	Context string // added to what its model reads
	Hold    string // why its turn must not end; empty: it may
	Message string // shown to its user, and not to its model
}

// Read parses a hook's output as the agent does, or returns why the agent would report a failed hook. It is as strict as the
// strictest real parser: the output must contain nothing that the agent does not know.
func Read(agent, event string, printed []byte) (Answer, error) {
	if (agent == "claude" || agent == "codex") && len(printed) == 0 {
		return Answer{}, nil
	}
	read := map[string]func(string, []byte) (Answer, error){
		"claude": readNamed, "codex": readNamed, "gemini": readGemini, "copilot": readFlat, "opencode": readFlat,
	}[agent]
	if read == nil {
		return Answer{}, fmt.Errorf("no agent %q", agent)
	}
	a, err := read(event, printed)
	if err != nil {
		return Answer{}, fmt.Errorf("%s does not take %q at %s: %w", agent, printed, event, err)
	}
	return a, nil
}

// strict parses exactly one JSON object with known fields.
func strict(printed []byte, into any) error {
	if printed = bytes.TrimSpace(printed); !bytes.HasPrefix(printed, []byte("{")) {
		return errors.New("it is no JSON object")
	}
	dec := json.NewDecoder(bytes.NewReader(printed))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("data after the object")
	}
	return nil
}

// named are the events of Claude Code and Codex whose output may contain the event's name and additional context.
var named = []string{"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "SubagentStart"}

// readNamed parses as Claude Code and Codex do: the context is accompanied by the event's name. They accept an empty object
// too, but pawl prints nothing.
func readNamed(event string, printed []byte) (Answer, error) {
	var out struct {
		Message  string `json:"systemMessage"`
		Decision string `json:"decision"`
		Reason   string `json:"reason"`
		Specific *struct {
			Event   string `json:"hookEventName"`
			Context string `json:"additionalContext"`
		} `json:"hookSpecificOutput"`
	}
	if err := strict(printed, &out); err != nil {
		return Answer{}, err
	}
	a := Answer{Hold: out.Reason, Message: out.Message}
	if s := out.Specific; s != nil {
		if a.Context = s.Context; s.Event != event || !slices.Contains(named, event) {
			return a, fmt.Errorf("it adds to %s", s.Event)
		}
	}
	return a, held(event, "Stop", out.Decision, "block", out.Reason)
}

// readGemini parses as Gemini CLI does.
func readGemini(event string, printed []byte) (Answer, error) {
	var out struct {
		Message  string `json:"systemMessage"`
		Decision string `json:"decision"`
		Reason   string `json:"reason"`
		Specific struct {
			Context string `json:"additionalContext"`
		} `json:"hookSpecificOutput"`
	}
	if err := strict(printed, &out); err != nil {
		return Answer{}, err
	}
	a := Answer{Context: out.Specific.Context, Hold: out.Reason, Message: out.Message}
	if a.Context != "" && event != "SessionStart" && event != "BeforeAgent" {
		return a, errors.New("it adds to what has no context")
	}
	return a, held(event, "AfterAgent", out.Decision, "deny", out.Reason)
}

// readFlat parses as Copilot CLI and pawl's plugin for OpenCode do: the context is at the top level.
func readFlat(event string, printed []byte) (Answer, error) {
	var out struct {
		Decision string `json:"decision"`
		Reason   string `json:"reason"`
		Context  string `json:"additionalContext"`
	}
	if err := strict(printed, &out); err != nil {
		return Answer{}, err
	}
	return Answer{Context: out.Context, Hold: out.Reason}, held(event, "Stop", out.Decision, "block", out.Reason)
}

// held checks an answer that prevents the end of a turn.
func held(event, stop, decision, word, reason string) error {
	switch {
	case decision == "" && reason == "":
		return nil
	case decision != word:
		return fmt.Errorf("decision %q", decision)
	case reason == "":
		return errors.New("a decision without a reason")
	case event != stop:
		return errors.New("it holds what is no turn's end")
	}
	return nil
}
