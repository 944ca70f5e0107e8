package mcp

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// String says in words where a run stands.
func (now status) String() string {
	if now.Run == "" {
		return "nothing has been run in this project yet"
	}
	var out strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	say("run %s: %s%s", now.Run, now.Status, because(now.Why))
	if now.Goal != "" {
		say("goal: %s", now.Goal)
	}
	if now.Engine {
		say("an engine works on it")
	}
	if now.Here != "" {
		say("you work on step %s", now.Here)
	}
	if now.Position != nil {
		say("finished: %d%% of %d steps (%s)", now.Percent, now.Position.StepTotal, counted(now.Steps))
	}
	for _, st := range now.Unfinished {
		say("step %s: %s%s%s%s", st.ID, st.Status, items(st), because(st.Why), saying(st.Said))
	}
	for _, g := range now.Gates {
		say("gate %s asks a person (%s): %s; answered by: %s", g.Gate, g.Type, g.Question, strings.Join(g.Answers, ", or "))
	}
	for _, b := range now.Blockers {
		say("blocker %d: %s%s", b.Number, b.Text, needing(b.Needs))
	}
	if c := now.Checkpoint; c != nil {
		say("last checkpoint: %s (%s), %s", c.Checkpoint, c.Kind, c.Time.UTC().Format("2006-01-02 15:04:05 UTC"))
	}
	if now.More > 0 {
		say("and %d more", now.More)
	}
	return strings.TrimSuffix(out.String(), "\n")
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

func saying(what string) string {
	if what == "" {
		return ""
	}
	return "; said: " + what
}

func items(st stepStatus) string {
	if st.Total == 0 {
		return ""
	}
	return fmt.Sprintf(", %d of %d items", st.Done, st.Total)
}

// counted says how many steps are in each status.
func counted(steps map[string]int) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(steps)) {
		all = append(all, fmt.Sprintf("%d %s", steps[name], name))
	}
	return strings.Join(all, ", ")
}
