package mcp

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// String returns the status as text.
func (now status) String() string {
	if now.Run == "" {
		return "no runs in this project yet" + now.advice()
	}
	var out strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	line("run %s: %s%s", now.Run, now.Status, because(now.Why))
	if now.Goal != "" {
		line("goal: %s", now.Goal)
	}
	if now.Engine {
		line("an engine is running it: do not start another")
	}
	if now.Here != "" {
		line("you are working on step %s", now.Here)
	}
	if now.Position != nil {
		line("progress: %d%%, %s (%s)", now.Percent, plural(now.Position.StepTotal, "step", "steps"), counted(now.Steps))
	}
	for _, st := range now.Unfinished {
		line("step %s: %s%s%s%s", st.ID, st.Status, items(st), because(st.Why), progressText(st.Said))
	}
	for _, g := range now.Gates {
		line("gate %s asks a person (%s): %s; a person answers with: %s", g.Gate, g.Type, g.Question, strings.Join(g.Answers, ", or "))
	}
	for _, b := range now.Blockers {
		line("blocker %d: %s%s", b.Number, b.Text, needing(b.Needs))
	}
	if c := now.Checkpoint; c != nil {
		line("last checkpoint: %s (%s), %s", c.Checkpoint, c.Kind, c.Time.UTC().Format("2006-01-02 15:04:05 UTC"))
	}
	if now.More > 0 {
		line("%d more not shown", now.More)
	}
	return strings.TrimSuffix(out.String(), "\n") + now.advice()
}

// advice returns what to do now as the text's last line.
func (now status) advice() string {
	if now.Next == "" {
		return ""
	}
	return "\nnext: " + now.Next
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return " (" + why + ")"
}

func needing(what string) string {
	if what == "" {
		return ""
	}
	return "; needs: " + what
}

func progressText(what string) string {
	if what == "" {
		return ""
	}
	return "; last progress: " + what
}

func items(st stepStatus) string {
	if st.Total == 0 {
		return ""
	}
	return fmt.Sprintf(", %d of %s", st.Done, plural(st.Total, "item", "items"))
}

// plural returns a number with the matching form of a noun.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// counted lists the number of steps in each status.
func counted(steps map[string]int) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(steps)) {
		all = append(all, fmt.Sprintf("%d %s", steps[name], name))
	}
	return strings.Join(all, ", ")
}
