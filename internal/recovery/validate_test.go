package recovery

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pawl"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// calm are the facts of a run without any finding.
func calm() Facts {
	return Facts{
		Now: now, Run: "r", Last: now.Add(-time.Minute), Events: 7, Plan: PlanFact{Path: "plan.yaml"},
		Git:    Git{CommitThen: "aaaa", CommitNow: "aaaa", BranchThen: "refs/heads/main", BranchNow: "refs/heads/main"},
		Claims: []Claim{{Step: "a", Path: "out", State: ClaimHolds}}, Checkpoint: &pawl.Checkpoint{ID: "c1", Time: now},
		Disk: DiskFact{Free: 1 << 40, Size: 2 << 40},
	}
}

func TestCalm(t *testing.T) {
	t.Parallel()
	for _, f := range Validate(calm()) {
		if f.Level != pawl.OK {
			t.Errorf("%+v", f)
		}
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	lost := AttemptFact{AttemptRef: pawl.AttemptRef{Step: "b", Attempt: 1}, Case: Case{Attempt: Lost}, Why: "its supervisor is gone"}
	for name, c := range map[string]struct {
		change func(*Facts)
		level  pawl.Level
		says   string
	}{
		"somebody at work":      {func(f *Facts) { f.Holder = "pid 7" }, pawl.Bad, "pid 7"},
		"an event that misfits": {func(f *Facts) { f.Rejected = []pawl.RejectedEvent{{Seq: 3, Why: "odd"}} }, pawl.Warn, "odd"},
		"a clock set back":      {func(f *Facts) { f.Last = now.Add(time.Hour) }, pawl.Warn, "1h0m0s in the future"},
		"ancient":               {func(f *Facts) { f.Last = now.Add(-9 * 24 * time.Hour) }, pawl.Warn, "9 days"},
		"moved":                 {func(f *Facts) { f.Location = []string{"it was moved"} }, pawl.Warn, "it was moved"},
		"attempts elsewhere":    {func(f *Facts) { f.Elsewhere = &Elsewhere{Host: "a", Attempts: []string{"x", "y"}} }, pawl.Bad, "may still run x, y"},
		"attempts on a host that is gone": {
			func(f *Facts) { f.Elsewhere = &Elsewhere{Host: "a", Attempts: []string{"x", "y"}, Gone: true} }, pawl.Warn, "ran x, y; that counts as crashed",
		},
		"files elsewhere": {
			func(f *Facts) { f.Elsewhere = &Elsewhere{Host: "a", Checkpoint: "c", Lost: "no files", Hint: "h"} }, pawl.Bad, "saved on host a; no files",
		},
		"other files than elsewhere": {
			func(f *Facts) { f.Elsewhere = &Elsewhere{Host: "a", Checkpoint: "c", Differ: 2, Hint: "h"} }, pawl.Bad, "paths that differ: 2",
		},
		"other files than elsewhere, in a run that a person brought": {
			func(f *Facts) { f.Elsewhere = &Elsewhere{Host: "a", Checkpoint: "c", Differ: 2} }, pawl.Warn, "paths that differ: 2",
		},
		"another branch": {func(f *Facts) { f.Git.BranchNow = "refs/heads/other" }, pawl.Bad, "main at the last checkpoint, other now"},
		"another branch, by what is in doubt perhaps": {func(f *Facts) { f.Git.BranchNow, f.Attempts = "refs/heads/other", []AttemptFact{lost} }, pawl.Warn, "main at the last checkpoint, other now"},
		"detached":                 {func(f *Facts) { f.Git.BranchNow = "" }, pawl.Bad, "(detached) now"},
		"a rebase":                 {func(f *Facts) { f.Git.InProgress = "rebase" }, pawl.Bad, "a rebase is in progress"},
		"history rewritten":        {func(f *Facts) { f.Git.CommitNow, f.Git.Rewritten = "bbbb", true }, pawl.Warn, "HEAD was rewritten"},
		"git cannot be read":       {func(f *Facts) { f.Git = Git{Unavailable: "no right"} }, pawl.Warn, "no right"},
		"the plan file is missing": {func(f *Facts) { f.Plan.Gone = true }, pawl.Warn, "plan file is missing"},
		"the plan is unreadable":   {func(f *Facts) { f.Plan.Fault = "line 3" }, pawl.Bad, "line 3"},
		"the plan re-runs":         {func(f *Facts) { f.Plan.Edited, f.Plan.Reruns = true, 2 }, pawl.Warn, "the plan was edited; 2 steps would rerun"},
		"a need that is not there": {func(f *Facts) { f.Stuck = []pawl.StepID{"z"} }, pawl.Bad, "not in the plan"},
		"two attempts open":        {func(f *Facts) { f.Attempts = []AttemptFact{lost, lost} }, pawl.Bad, "2 attempts are open"},
		"in doubt":                 {func(f *Facts) { f.Attempts = []AttemptFact{lost} }, pawl.Warn, "supervisor is gone"},
		"an output is missing":     {func(f *Facts) { f.Claims[0].State = ClaimMissing }, pawl.Warn, "missing"},
		"an output was changed":    {func(f *Facts) { f.Claims[0].State = ClaimChanged }, pawl.Warn, "was edited since"},
		"an output is out of view": {func(f *Facts) { f.Claims[0].State, f.Claims[0].Why = ClaimUnseen, "no right" }, pawl.Warn, "no right"},
		"a commit is missing":      {func(f *Facts) { f.Commits = []CommitClaim{{Step: "a", Commit: "0123"}} }, pawl.Warn, "0123"},
		"gates":                    {func(f *Facts) { f.Gates = 2 }, pawl.Warn, "2 open"},
		"blockers":                 {func(f *Facts) { f.Blocked = 1 }, pawl.Warn, "1 open"},
		"no snapshot":              {func(f *Facts) { f.SnapshotLost = "quota" }, pawl.Warn, "no snapshot: quota"},
		"no snapshot but before":   {func(f *Facts) { f.SnapshotLost, f.Fallback = "lost", &pawl.Checkpoint{ID: "c0"} }, pawl.Warn, "falling back to c0"},
		"a full disk":              {func(f *Facts) { f.Disk.Free = 10 << 20 }, pawl.Warn, "10 MiB free"},
		"leftovers":                {func(f *Facts) { f.Leftover = []string{"pid 9 sleep"} }, pawl.Warn, "pid 9 sleep"},
	} {
		facts := calm()
		c.change(&facts)
		found := slices.ContainsFunc(Validate(facts), func(f pawl.Finding) bool { return f.Level == c.level && strings.Contains(f.What, c.says) })
		if !found {
			t.Errorf("%s: no %s finding says %q: %+v", name, c.level, c.says, Validate(facts))
		}
	}
}
