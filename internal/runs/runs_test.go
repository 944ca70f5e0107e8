package runs_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/engine/enginetest"
	"pawl/internal/journal"
	"pawl/internal/project"
	"pawl/internal/redact"
	"pawl/internal/runs"
	"pawl/internal/supervise"
)

type projectOf = *project.Project

// contains reports whether a text has all of these in it.
func contains(text string, all ...string) bool {
	return !slices.ContainsFunc(all, func(one string) bool { return !strings.Contains(text, one) })
}

func relative(p *enginetest.Project, path string) string {
	p.Helper()
	rel, err := filepath.Rel(p.Root, path)
	p.Check(err)
	return rel
}

// working makes a run of which one attempt runs and no engine is there.
func working(p *enginetest.Project) {
	p.Helper()
	p.Create("name: demo\nsteps: [{id: a, run: 'sleep 1000 & touch begun; until test -e go; do sleep 0.02; done; kill $!'}]\n")
	gone := make(chan bool)
	go func() { gone <- p.KilledAt("attempt.heartbeat", 1) }()
	p.Until("the step has begun", func() bool { return p.Exists("begun") && p.Count("attempt.started") == 1 })
	holder, _ := p.EngineHolder()
	p.Check(syscall.Kill(holder.PID, syscall.SIGKILL))
	<-gone
}

func TestFindRun(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	_, err := runs.FindRun(t.Context(), p.Project, "")
	p.WantKind(err, pawl.KindNothing)
	p.Check(p.Do(strings.Replace(twoSteps, "demo", "first", 1)))
	first := p.Run
	second := p.Create(strings.Replace(twoSteps, "demo", "second", 1))
	third := p.Create(strings.Replace(twoSteps, "demo", "second", 1))
	for name, want := range map[string]pawl.RunID{"first": first, string(second): second, "latest": third, "": third} {
		if got, err := runs.FindRun(t.Context(), p.Project, name); err != nil || got != want {
			t.Errorf("%q: %s, %v, want %s", name, got, err, want)
		}
	}
	_, err = runs.FindRun(t.Context(), p.Project, "second")
	p.WantKind(err, pawl.KindUsage, `"second" is ambiguous: 2 runs match`)
	_, err = runs.FindRun(t.Context(), p.Project, "absent")
	p.WantKind(err, pawl.KindNothing)
	if got, err := runs.FindUnfinished(t.Context(), p.Project, p.Path("plan.yaml")); got != third || err != nil {
		t.Errorf("unfinished %s, %v", got, err)
	}
	p.Check(os.Remove(filepath.Join(p.RunDir(first), "journal.jsonl")))
	_, err = runs.FindRun(t.Context(), p.Project, "first")
	p.WantKind(err, pawl.KindDamaged, "the journal of run "+string(first)+" is missing")
}

// The run to continue is the one that FindRun returns.
func TestLoadNamedToContinue(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	loads := func(name string, want pawl.RunID) {
		t.Helper()
		if found, err := runs.FindRun(t.Context(), p.Project, name); err != nil || found != want {
			t.Errorf("%q: found %s, %v, want %s", name, found, err, want)
		}
		r, err := runs.LoadNamedToContinue(t.Context(), p.Project, name)
		if err != nil || r.State.Run != want {
			t.Fatalf("%q: %v, want %s", name, err, want)
		}
		p.Check(r.Log.Close())
	}
	_, err := runs.LoadNamedToContinue(t.Context(), p.Project, "")
	p.WantKind(err, pawl.KindNothing)
	open := p.Create(twoSteps)
	loads("", open)
	p.Check(p.Do(strings.Replace(twoSteps, "demo", "ended", 1)))
	ended := p.Run
	loads("", open)
	loads(string(ended), ended)
	newest := p.Create(strings.Replace(twoSteps, "demo", "newest", 1))
	loads("", newest)
	loads("demo", open)
	session := pawl.NewRunID("session", time.Now().Add(time.Hour), "0000")
	log, err := journal.Create(p.Runs(), session)
	p.Check(err)
	created, err := redact.OfProcess().Event(pawl.Author{Kind: pawl.ByAgent}, pawl.RunCreated{Format: pawl.Format, Run: session, Project: p.ID, Kind: pawl.SessionRun, Name: "session"})
	p.Check(err)
	_, err = log.Append(t.Context(), 0, created)
	p.Check(errors.Join(err, log.Close()))
	loads("", newest)
	p.Check(os.WriteFile(filepath.Join(p.RunDir(newest), "journal.jsonl"), []byte("damage\n"), 0o600))
	_, err = runs.LoadNamedToContinue(t.Context(), p.Project, "")
	p.WantKind(err, pawl.KindDamaged, string(newest))
	p.Check(os.RemoveAll(p.RunDir(newest)))
}

// A run that is carried on is the one that is meant.
func TestFindRunThatAnEngineWorksOn(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	e := p.Start("name: demo\nsteps: [{id: a, run: 'until test -e go; do sleep 0.02; done'}]\n")
	live := p.Run
	p.UntilEvent("attempt.started", 1)
	p.Create(strings.Replace(twoSteps, "demo", "later", 1))
	if got, err := runs.FindRun(t.Context(), p.Project, ""); got != live {
		t.Errorf("%s, %v, want %s", got, err, live)
	}
	p.Write("go", "")
	p.Check(e.Wait())
}

// Snapshots may be all that is left of a run.
func TestRunOfWhichOnlySnapshotsAreLeft(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.Check(p.Do(twoSteps))
	gone := p.Run
	p.Check(os.RemoveAll(p.RunDir(gone)))
	_, err := runs.FindRun(t.Context(), p.Project, string(gone))
	p.WantKind(err, pawl.KindNothing, "unknown run; but snapshots of run "+string(gone)+" exist")
	records, err := runs.OpenSnapshotRecords(t.Context(), p.Project, config.Snapshots{})
	p.Check(err)
	defer records.Close()
	if ids := records.Runs(); len(ids) != 1 || ids[0] != gone {
		t.Errorf("runs %v", ids)
	}
}

func TestArchive(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	var all []pawl.RunID
	for _, name := range []string{"first", "second", "third"} {
		p.Check(p.Do(strings.Replace(twoSteps, "demo", name, 1)))
		all = append(all, p.Run)
	}
	done, err := runs.ArchiveRuns(t.Context(), p.Project, runs.ArchiveOptions{Keep: 9})
	p.Check(err)
	if len(done.Moved) != 2 || slices.Contains(done.Moved, all[2]) {
		t.Errorf("archived %v, want all but the newest", done.Moved)
	}
	done, err = runs.ArchiveRuns(t.Context(), p.Project, runs.ArchiveOptions{Runs: all[2:], Keep: 1, Delete: true})
	p.Check(err)
	if len(done.Deleted)+len(done.Due) != 2 || slices.Contains(done.Deleted, all[2]) {
		t.Errorf("deleted %v, due %v", done.Deleted, done.Due)
	}
	left, err := runs.ArchivedRuns(p.Project)
	p.Check(err)
	if slices.Contains(left, done.Deleted[0]) || !slices.Contains(left, all[2]) {
		t.Errorf("left %v", left)
	}
	r, err := runs.LoadArchived(t.Context(), p.Project, all[2])
	p.Check(err)
	p.Check(r.Log.Close())
}

// A run of which something still runs stays where it is.
func TestArchiveRefusesWhatRuns(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	working(p)
	_, err := runs.ArchiveRuns(t.Context(), p.Project, runs.ArchiveOptions{Runs: []pawl.RunID{p.Run}})
	p.WantKind(err, pawl.KindHeld, "attempt 1 of a is still running, in run "+string(p.Run))
	p.Write(relative(p, filepath.Join(p.RunDir(p.Run), "plan.yaml")), "damaged")
	p.Write("plan.yaml", "damaged too")
	_, err = runs.ArchiveRuns(t.Context(), p.Project, runs.ArchiveOptions{Runs: []pawl.RunID{p.Run}})
	p.WantKind(err, pawl.KindHeld)
}

// A run is made in another one's place.
func TestCreateInstead(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	old := p.Create(twoSteps)
	r, err := runs.Load(t.Context(), p.Project, old)
	p.Check(err)
	p.Check(r.Log.Close())
	n := runs.CreateOptions{Kind: pawl.PlanRun, Plan: r.Plan, Data: []byte(twoSteps), Replaces: old}
	made, err := runs.Create(t.Context(), p.Project, n)
	p.Check(err)
	all, err := runs.List(p.Project)
	p.Check(err)
	aside, err := runs.ArchivedRuns(p.Project)
	p.Check(err)
	if !slices.Equal(all, []pawl.RunID{made}) || !slices.Equal(aside, []pawl.RunID{old}) {
		t.Errorf("runs %v, archived %v", all, aside)
	}
}

// What attempts have running is found, with its proof; what lost ones left is ended.
func TestProcesses(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	working(p)
	found, err := runs.Processes(p.Project, p.State())
	p.Check(err)
	if len(found) == 0 || found[0].Step != "a" || !found[0].Supervised() || !contains(found[0].String(), "of a, attempt 1, running for ") {
		t.Errorf("found %+v", found)
	}
	live := p.State().Live()[0]
	dir := p.AttemptDir(live.AttemptRef, p.Run)
	p.Check(supervise.Kill(dir))
	p.Check(supervise.Attach(dir).Wait(t.Context()))
	var left []string
	left, err = runs.Leftovers(p.Project, p.Run, p.State())
	p.Check(err)
	if !slices.ContainsFunc(left, func(line string) bool { return strings.Contains(line, "sleep") }) {
		t.Errorf("left %v", left)
	}
	found, err = runs.Processes(p.Project, p.State())
	p.Check(err)
	ended, unproven, err := runs.EndProcesses(found)
	p.Check(err)
	if ended == 0 || len(unproven) != 0 {
		t.Errorf("ended %d, unproven %v", ended, unproven)
	}
	if found, err = runs.Processes(p.Project, p.State()); err != nil || len(found) != 0 {
		t.Errorf("still there: %v, %v", found, err)
	}
}

// A supervisor whose attempt has ended in the journal is an orphan, and can be ended.
func TestUnattendedProcesses(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	working(p)
	live := p.State().Live()[0]
	ended := p.State().Clone()
	ended.Steps["a"].Retries.Live = nil
	found, err := runs.Processes(p.Project, ended)
	p.Check(err)
	if len(found) == 0 || found[0].Supervised() || !found[0].Unattended {
		t.Fatalf("found %+v", found)
	}
	n, left, err := runs.EndProcesses(found)
	p.Check(err)
	if status, err := supervise.Probe(p.AttemptDir(live.AttemptRef, p.Run)); n == 0 || len(left) != 0 || err != nil || status.State != supervise.Ended {
		t.Errorf("ended %d, left %v, status %+v, %v", n, left, status, err)
	}
}

// An engine can be killed by another pawl, but only where it is proven which process it is.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	if holder, err := runs.TakeOver(t.Context(), p.Project); err != nil || holder.PID != 0 {
		t.Errorf("nobody is there: %v, %v", holder, err)
	}
	p.Create("name: demo\nsteps: [{id: a, run: 'touch begun; until test -e go; do sleep 0.02; done'}]\n")
	gone := make(chan bool)
	go func() { gone <- p.KilledAt("attempt.heartbeat", 1) }()
	p.Until("the step has begun", func() bool { return p.Exists("begun") })
	holder, err := runs.TakeOver(t.Context(), p.Project)
	p.Check(err)
	if holder.Run != p.Run || !<-gone {
		t.Errorf("the engine was not ended: %+v", holder)
	}
	p.Write("go", "")
	p.Check(p.GoOn())
	own, err := p.LockEngine(project.Holder{PID: os.Getpid()})
	p.Check(err)
	_, err = runs.TakeOver(t.Context(), p.Project)
	p.WantKind(err, pawl.KindHeld, "and it cannot be killed: the lock's record is inconsistent")
	p.Check(own.Unlock())
}

// What a process of an attempt says.
func TestStepClient(t *testing.T) {
	t.Parallel()
	if runs.StepClientOf(func(string) string { return "" }) != nil {
		t.Error("an attempt without its environment")
	}
	dir := filepath.Join(t.TempDir(), ".pawl/runs/r/steps/a/x/2")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{
		"PAWL_EVENTS": filepath.Join(dir, "events.jsonl"), "PAWL_RESULT": filepath.Join(dir, "result.json"), "PAWL_STEP": "a", "PAWL_ITEM_ID": "x",
		"PAWL_ATTEMPT": "2", "PAWL_TOKEN": "t", "PAWL_RUN": "r", "PAWL_PROJECT": "p",
	}
	c := runs.StepClientOf(func(name string) string { return env[name] })
	if want := (pawl.AttemptRef{Step: "a", Item: "x", Attempt: 2, Token: "t"}); c.Attempt != want || c.Run != "r" || c.Project != "p" {
		t.Errorf("client %+v", c)
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(c.Report(pawl.Line{Item: &pawl.ItemNamed{Item: "one", Status: pawl.ItemIsDone}}))
	if items := c.Items(); len(items) != 1 || items[0].Item != "one" {
		t.Errorf("items %+v", items)
	}
	if err := c.Report(pawl.Line{Learn: &pawl.Memory{Text: strings.Repeat("x", runs.MaxEventLine)}}); pawl.KindOf(err) != pawl.KindUsage {
		t.Errorf("a long line: %v", err)
	}
	action := pawl.GateAction{Type: pawl.HumanVerify, Ask: "Right?"}
	gate, err := c.OpenGate(action)
	check(err)
	if gate.Step != "a" || gate.Item != "x" || gate.ID == "" {
		t.Errorf("gate %+v", gate)
	}
	check(c.MarkWaiting(action))
	if r, err := runs.ReadResult(dir); r == nil || err != nil || r.Status != pawl.ResultWaiting {
		t.Errorf("the result is %+v, %v", r, err)
	}
	check(c.ClearWaiting(pawl.GateAction{Ask: "Another?"}))
	if _, err := os.Stat(env["PAWL_RESULT"]); err != nil {
		t.Error("the result went although it waits for something else")
	}
	check(c.ClearWaiting(action))
	if _, err := os.Stat(env["PAWL_RESULT"]); err == nil {
		t.Error("the result still waits")
	}
	env["PAWL_RESULT"] = ""
	if err := runs.StepClientOf(func(name string) string { return env[name] }).MarkWaiting(action); pawl.KindOf(err) != pawl.KindUsage {
		t.Errorf("without a result file: %v", err)
	}
}

// TestStepClientElsewhere: variables that name other files than those of an attempt are ignored.
func TestStepClientElsewhere(t *testing.T) {
	t.Parallel()
	const dir = "/p/.pawl/runs/r/steps/a/1/"
	for _, events := range []string{
		"/home/u/.bashrc", "events.jsonl", dir + "out.log", dir + "../events.jsonl", "/p/.pawl/runs/r/events.jsonl", "/p/.pawl/runs/../../steps/a/1/events.jsonl",
		"p/.pawl/runs/r/steps/a/1/events.jsonl", "/p/.pawl/runs/r/steps/a/b/c/1/events.jsonl",
	} {
		if c := runs.StepClientOf(func(name string) string { return map[string]string{"PAWL_EVENTS": events}[name] }); c != nil {
			t.Errorf("%s: %+v", events, c)
		}
	}
	for _, result := range []string{"/home/u/.bashrc", dir + "out.log", "/p/.pawl/runs/r/steps/b/1/result.json"} {
		env := map[string]string{"PAWL_EVENTS": dir + "events.jsonl", "PAWL_RESULT": result}
		err := runs.StepClientOf(func(name string) string { return env[name] }).MarkWaiting(pawl.GateAction{Type: pawl.HumanVerify, Ask: "?"})
		if err == nil || !strings.Contains(err.Error(), "PAWL_RESULT") {
			t.Errorf("%s: %v", result, err)
		}
	}
}

// What a step says of itself is cut to what the journal takes.
func TestReadResult(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 5000)
	for name, c := range map[string]struct{ text, why string }{
		"long":      {`{"status":"blocked","summary":"` + long + `","blockers":["` + long + `"],"memory":[{"text":"` + long + `"}],"items":[{"title":"` + long + `"}],"gate":{"ask":"` + long + `"}}`, ""},
		"too long":  {`{"status":"done","summary":"` + strings.Repeat("x", 1<<20) + `"}`, "result.json: larger than 1048576 bytes"},
		"too large": {`{"status":"done","items":[{"item":"one","outputs":["` + strings.Repeat("x", 200<<10) + `"]}]}`, "result.json"},
		"malformed": {`{`, "result.json"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, pawl.ResultFile), []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := runs.ReadResult(dir)
		if c.why == "" && (err != nil || len(r.Summary) > 2100 || len(r.Gate.Ask) > 2100) || c.why != "" && (err == nil || !contains(err.Error(), c.why)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestListValues(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, text := range map[string]string{"lines": "a\r\n\n b\n", "twice": "a\na\n", "long": strings.Repeat("x", 5000), "in/1.txt": "", "in/2.txt": ""} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "theirs"), []byte("key\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"inner": "lines", "outer": filepath.Join(other, "theirs"), "folder": other, "up": "..", "device": "/dev/zero"} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	const outside = " leads out of the project, to "
	for name, c := range map[string]struct {
		list pawl.Foreach
		want string
		why  string
	}{
		"inner":  {pawl.Foreach{Lines: "inner"}, "a, b", ""},
		"outer":  {pawl.Foreach{Lines: "outer"}, "", "item list: outer" + outside + filepath.Join(other, "theirs") + "; replace the link by a copy of that file"},
		"folder": {pawl.Foreach{Lines: "folder/theirs"}, "", "item list: folder/theirs" + outside},
		"up":     {pawl.Foreach{Lines: "up/" + filepath.Base(other) + "/theirs"}, "", outside},
		"device": {pawl.Foreach{Lines: "device"}, "", "item list: device" + outside + "/dev/zero"},

		"items": {pawl.Foreach{Items: []string{"x", "y"}}, "x,y", ""},
		"lines": {pawl.Foreach{Lines: "lines"}, "a, b", ""},
		"files": {pawl.Foreach{Files: "in/*.txt"}, "in/1.txt,in/2.txt", ""},
		"twice": {pawl.Foreach{Lines: "twice"}, "", `item list: value 2, "a", is a duplicate of value 1; values must be unique`},
		"long":  {pawl.Foreach{Lines: "long"}, "", "item list: value 1 has 5000 bytes; the maximum is 4096"},
		"none":  {pawl.Foreach{Lines: "absent"}, "", "item list: open "},
	} {
		values, err := runs.ListValues(root, &pawl.Step{Foreach: &c.list})
		if got := strings.Join(values, ","); got != c.want || (err != nil) != (c.why != "") || err != nil && !contains(err.Error(), c.why) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
