package rebuild_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pawl"
	"pawl/internal/planfile"
	"pawl/internal/rebuild"
)

const run = pawl.RunID("demo-20261121-120000-abcd")

var began = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

const planText = `name: demo
phases:
  - name: first
    steps:
      - {id: one, run: make one, outputs: [one.txt]}
      - {id: once, run: send mail, idempotent: false}
  - name: second
    steps:
      - {id: look, gate: {type: human_verify, ask: "Good?"}}
      - {id: each, foreach: {items: [a, b]}, run: "make $PAWL_ITEM"}
      - {id: last, run: finish}
`

func readPlan(t testing.TB) *pawl.Plan {
	t.Helper()
	plan, err := planfile.Read("plan.yaml", []byte(planText))
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// evidence returns what is left of a run that lost all but its plan.
func evidence(t testing.TB) *rebuild.Evidence {
	plan := readPlan(t)
	e := &rebuild.Evidence{
		Run: run, Project: "p", Damage: "there is no journal", Plan: plan, PlanFrom: "here", PlanConfidence: rebuild.Certain,
		Planned:   &pawl.RunPlanned{Revision: 1, File: "plan.yaml", Steps: 5},
		Summaries: map[pawl.StepID]rebuild.SummaryView{}, ListFaults: map[pawl.StepID]string{},
	}
	for _, s := range plan.Steps() {
		e.Units = append(e.Units, rebuild.Unit{Step: s, Index: -1})
		if s.Foreach != nil {
			for i, v := range s.Foreach.Items {
				e.Units = append(e.Units, rebuild.Unit{Step: s, Index: i, Item: pawl.ItemIDOf(v), Value: v})
			}
		}
	}
	unit(e, "one").Outputs = pawl.Outputs{"one.txt": {SHA256: "1", Size: 1}}
	unit(e, "one").SnapshotOutputs = pawl.Outputs{"one.txt": {SHA256: "1", Size: 1}}
	return e
}

// unit returns "step" or "step/item".
func unit(e *rebuild.Evidence, name string) *rebuild.Unit {
	for i := range e.Units {
		if u := &e.Units[i]; (pawl.AttemptRef{Step: u.Step.ID, Item: u.Item}).Name() == name {
			return u
		}
	}
	panic("no unit " + name)
}

// record returns what an attempt at the first step left that did its work.
func record(e *rebuild.Evidence, u *rebuild.Unit, attempt int) rebuild.AttemptRecord {
	zero := 0
	token := pawl.Token(fmt.Sprintf("%s-%s-%d", u.Step.ID, u.Item, attempt))
	return rebuild.AttemptRecord{
		Attempt: attempt,
		Job: &pawl.Job{
			AttemptRef: pawl.AttemptRef{Step: u.Step.ID, Item: u.Item, Attempt: attempt, Token: token}, Run: run,
			Env: []string{"PAWL_KEY=" + keyOf(e, u)},
		},
		Begun: &pawl.Begun{Token: token, Started: began},
		Exit:  &pawl.Exit{Token: token, Reason: pawl.ReasonExited, Exit: &zero, Started: began, Ended: began.Add(time.Second)},
	}
}

// keyOf returns the key that a step had which needs nothing: that of the first.
func keyOf(e *rebuild.Evidence, u *rebuild.Unit) string {
	return pawl.Key{Definition: pawl.DefinitionOf(e.Plan, u.Step, u.Value)}.Hash()
}

func reconstruct(t testing.TB, e *rebuild.Evidence, trust rebuild.Confidence) rebuild.Proposal {
	t.Helper()
	p := rebuild.Rebuild(*e, trust, began.Add(time.Hour))
	if n := p.RejectedCount(e.Journal); n > 0 {
		t.Fatalf("%d events do not fit: %v", n, p.Events)
	}
	return p
}

func partOf(t testing.TB, p rebuild.Proposal, name string) rebuild.Part {
	t.Helper()
	for _, part := range p.Parts {
		if (part.What == "step" || part.What == "item") && (pawl.AttemptRef{Step: part.Step, Item: part.Item}).Name() == name {
			return part
		}
	}
	t.Fatalf("no part %s in %+v", name, p.Parts)
	return rebuild.Part{}
}

// TestRecords says what the records of a step's newest attempt prove, and what takes the proof away.
func TestRecords(t *testing.T) {
	t.Parallel()
	type change func(e *rebuild.Evidence, u *rebuild.Unit, rec *rebuild.AttemptRecord)
	one := 1
	for name, c := range map[string]struct {
		change   change
		status   rebuild.PartStatus
		sure     rebuild.Confidence
		evidence string
	}{
		"exit 0, outputs as kept": {nil, rebuild.PartDone, rebuild.Certain, "exit code 0"},
		"outputs not compared": {func(_ *rebuild.Evidence, u *rebuild.Unit, _ *rebuild.AttemptRecord) {
			u.SnapshotOutputs = nil
		}, rebuild.PartDone, rebuild.Certain, "its outputs exist"},
		"result done": {func(_ *rebuild.Evidence, _ *rebuild.Unit, rec *rebuild.AttemptRecord) {
			rec.Result = &pawl.Result{Status: pawl.ResultDone}
		}, rebuild.PartDone, rebuild.Certain, "exit code 0"},
		"state is older": {func(e *rebuild.Evidence, _ *rebuild.Unit, _ *rebuild.AttemptRecord) {
			e.State = &rebuild.StateView{Steps: map[pawl.StepID]rebuild.StepRow{"one": {Status: pawl.Running, Attempts: 1}}}
		}, rebuild.PartDone, rebuild.Certain, "exit code 0"},
		"outputs missing": {func(_ *rebuild.Evidence, u *rebuild.Unit, _ *rebuild.AttemptRecord) {
			u.Outputs, u.Missing = nil, []string{"one.txt"}
		}, rebuild.PartInDoubt, rebuild.Guess, "missing: one.txt"},
		"outputs changed": {func(_ *rebuild.Evidence, u *rebuild.Unit, _ *rebuild.AttemptRecord) {
			u.SnapshotOutputs = pawl.Outputs{"one.txt": {SHA256: "2"}}
		}, rebuild.PartInDoubt, rebuild.Likely, "changed since: one.txt"},
		"outputs not as in the summary": {func(e *rebuild.Evidence, u *rebuild.Unit, _ *rebuild.AttemptRecord) {
			u.SnapshotOutputs = nil
			e.Summaries["one"] = rebuild.SummaryView{Outputs: pawl.Outputs{"one.txt": {SHA256: "2"}}}
		}, rebuild.PartInDoubt, rebuild.Likely, "changed since: one.txt"},
		"another key": {func(_ *rebuild.Evidence, u *rebuild.Unit, _ *rebuild.AttemptRecord) {
			u.Inputs = pawl.Outputs{"in.txt": {SHA256: "3"}}
		}, rebuild.PartInDoubt, rebuild.Likely, "not proven to be unchanged"},
		"no job": {func(_ *rebuild.Evidence, _ *rebuild.Unit, rec *rebuild.AttemptRecord) {
			rec.Job = nil
		}, rebuild.PartInDoubt, rebuild.Likely, "its job file is missing"},
		"unreadable result": {func(_ *rebuild.Evidence, _ *rebuild.Unit, rec *rebuild.AttemptRecord) {
			rec.ResultErr = "no JSON"
		}, rebuild.PartInDoubt, rebuild.Likely, "no JSON"},
		"a snapshot knows a newer attempt": {func(e *rebuild.Evidence, _ *rebuild.Unit, _ *rebuild.AttemptRecord) {
			e.Snapshots = []rebuild.Snapshot{{Checkpoint: pawl.Checkpoint{ID: "1", Step: "one"}, Attempt: 2, Token: "x"}}
		}, rebuild.PartInDoubt, rebuild.Guess, "there was an attempt 2"},
		"the state says pending": {func(e *rebuild.Evidence, _ *rebuild.Unit, _ *rebuild.AttemptRecord) {
			e.State = &rebuild.StateView{Steps: map[pawl.StepID]rebuild.StepRow{"one": {Status: pawl.Pending, Attempts: 1}}}
		}, rebuild.PartInDoubt, rebuild.Guess, "STATE.md: step is pending"},
		"the state says running, in a newer attempt": {func(e *rebuild.Evidence, _ *rebuild.Unit, _ *rebuild.AttemptRecord) {
			e.State = &rebuild.StateView{Steps: map[pawl.StepID]rebuild.StepRow{"one": {Status: pawl.Running, Attempts: 2}}}
		}, rebuild.PartInDoubt, rebuild.Guess, "attempt 2"},
		"another run's": {func(_ *rebuild.Evidence, _ *rebuild.Unit, rec *rebuild.AttemptRecord) {
			rec.Job.Run = "other"
		}, rebuild.PartInDoubt, rebuild.Guess, "of run other"},
		"exit 1": {func(_ *rebuild.Evidence, _ *rebuild.Unit, rec *rebuild.AttemptRecord) {
			rec.Exit.Exit = &one
		}, rebuild.PartNotDone, rebuild.Certain, "exit code 1"},
		"a signal": {func(_ *rebuild.Evidence, _ *rebuild.Unit, rec *rebuild.AttemptRecord) {
			rec.Exit.Exit, rec.Exit.Signal = nil, "SIGSEGV"
		}, rebuild.PartNotDone, rebuild.Certain, "ended by SIGSEGV"},
		"a limit": {func(_ *rebuild.Evidence, _ *rebuild.Unit, rec *rebuild.AttemptRecord) {
			rec.Exit.Reason = pawl.ReasonTimeout
		}, rebuild.PartNotDone, rebuild.Certain, "watchdog_timeout"},
		"checks fail": {func(_ *rebuild.Evidence, _ *rebuild.Unit, rec *rebuild.AttemptRecord) {
			rec.Exit.Checks = []pawl.CheckRun{{Name: "c", Exit: 1}}
		}, rebuild.PartNotDone, rebuild.Certain, "checks fail"},
		"result failed": {func(_ *rebuild.Evidence, _ *rebuild.Unit, rec *rebuild.AttemptRecord) {
			rec.Result = &pawl.Result{Status: pawl.ResultFailed}
		}, rebuild.PartNotDone, rebuild.Certain, "it reported failed"},
		"another attempt's exit": {func(_ *rebuild.Evidence, _ *rebuild.Unit, rec *rebuild.AttemptRecord) {
			rec.Exit.Token = "x"
		}, rebuild.PartNotDone, rebuild.Certain, "of another attempt"},
		"no exit": {func(_ *rebuild.Evidence, _ *rebuild.Unit, rec *rebuild.AttemptRecord) {
			rec.Exit = nil
		}, rebuild.PartInDoubt, rebuild.Certain, "no exit record"},
		"never begun": {func(_ *rebuild.Evidence, _ *rebuild.Unit, rec *rebuild.AttemptRecord) {
			rec.Exit, rec.Begun = nil, nil
		}, rebuild.PartNotDone, rebuild.Certain, "before it started"},
		"supervisor is running": {func(_ *rebuild.Evidence, _ *rebuild.Unit, rec *rebuild.AttemptRecord) {
			rec.Exit, rec.Live = nil, true
		}, rebuild.PartRunning, rebuild.Certain, "supervisor is running"},
		"an older attempt ended well, a newer did not": {func(e *rebuild.Evidence, u *rebuild.Unit, _ *rebuild.AttemptRecord) {
			newer := record(e, u, 2)
			newer.Exit.Exit = &one
			u.Records = append(u.Records, newer)
		}, rebuild.PartNotDone, rebuild.Certain, "attempt 2: exit code 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := evidence(t)
			u := unit(e, "one")
			u.Records = []rebuild.AttemptRecord{record(e, u, 1)}
			if c.change != nil {
				rec := &u.Records[0]
				c.change(e, u, rec)
			}
			p := reconstruct(t, e, rebuild.Certain)
			part := partOf(t, p, "one")
			if part.Status != c.status || part.Confidence != c.sure || !strings.Contains(strings.Join(part.Evidence, "\n"), c.evidence) {
				t.Errorf("%+v\nwant %s, %s, %q", part, c.status, c.sure, c.evidence)
			}
			if done := p.State.Steps["one"].Finished(); done != (c.status == rebuild.PartDone) {
				t.Errorf("in the rebuilt state, is it done? %v", done)
			}
		})
	}
}

// TestHearsay says what counts without any record: nothing, unless a person trusts it.
func TestHearsay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(e *rebuild.Evidence)
		sure   rebuild.Confidence
		status rebuild.PartStatus // with trust in what is likely
	}{
		"nothing": {func(*rebuild.Evidence) {}, rebuild.Likely, rebuild.PartNotDone},
		"a summary": {func(e *rebuild.Evidence) {
			e.Summaries["once"] = rebuild.SummaryView{Status: pawl.Done}
		}, rebuild.Likely, rebuild.PartDone},
		"a summary of a skipped step": {func(e *rebuild.Evidence) {
			e.Summaries["once"] = rebuild.SummaryView{Status: pawl.Skipped}
		}, rebuild.Likely, rebuild.PartSkipped},
		"a snapshot": {func(e *rebuild.Evidence) {
			e.Snapshots = []rebuild.Snapshot{{Checkpoint: pawl.Checkpoint{ID: "1", Kind: pawl.CheckpointStep, Step: "once"}, Attempt: 1, Token: "x"}}
		}, rebuild.Likely, rebuild.PartDone},
		"an emergency's snapshot": {func(e *rebuild.Evidence) {
			e.Snapshots = []rebuild.Snapshot{{Checkpoint: pawl.Checkpoint{ID: "1", Kind: pawl.CheckpointEmergency, Step: "once"}, Attempt: 1, Token: "x"}}
		}, rebuild.Guess, rebuild.PartInDoubt}, // it may have done some of its work
		"a snapshot while it was live": {func(e *rebuild.Evidence) {
			live := []pawl.AttemptRef{{Step: "once", Attempt: 1, Token: "x"}}
			e.Snapshots = []rebuild.Snapshot{{Checkpoint: pawl.Checkpoint{ID: "1", Kind: pawl.CheckpointStep, Step: "one", Live: live}}}
			unit(e, "one").Records = []rebuild.AttemptRecord{record(e, unit(e, "one"), 1)}
		}, rebuild.Guess, rebuild.PartInDoubt},
		"a snapshot, and records of other steps only": {func(e *rebuild.Evidence) {
			e.Snapshots = []rebuild.Snapshot{{Checkpoint: pawl.Checkpoint{ID: "1", Kind: pawl.CheckpointStep, Step: "one"}}}
			unit(e, "one").Records = []rebuild.AttemptRecord{record(e, unit(e, "one"), 1)}
		}, rebuild.Likely, rebuild.PartNotDone},
		"a commit": {func(e *rebuild.Evidence) {
			e.Commits = []rebuild.Commit{{Hash: "c", Subject: "fix(once): it"}}
		}, rebuild.Likely, rebuild.PartDone},
		"a commit that was reverted": {func(e *rebuild.Evidence) {
			e.Commits = []rebuild.Commit{{Hash: "d", Subject: `Revert "fix(once): it"`}, {Hash: "c", Subject: "fix(once): it"}}
		}, rebuild.Likely, rebuild.PartNotDone},
		"a commit after a revert": {func(e *rebuild.Evidence) {
			e.Commits = []rebuild.Commit{{Hash: "d", Subject: "feat(once): again"}, {Hash: "c", Subject: `revert(once): it`}}
		}, rebuild.Likely, rebuild.PartDone},
		"a commit, and the state says pending": {func(e *rebuild.Evidence) {
			e.Commits = []rebuild.Commit{{Hash: "c", Subject: "fix(once): it"}}
			e.State = &rebuild.StateView{Steps: map[pawl.StepID]rebuild.StepRow{"once": {Status: pawl.Pending}}}
		}, rebuild.Guess, rebuild.PartInDoubt},
		"a commit, and what it needs is gone": {func(e *rebuild.Evidence) {
			e.Commits = []rebuild.Commit{{Hash: "c", Subject: "fix(once): it"}}
			unit(e, "one").Outputs, unit(e, "one").Missing = nil, []string{"one.txt"}
		}, rebuild.Guess, rebuild.PartInDoubt},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := evidence(t)
			c.change(e)
			believed := partOf(t, reconstruct(t, e, rebuild.Likely), "once")
			if believed.Confidence != c.sure || believed.Status != c.status {
				t.Errorf("trusting: %+v, want %s %s", believed, c.sure, c.status)
			}
			p := reconstruct(t, e, rebuild.Certain)
			if p.State.Steps["once"].Finished() {
				t.Error("without trust it is called finished")
			}
			doubted := partOf(t, p, "once").Status == rebuild.PartInDoubt
			st := p.State.Steps["once"]
			if asked := st != nil && st.Retries.Last != nil && st.Retries.Last.Outcome == pawl.Lost; asked != doubted {
				t.Errorf("what must not be repeated and may have been done counts as lost: %v, want %v", asked, doubted)
			}
		})
	}
}

// TestJournalKept says that what is left of a journal is believed, and what others contradict of it.
func TestJournalKept(t *testing.T) {
	t.Parallel()
	e := evidence(t)
	u := unit(e, "one")
	u.Records = []rebuild.AttemptRecord{record(e, u, 1)}
	whole := reconstruct(t, e, rebuild.Certain).Events
	for i := range whole {
		whole[i].Seq = pawl.Seq(i + 1)
	}

	left := evidence(t)
	left.Journal, left.Planned = slices.Clone(whole), nil
	p := reconstruct(t, left, rebuild.Certain)
	if part := partOf(t, p, "one"); part.Status != rebuild.PartDone || p.Kept != pawl.Seq(len(whole)) {
		t.Errorf("%+v, kept %d", part, p.Kept)
	}
	left.State = &rebuild.StateView{Seq: 100, Steps: map[pawl.StepID]rebuild.StepRow{"one": {Status: pawl.Pending, Attempts: 1}}}
	p = reconstruct(t, left, rebuild.Likely)
	if part := partOf(t, p, "one"); part.Status != rebuild.PartInDoubt || p.State.Steps["one"].Finished() {
		t.Errorf("a newer view says that it was reopened: %+v", part)
	}
	left.State = nil
	u = unit(left, "one")
	later := record(left, u, 2)
	*later.Exit.Exit = 1
	u.Records = []rebuild.AttemptRecord{later}
	p = reconstruct(t, left, rebuild.Certain)
	if st := p.State.Steps["one"]; st.Finished() || st.Retries.Live == nil || st.Retries.Live.Attempt != 2 {
		t.Errorf("a later attempt left its records: %+v", st)
	}
}

// An item that was taken as done without records has a made-up attempt 1. Records of the real attempt 1 may appear later.
func TestRecordsOfAnAdoptedItem(t *testing.T) {
	t.Parallel()
	e := evidence(t)
	b := pawl.Checkpoint{ID: "1", Kind: pawl.CheckpointStep, Step: "each", Item: "b"}
	e.Snapshots = []rebuild.Snapshot{{Checkpoint: b, Attempt: 1}}
	first := reconstruct(t, e, rebuild.Likely)
	if first.State.Steps["each"].Items.Count != 1 {
		t.Fatalf("%+v", first.State.Steps["each"])
	}
	for i := range first.Events {
		first.Events[i].Seq = pawl.Seq(i + 1)
	}
	again := evidence(t)
	again.Journal, again.Planned = first.Events, nil
	u := unit(again, "each/b")
	u.Records = []rebuild.AttemptRecord{record(again, u, 1)}
	u.Records[0].Exit = nil
	p := reconstruct(t, again, rebuild.Certain)
	if part := partOf(t, p, "each/b"); part.Status != rebuild.PartInDoubt || p.State.Steps["each"].Finished() {
		t.Errorf("%+v", part)
	}
}

// TestCutShort says who knows that a journal that looks whole has lost its end.
func TestCutShort(t *testing.T) {
	t.Parallel()
	created, err := pawl.NewEvent(pawl.Author{Kind: pawl.ByPerson}, pawl.RunCreated{Format: 1, Run: run, Kind: pawl.PlanRun, Name: "demo"})
	if err != nil {
		t.Fatal(err)
	}
	created.Seq = 1
	for name, c := range map[string]struct {
		change func(e *rebuild.Evidence)
		want   string
	}{
		"nobody":             {func(*rebuild.Evidence) {}, ""},
		"a state as old":     {func(e *rebuild.Evidence) { e.State = &rebuild.StateView{Seq: 1} }, ""},
		"the state":          {func(e *rebuild.Evidence) { e.State = &rebuild.StateView{Seq: 2} }, "STATE.md has event 2"},
		"the cache":          {func(e *rebuild.Evidence) { e.CachedSeq = 3 }, "state.json has event 3"},
		"a snapshot":         {func(e *rebuild.Evidence) { e.Snapshots = []rebuild.Snapshot{{After: 4}} }, "a snapshot has event 4"},
		"an earlier":         {func(e *rebuild.Evidence) { e.Snapshots = []rebuild.Snapshot{{After: 1}} }, ""},
		"an unknown attempt": {func(e *rebuild.Evidence) { u := unit(e, "one"); u.Records = []rebuild.AttemptRecord{record(e, u, 1)} }, "attempt 1 of one left records"},
		"another run's": {func(e *rebuild.Evidence) {
			u := unit(e, "one")
			u.Records = []rebuild.AttemptRecord{record(e, u, 1)}
			u.Records[0].Job.Run = "other"
		}, ""},
	} {
		e := evidence(t)
		e.Journal, e.Damage = []pawl.Event{created}, ""
		c.change(e)
		p := reconstruct(t, e, rebuild.Certain)
		if got := strings.Join(p.Why, "\n"); p.Sound != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: sound %v: %q, want %q", name, p.Sound, got, c.want)
		}
	}
}

// TestWorkList takes nothing out of a work list that was journaled or tried.
func TestWorkList(t *testing.T) {
	t.Parallel()
	got := rebuild.WorkList([]string{"b", "a"}, []string{"a", "c"}, []string{"d", "b"})
	if !slices.Equal(got, []string{"b", "a", "c", "d"}) {
		t.Error(got)
	}
}

// TestNothingGuessedIsDone makes up evidence of all sorts. Whatever it is, the rebuilt events fit, and a step is done only
// where its records prove it or the journal says it, or where a person trusts what is likely.
func TestNothingGuessedIsDone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		e := evidence(t)
		for i := range e.Units {
			draw(rt, e, &e.Units[i])
		}
		if rapid.Bool().Draw(rt, "state") {
			e.State = drawState(rt)
		}
		trust := rapid.SampledFrom([]rebuild.Confidence{rebuild.Certain, rebuild.Likely}).Draw(rt, "trust")
		first := rebuild.Rebuild(*e, trust, began)
		checkRebuilt(rt, e, first, trust)

		again := *e // and once more, of a part of that, with other evidence
		for i := range first.Events {
			first.Events[i].Seq = pawl.Seq(i + 1)
		}
		again.Journal = first.Events[:rapid.IntRange(3, len(first.Events)).Draw(rt, "left")]
		for i := range again.Units {
			if rapid.Bool().Draw(rt, "more") {
				draw(rt, &again, &again.Units[i])
			}
		}
		checkRebuilt(rt, &again, rebuild.Rebuild(again, trust, began), trust)
	})
}

func draw(rt *rapid.T, e *rebuild.Evidence, u *rebuild.Unit) {
	for attempt := range rapid.IntRange(0, 2).Draw(rt, "attempts") {
		rec := record(e, u, attempt+1)
		*rec.Exit.Exit = rapid.IntRange(0, 1).Draw(rt, "exit")
		switch rapid.IntRange(0, 5).Draw(rt, "left") {
		case 0:
			rec.Exit = nil
		case 1:
			rec.Exit, rec.Begun = nil, nil
		case 2:
			rec.Job = nil
		case 3:
			rec.Exit, rec.Live = nil, true
		}
		u.Records = append(u.Records, rec)
	}
	if rapid.IntRange(0, 3).Draw(rt, "missing") == 0 && len(u.Step.Outputs) > 0 {
		u.Outputs, u.Missing = nil, u.Step.Outputs
	}
	if rapid.Bool().Draw(rt, "summary") && u.Index < 0 {
		status := rapid.SampledFrom([]pawl.StepStatus{pawl.Done, pawl.Skipped, "nonsense"}).Draw(rt, "says")
		e.Summaries[u.Step.ID] = rebuild.SummaryView{Status: status, Attempts: rapid.IntRange(0, 3).Draw(rt, "n")}
	}
	if rapid.Bool().Draw(rt, "snapshot") {
		kind := rapid.SampledFrom([]pawl.CheckpointKind{pawl.CheckpointStep, pawl.CheckpointEmergency}).Draw(rt, "kind")
		id := pawl.CheckpointID(fmt.Sprintf("%08x", len(e.Snapshots)+1))
		e.Snapshots = append(e.Snapshots, rebuild.Snapshot{
			Checkpoint: pawl.Checkpoint{ID: id, Kind: kind, Step: u.Step.ID, Item: u.Item}, Attempt: rapid.IntRange(0, 3).Draw(rt, "of"), Token: "x",
		})
	}
	if rapid.Bool().Draw(rt, "commit") {
		e.Commits = append(e.Commits, rebuild.Commit{Hash: "c", Subject: fmt.Sprintf("feat(%s): work", u.Step.ID)})
	}
}

func drawState(rt *rapid.T) *rebuild.StateView {
	v := &rebuild.StateView{Seq: pawl.Seq(rapid.IntRange(0, 60).Draw(rt, "seq")), Steps: map[pawl.StepID]rebuild.StepRow{}}
	for _, id := range []pawl.StepID{"one", "once", "look", "each", "last"} {
		status := rapid.SampledFrom([]pawl.StepStatus{pawl.Pending, pawl.Running, pawl.Done, pawl.FailedForGood, pawl.Skipped, pawl.AwaitsGate}).Draw(rt, "row")
		v.Steps[id] = rebuild.StepRow{Status: status, Attempts: rapid.IntRange(0, 3).Draw(rt, "tries")}
	}
	return v
}

func checkRebuilt(rt *rapid.T, e *rebuild.Evidence, p rebuild.Proposal, trust rebuild.Confidence) {
	if n := p.RejectedCount(e.Journal); n > 0 {
		rt.Fatalf("%d events do not fit: %s", n, said(p.Events))
	}
	state := pawl.NewState()
	for _, event := range slices.Concat(e.Journal, p.Events) {
		event.Seq = state.Seq + 1
		state.Apply(event)
	}
	sure := map[string]rebuild.Part{}
	for _, part := range p.Parts {
		sure[(pawl.AttemptRef{Step: part.Step, Item: part.Item}).Name()] = part
	}
	for _, u := range e.Units {
		st := state.Steps[u.Step.ID]
		done := st.Finished()
		if u.Index >= 0 {
			done = st != nil && st.Items != nil && st.Items.Done.At(u.Index) != 0
		}
		name := (pawl.AttemptRef{Step: u.Step.ID, Item: u.Item}).Name()
		part, told := sure[name]
		switch {
		case !done || p.Sound || u.Index >= 0 && !told:
		case part.Status != rebuild.PartDone && part.Status != rebuild.PartSkipped:
			rt.Fatalf("%s is finished, and the proposal says %+v", name, part)
		case part.Confidence == rebuild.Guess, part.Confidence == rebuild.Likely && trust != rebuild.Likely && !inJournal(e, u):
			rt.Fatalf("%s is finished, and that is only %s: %+v", name, part.Confidence, part)
		}
	}
}

// inJournal reports whether what was left of the journal says that a foreach step's items were finished, on the word of
// whoever rebuilt it before.
func inJournal(e *rebuild.Evidence, u rebuild.Unit) bool {
	return u.Step.Foreach != nil && len(e.Journal) > 0
}

func said(events []pawl.Event) string {
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintf(&b, "%s %s\n", e.Type, e.Data)
	}
	return b.String()
}

// A rebuilt run keeps plain sh only if its jobs are those of an older version. A job cannot name another shell.
func TestDefaultShell(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		job  bool
		in   pawl.Shell
		want pawl.Shell
	}{{false, "", pawl.DefaultShell}, {true, "", ""}, {true, pawl.StrictSh, pawl.DefaultShell}, {true, "./evil {}", pawl.DefaultShell}} {
		e := evidence(t)
		if c.job {
			u := unit(e, "one")
			rec := record(e, u, 1)
			rec.Job.RunShell = c.in
			u.Records = []rebuild.AttemptRecord{rec}
		}
		p := reconstruct(t, e, rebuild.Certain)
		s := pawl.NewState()
		for _, event := range p.Events {
			s.Apply(event)
		}
		if s.Shell != c.want || s.Run == "" {
			t.Errorf("%+v: run %q has the default shell %q", c, s.Run, s.Shell)
		}
	}
}
