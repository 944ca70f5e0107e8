package headless_test

import (
	"strings"
	"testing"

	"pawl"
	"pawl/internal/agents/headless"
)

var task = headless.Task{
	Step: "write", Prompt: "Write the page.", Goal: "The page is there.", Outputs: []string{"page.html"},
	Checks: map[string]string{"spelled": "spell page.html", "links": "./links"}, Result: "/r.json",
}

// holds checks that a text has all of these parts, in this order.
func holds(t *testing.T, text string, parts ...string) {
	t.Helper()
	rest := text
	for _, part := range parts {
		_, after, ok := strings.Cut(rest, part)
		if !ok {
			t.Errorf("no %q, or not in its place, in\n%s", part, text)
			return
		}
		rest = after
	}
}

func lacks(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if strings.Contains(text, part) {
			t.Errorf("%q in\n%s", part, text)
		}
	}
}

func TestBegin(t *testing.T) {
	t.Parallel()
	first := task.Begin("", nil)
	holds(t, first, "Write the page.", "step write", "The page is there.", "page.html", "- links: ./links\n- spelled: spell page.html", "pawl ask", "/r.json")
	lacks(t, first, "attempted before", "Your task:")
	later := task.Begin("# Brief of run x\n", &pawl.Resume{Attempt: 2, Ended: "its supervisor was lost"})
	holds(t, later, "# Brief of run x", "Your task:", "Write the page.", "This task was attempted before.", "not by the user: its supervisor was lost. This is not a denial")
}

func TestContinue(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		told  pawl.Resume
		holds []string
		lacks []string
	}{
		"cut off": {
			pawl.Resume{Ended: "ran for 1h0m0s (limit 1h0m0s)", Partial: []string{"page.html"}},
			[]string{"interrupted by the machine or by pawl", "ran for 1h0m0s", "verify before you repeat it", "may be incomplete: page.html", "Continue"},
			[]string{"Write the page.", "Brief"},
		},
		"unmet": {
			pawl.Resume{Ended: "check links failed (exit code 1): 3 broken", Unmet: []string{"links"}},
			[]string{"The task is not done, although success was reported", "- links: ./links", "Their output: check links failed (exit code 1): 3 broken", "Continue"},
			[]string{"interrupted by"},
		},
		"rejected": {pawl.Resume{Rejected: "too formal"}, []string{"Why this step runs again: too formal", "Continue"}, []string{"interrupted by"}},
		"answered": {
			pawl.Resume{Answers: []pawl.GateReply{{Ask: "Which colour?", Answer: pawl.Chosen, Option: "red", Why: "warmer"}, {Ask: "Right?", Answer: pawl.Approved}}},
			[]string{`Answer to the question "Which colour?": red (warmer).`, `"Right?": approved.`},
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			text := task.Continue(c.told)
			holds(t, text, c.holds...)
			lacks(t, text, c.lacks...)
		})
	}
	holds(t, task.ContinueAfter("claude is at its usage limit."), "not by the user: claude is at its usage limit. This is not a denial", "Continue")
}

func TestExpand(t *testing.T) {
	t.Parallel()
	values := map[string]string{"PAWL_ITEM": "a*b?", "PAWL_OUT": "/out", "PAWL_STEP": "s", "PAWL_MATRIX_PY3": "3.12"}
	got := headless.Expand("Do $PAWL_ITEM into ${PAWL_OUT}/x as $PAWL_STEPS, not $HOME, ${HOME}, $PAWL_NONE or $5; $PAWL_MATRIX_PY3, $PAWL_ITEM2.", func(name string) (string, bool) {
		v, ok := values[name]
		return v, ok
	})
	if want := "Do a*b? into /out/x as $PAWL_STEPS, not $HOME, ${HOME}, $PAWL_NONE or $5; 3.12, a*b?2."; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestPrescribedIsTold: prescriptions are in the prompts of new and of resumed sessions, and do not imply an earlier attempt.
func TestPrescribedIsTold(t *testing.T) {
	t.Parallel()
	told := pawl.Resume{Attempt: 1, Prescribed: "Execute this cell."}
	if text := (headless.Task{Prompt: "Do it."}).Begin("", &told); !strings.Contains(text, "\n\nExecute this cell.\n") || strings.Contains(text, "attempted before") {
		t.Errorf("%s", text)
	}
	if text := (headless.Task{}).Continue(told); !strings.HasPrefix(text, "Execute this cell.\n\nContinue") {
		t.Errorf("%s", text)
	}
}
