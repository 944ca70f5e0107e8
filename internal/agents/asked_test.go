package agents_test

import (
	"testing"

	"pawl/internal/agents"
)

// Gemini CLI tells a BeforeAgent hook the prompt with what a SessionStart hook has just said put in front of it.
func TestPromptIsWhatThePersonAsked(t *testing.T) {
	t.Parallel()
	gemini, err := agents.Find("gemini")
	if err != nil {
		t.Fatal(err)
	}
	for prompt, want := range map[string]string{
		`<hook_context># Brief\n- all is well</hook_context>\n\nGo on.`: "Go on.",
		`Go on.`:                                   "Go on.",
		`Say <hook_context>x</hook_context>.`:      "Say <hook_context>x</hook_context>.",
		`<hook_context> is what I want explained.`: "<hook_context> is what I want explained.",
		`pawl keeps a durable record of the work in this project: what was done.\n\nAsked for: resume`: "pawl: resume",
	} {
		e, err := gemini.Parse([]byte(`{"session_id":"s","hook_event_name":"BeforeAgent","prompt":"` + prompt + `"}`))
		if err != nil || e.Text != want {
			t.Errorf("%s: asked %q, %v; want %q", prompt, e.Text, err, want)
		}
	}
}
