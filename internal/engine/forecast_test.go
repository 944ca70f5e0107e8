package engine_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pawl"
	"pawl/internal/decide"
	"pawl/internal/engine"
	"pawl/internal/engine/enginetest"
	"pawl/internal/history"
	"pawl/internal/planfile"
	"pawl/internal/project"
	"pawl/internal/resume"
	"pawl/internal/runs"
	"pawl/test/cases"
)

// TestForecastIsWhatResumeDoes compares what `pawl why` and `pawl resume --dry-run` print with what resume then does, for
// random plans with conditions, services, foreach steps, gates and handlers, for deaths of engines and steps, acts of a person, and
// edits of plan, inputs, outputs and lists. No process is started. To run 10,000 cases: make torture-forecast.
func TestForecastIsWhatResumeDoes(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	if memory, err := os.MkdirTemp("/dev/shm", "pawl-forecast-"); err == nil { // no disk to wait for
		parent = memory
		t.Cleanup(func() { os.RemoveAll(memory) })
	}
	for worker := range forecastWorkers() {
		t.Run(fmt.Sprint(worker), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(r *rapid.T) {
				randomModel(r, parent, (*model).compare)
			})
		})
	}
}

// TestForecastIsWhatUpdateDoes compares what `pawl run --update --dry-run` prints with what `pawl run --update` then does, in
// the same way. A new run that completes leaves nothing to do.
func TestForecastIsWhatUpdateDoes(t *testing.T) {
	t.Parallel()
	for worker := range forecastWorkers() {
		t.Run(fmt.Sprint(worker), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(r *rapid.T) {
				randomModel(r, t.TempDir(), (*model).compareUpdate)
			})
		})
	}
}

// forecastWorkers returns how many random tests run side by side: they wait more than they work.
func forecastWorkers() int {
	if cases.All() {
		return 4
	}
	return 1
}

// modelStep is a step of a random plan.
type modelStep struct {
	id                                  string
	needs                               []string
	text                                string // what it does; "same" outputs do not depend on it
	list, input, perItem, output, check bool
	same, unsafe, gate, service         bool
	tolerant                            bool
	condition                           string // a format for the id of a step that it needs
	on                                  string // that id
	tries                               int
}

// modelConditions are conditions over a step that the step with the condition needs.
var modelConditions = []string{
	"", "", "", "", "steps.%s.status == 'done'", "steps.%s.status == 'failed'", "steps.%s.status != 'skipped'", "failure()", "always()", "1 > 2",
	"success() && steps.%s.exit <= 0", "steps.%s.summary == 'none'", "always() && steps.%s.status == 'skipped'", "failure() || steps.%s.status == 'failed'",
}

// drawCondition draws the condition of a step.
func (m *model) drawCondition(s *modelStep) {
	s.condition, s.on = rapid.SampledFrom(modelConditions).Draw(m.T, "condition"), ""
	if len(s.needs) > 0 {
		s.on = rapid.SampledFrom(s.needs).Draw(m.T, "of")
	}
}

// conditionText returns the condition, "" if the step does not need the step in it any more.
func (s modelStep) conditionText() string {
	if !strings.Contains(s.condition, "%s") {
		return s.condition
	}
	if !slices.Contains(s.needs, s.on) {
		return ""
	}
	return fmt.Sprintf(s.condition, s.on)
}

func (s modelStep) yaml(serves bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  - {id: %s, needs: [%s], retry: {attempts: %d, backoff: 1ms}", s.id, strings.Join(s.needs, ", "), s.tries)
	if text := s.conditionText(); text != "" {
		fmt.Fprintf(&b, ", if: %q", text)
	}
	if s.gate {
		return b.String() + fmt.Sprintf(", gate: {type: human_verify, ask: '%s'}}\n", s.text)
	}
	if s.tolerant {
		b.WriteString(", continue_on_error: true")
	}
	fmt.Fprintf(&b, ", run: '%s'", s.text)
	if serves {
		b.WriteString(", service: {}")
		if s.input {
			fmt.Fprintf(&b, ", inputs: [in-%s.txt]", s.id)
		}
		return b.String() + "}\n"
	}
	item := ""
	if s.list {
		fmt.Fprintf(&b, ", foreach: {lines: list-%s.txt}", s.id)
		item = "-$PAWL_ITEM"
	}
	var inputs []string
	if s.input {
		inputs = append(inputs, "in-"+s.id+".txt")
	}
	if s.perItem && s.list {
		inputs = append(inputs, "in-"+s.id+item+".txt")
	}
	if len(inputs) > 0 {
		fmt.Fprintf(&b, ", inputs: [%s]", strings.Join(inputs, ", "))
	}
	if s.output {
		fmt.Fprintf(&b, ", outputs: [out-%s%s.txt]", s.id, item)
	}
	if s.check {
		fmt.Fprintf(&b, ", accept: {right: '%s'}", s.text)
	}
	if s.unsafe {
		b.WriteString(", idempotent: false")
	}
	return b.String() + "}\n"
}

// features are what a plan has in addition to foreach steps, gates and inputs. Most plans have all of them.
type features struct {
	conditions bool // and continue_on_error
	services   bool
	handlers   bool // on_success and on_failure
}

// model is a random project.
type model struct {
	*rapid.T
	features
	p     *project.Project
	steps []modelStep
	mode  string
	ends  map[pawl.StepID]string // scripts of handlers
	lists map[string][]string
	run   pawl.RunID
	cfg   engine.Config
	world *enginetest.InProcess
	next  int // number of the next step or item that is added
}

func (m *model) check(err error) {
	m.Helper()
	if err != nil {
		m.Fatal(err)
	}
}

func (m *model) one(label string, of int) bool { return rapid.IntRange(1, of).Draw(m.T, label) == 1 }

func (m *model) write(name, text string) {
	m.Helper()
	m.check(os.WriteFile(filepath.Join(m.p.Root, name), []byte(text), 0o600))
}

func (m *model) plan() string {
	var b strings.Builder
	fmt.Fprintf(&b, "name: p\nmode: %s\nparallel: 3\n", m.mode)
	for _, id := range handlerIDs {
		if m.ends[id] != "" {
			fmt.Fprintf(&b, "%s: {run: '%s', retry: {attempts: 2, backoff: 1ms}}\n", id, m.ends[id])
		}
	}
	b.WriteString("steps:\n")
	for _, s := range m.steps {
		used := slices.ContainsFunc(m.steps, func(user modelStep) bool { return slices.Contains(user.needs, s.id) })
		b.WriteString(s.yaml(s.service && used))
	}
	return b.String()
}

// handlerIDs are the steps of the handlers.
var handlerIDs = []pawl.StepID{pawl.OnSuccess, pawl.OnFailure}

// drawHandler adds or edits a handler, or removes it.
func (m *model) drawHandler(id pawl.StepID) {
	m.ends[id] = rapid.SampledFrom([]string{"", "report", "report again"}).Draw(m.T, string(id))
}

func (m *model) drawStep(before []modelStep) modelStep {
	m.next++
	s := modelStep{id: fmt.Sprintf("s%d", m.next), text: fmt.Sprintf("do %d", m.next), tries: rapid.IntRange(1, 2).Draw(m.T, "tries")}
	for _, b := range before {
		if m.one("needs "+b.id, 2) {
			s.needs = append(s.needs, b.id)
		}
	}
	s.gate, s.service = m.one("gate", 8), m.services && m.one("service", 4)
	s.list, s.input, s.perItem = m.one("list", 3), m.one("input", 3), m.one("per item", 2)
	s.output, s.check, s.same, s.unsafe = m.one("output", 2), m.one("check", 4), m.one("same", 2), m.one("unsafe", 5)
	if m.conditions {
		s.tolerant = m.one("tolerant", 4)
		m.drawCondition(&s)
	}
	if s.service { // a plan edit may make it one, or an ordinary step
		s.gate, s.list, s.unsafe = false, false, false
	}
	m.write("in-"+s.id+".txt", "first")
	if s.list {
		m.lists[s.id] = nil
		for range rapid.IntRange(0, 3).Draw(m.T, "items") {
			m.addItem(s.id)
		}
		m.writeList(s.id)
	}
	return s
}

func (m *model) addItem(id string) {
	m.next++
	item := fmt.Sprintf("i%d", m.next)
	m.lists[id] = append(m.lists[id], item)
	m.write("in-"+id+"-"+item+".txt", "first")
}

func (m *model) writeList(id string) {
	m.write("list-"+id+".txt", strings.Join(append(slices.Clone(m.lists[id]), ""), "\n"))
}

// work does what an attempt does: it writes the step's outputs.
func (m *model) work(job pawl.Job) error {
	text, paths := job.Script, job.Outputs
	if i := slices.IndexFunc(m.steps, func(s modelStep) bool { return s.id == string(job.Step) }); i >= 0 {
		if m.steps[i].same {
			text = "same"
		}
		name := "out-" + strings.TrimSuffix(string(job.Step)+"-"+string(job.Item), "-") + ".txt"
		paths = append(paths, name) // also of an attempt that began when the step did not declare it
	}
	for _, path := range paths {
		if err := os.WriteFile(filepath.Join(job.Root, path), fmt.Appendf(nil, "%x\n", sha256.Sum256([]byte(text+path))), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// randomModel runs a random plan, has a person act, edits something, and compares.
func randomModel(r *rapid.T, parent string, compare func(*model)) {
	folder, err := os.MkdirTemp(parent, "")
	if err != nil {
		r.Fatal(err)
	}
	defer os.RemoveAll(folder)
	p, err := project.Init(folder)
	if err != nil {
		r.Fatal(err)
	}
	m := &model{T: r, p: p, lists: map[string][]string{}, ends: map[pawl.StepID]string{}, world: &enginetest.InProcess{}, mode: "guided"}
	m.features = features{conditions: !m.one("no conditions", 4), services: !m.one("no services", 4), handlers: !m.one("no handlers", 4)}
	defer m.world.Close()
	defer m.world.Release()
	m.world.Work = m.work
	m.cfg = engine.Config{Project: p, Start: m.world.Start}
	m.cfg.Snapshots.Off = true
	if m.one("hands on", 10) {
		m.mode = "hands_on"
	}
	for range rapid.IntRange(1, 5).Draw(r, "steps") {
		m.steps = append(m.steps, m.drawStep(m.steps))
	}
	if m.handlers {
		m.drawHandler(pawl.OnSuccess)
		m.drawHandler(pawl.OnFailure)
	}
	m.begin()
	m.change()
	if m.one("a second time", 3) {
		m.again()
		m.change()
	}
	compare(m)
}

// change has a person act, and edits something.
func (m *model) change() {
	for range rapid.IntRange(0, 2).Draw(m.T, "acts") {
		m.act()
	}
	for range rapid.IntRange(0, 3).Draw(m.T, "edits") {
		m.edit()
	}
	m.write("plan.yaml", m.plan())
}

// again resumes the run, with the luck of a run.
func (m *model) again() {
	r := m.load()
	diff, err := resume.DiffPlan(m.p, r, pawl.GivenValues{})
	m.check(err)
	ends := r.State.Ended() && !diff.Reopens()
	m.check(r.Log.Close())
	if !ends {
		m.tempt()
		m.resume(diff)
	}
}

// tempt draws what happens to the attempts of the next engine.
func (m *model) tempt() {
	fates := []enginetest.Fate{enginetest.Succeeds, enginetest.Fails, enginetest.Loses, enginetest.Holds, enginetest.DiesAfter, enginetest.DiesFirst}
	luck := rapid.SliceOfN(rapid.SampledFrom([]int{0, 0, 0, 0, 0, 0, 1, 1, 2, 3, 4, 5}), 40, 40).Draw(m.T, "luck")
	started := 0
	m.world.Fate = func(string, pawl.Job) enginetest.Fate {
		if started++; started > len(luck) {
			return enginetest.Succeeds
		}
		return fates[luck[started-1]]
	}
}

// begin runs the plan until it ends, waits, or its engine dies.
func (m *model) begin() {
	data := []byte(m.plan())
	m.write("plan.yaml", string(data))
	plan, err := planfile.Read("plan.yaml", data)
	m.check(err)
	m.tempt()
	e, err := engine.OpenNew(m.Context(), m.cfg, runs.CreateOptions{Kind: pawl.PlanRun, Plan: plan, Data: data, Source: filepath.Join(m.p.Root, "plan.yaml"), Version: "test"})
	m.check(err)
	m.run = e.State().Run
	m.runEngine(e)
}

// endless is how long no engine runs in these tests.
const endless = time.Minute

// runEngine runs an engine to its end.
func (m *model) runEngine(e *engine.Engine) {
	m.Helper()
	ctx, cancel := context.WithTimeout(m.Context(), endless)
	defer cancel()
	err := e.Run(ctx, ctx, "test")
	if ctx.Err() != nil {
		m.Fatalf("the engine did not end: %v\nplan:\n%s\nevents: %v", errors.Join(err, e.Close()), m.plan(), m.story())
	}
	if err != nil && !errors.Is(err, enginetest.ErrDied) && pawl.KindOf(err) != pawl.KindAtGate && pawl.KindOf(err) != pawl.KindRunFailed {
		m.Fatal(err)
	}
	m.check(e.Close())
}

func (m *model) load() *runs.Run {
	m.Helper()
	r, err := runs.Load(m.Context(), m.p, m.run)
	m.check(err)
	return r
}

// act has a person do something; what is refused changes nothing.
func (m *model) act() {
	r := m.load()
	step := pawl.StepID(m.steps[rapid.IntRange(0, len(m.steps)-1).Draw(m.T, "step")].id)
	acts := []runs.Act{runs.Retry(step, ""), runs.Skip(step, nil, ""), runs.Done(step, nil, ""), runs.Pause("")}
	if items := m.lists[string(step)]; len(items) > 0 {
		item := rapid.SampledFrom(items).Draw(m.T, "item")
		acts = append(acts, runs.Skip(step, []string{item}, ""), runs.Done(step, []string{item}, ""))
	}
	if open := r.State.OpenGates(); len(open) > 0 {
		acts = append(acts, runs.Choose(open[0].ID, runs.TookEffect, ""), runs.Approve(open[0].ID, ""), runs.Reject(open[0].ID, "again", false), runs.Reject(open[0].ID, "no", true))
	}
	_ = r.Perform(m.Context(), m.p, pawl.Author{Kind: pawl.ByPerson}, rapid.SampledFrom(acts).Draw(m.T, "act"))
	m.check(r.Log.Close())
}

// edit changes the plan or a file.
func (m *model) edit() {
	at := rapid.IntRange(0, len(m.steps)-1).Draw(m.T, "edited")
	s := &m.steps[at]
	switch rapid.IntRange(0, 13).Draw(m.T, "edit") {
	case 0:
		s.text += "!"
	case 1:
		s.check = !s.check
	case 2:
		s.unsafe = !s.unsafe && !s.service
	case 3:
		s.output = !s.output
	case 4:
		if len(s.needs) > 0 {
			s.needs = s.needs[1:]
		}
	case 5:
		m.steps = append(m.steps, m.drawStep(m.steps))
	case 6:
		m.remove(at)
	case 7:
		m.write("in-"+s.id+".txt", rapid.SampledFrom([]string{"first", "second"}).Draw(m.T, "content"))
	case 8:
		m.editOutput(*s)
	case 9:
		if s.list {
			m.editList(s.id)
		}
	case 10:
		if m.conditions {
			m.drawCondition(s)
		}
	case 11:
		s.tolerant = m.conditions && !s.tolerant
	case 12:
		if m.handlers {
			m.drawHandler(rapid.SampledFrom(handlerIDs).Draw(m.T, "handler"))
		}
	case 13:
		if s.service = m.services && !s.service; s.service {
			s.gate, s.list, s.unsafe = false, false, false
		}
	}
}

func (m *model) remove(at int) {
	id := m.steps[at].id
	m.steps = slices.Delete(m.steps, at, at+1)
	for i := range m.steps {
		m.steps[i].needs = slices.DeleteFunc(m.steps[i].needs, func(n string) bool { return n == id })
	}
	if len(m.steps) == 0 {
		m.steps = append(m.steps, m.drawStep(nil))
	}
}

func (m *model) editOutput(s modelStep) {
	names, err := filepath.Glob(filepath.Join(m.p.Root, "out-"+s.id+"*.txt"))
	m.check(err)
	for _, name := range names {
		if m.one("delete", 2) {
			m.check(os.Remove(name))
		} else {
			m.check(os.WriteFile(name, []byte("mine"), 0o600))
		}
	}
}

func (m *model) editList(id string) {
	items := m.lists[id]
	if len(items) > 0 && m.one("item input", 3) {
		m.write("in-"+id+"-"+rapid.SampledFrom(items).Draw(m.T, "item")+".txt", "second")
		return
	}
	if len(items) > 0 && m.one("shrink", 2) {
		at := rapid.IntRange(0, len(items)-1).Draw(m.T, "drop")
		m.lists[id] = slices.Delete(items, at, at+1)
	} else {
		m.addItem(id)
	}
	m.writeList(id)
}

// compare forecasts, resumes, and compares.
func (m *model) compare() {
	r := m.load()
	diff, err := resume.DiffPlan(m.p, r, pawl.GivenValues{})
	m.check(err)
	interrupted, err := resume.Interrupted(m.p, r, diff)
	m.check(err)
	told, err := decide.Forecast(r, diff, interrupted, time.Now(), func(command string) string { return command })
	m.check(err)
	seq := r.State.Seq
	ends := r.State.Ended() && !diff.Reopens()
	m.check(r.Log.Close())
	if !ends {
		m.world.Fate = func(string, pawl.Job) enginetest.Fate { return enginetest.Succeeds }
		m.resume(diff)
	}
	m.require(told, m.since(seq))
}

// require fails the case if what was done differs from what was said.
func (m *model) require(told []decide.Decision, done *deeds) {
	m.Helper()
	for _, x := range told {
		if why := done.differs(x, told, m); why != "" {
			m.Fatalf("%s %s (%s, items %v, unless %v), but %s\nall: %+v\nplan:\n%s\nevents: %v", x.Do, x.Step, x.Why, x.ByItem, x.Unless, why, told, m.plan(), m.story())
		}
	}
	if id := done.unsaid(told); id != "" {
		m.Fatalf("nothing about %s, but it ran\nall: %+v\nplan:\n%s\nevents: %v", id, told, m.plan(), m.story())
	}
	if done.after.Status == pawl.StatusCompleted {
		m.requireFresh(done.after)
	}
}

// requireFresh fails the case if a finished step did not see the last outputs of a step that it needs, directly or through
// steps that gave nothing of their own.
func (m *model) requireFresh(s *pawl.State) {
	m.Helper()
	began, gave := map[pawl.StepID]pawl.Seq{}, map[pawl.StepID][]pawl.StepDone{}
	at := map[pawl.StepID][]pawl.Seq{}
	m.events(func(e pawl.Event) {
		payload, err := e.Payload()
		m.check(err)
		switch x := payload.(type) {
		case pawl.AttemptStarted:
			if x.Item == "" {
				began[x.Step] = e.Seq
			}
		case pawl.StepListed:
			if x.From == 0 {
				began[x.Step] = e.Seq
			}
		case pawl.StepDone:
			gave[x.Step], at[x.Step] = append(gave[x.Step], x), append(at[x.Step], e.Seq)
		}
	})
	for _, step := range m.steps {
		id := pawl.StepID(step.id)
		if st := s.Steps[id]; st == nil || st.Status != pawl.Done || step.gate || step.service || len(gave[id]) == 0 || began[id] == 0 || strings.Contains(st.Adopted, "by a person") {
			continue
		}
		for need := range m.behind(s, id, map[pawl.StepID]bool{}) {
			var seen *pawl.StepDone
			for i := range gave[need] {
				if at[need][i] < began[id] {
					seen = &gave[need][i]
				}
			}
			if last := len(gave[need]) - 1; seen != nil && m.what(*seen) != m.what(gave[need][last]) {
				m.Fatalf("step %s is done with outputs of %s that are not the last\nplan:\n%s\nevents: %v", id, need, m.plan(), m.story())
			}
		}
	}
}

// what says what a finished step gives to others: its outputs, or that it ran for other reasons.
func (m *model) what(done pawl.StepDone) string {
	if slices.ContainsFunc(m.steps, func(s modelStep) bool { return s.id == string(done.Step) && s.output }) {
		return fmt.Sprint(done.Outputs, done.Digest)
	}
	return fmt.Sprint(done.Key)
}

// behind returns the finished steps whose outputs a step sees.
func (m *model) behind(s *pawl.State, id pawl.StepID, seen map[pawl.StepID]bool) map[pawl.StepID]bool {
	all := map[pawl.StepID]bool{}
	for _, step := range m.steps {
		if step.id != string(id) || seen[id] {
			continue
		}
		for _, need := range step.needs {
			switch st := s.Steps[pawl.StepID(need)]; {
			case st == nil || m.serves(pawl.StepID(need)):
			case st.Status == pawl.Done:
				all[pawl.StepID(need)] = true
			default:
				maps.Copy(all, m.behind(s, pawl.StepID(need), seen))
			}
		}
	}
	seen[id] = true
	return all
}

// compareUpdate forecasts a new run that adopts what is up to date, starts it, and compares.
func (m *model) compareUpdate() {
	old := m.load()
	if len(old.State.Live()) > 0 { // pawl run refuses
		m.check(old.Log.Close())
		return
	}
	update := m.planUpdate(old)
	m.check(old.Log.Close())
	told, err := decide.ForecastUpdate(update, time.Now(), func(command string) string { return command })
	m.check(err)
	if update.UpToDate {
		if i := slices.IndexFunc(told, func(x decide.Decision) bool { return x.Do != decide.Skip }); i >= 0 {
			m.Fatalf("nothing to do, but %+v", told[i])
		}
		return
	}
	m.world.Revive()
	m.world.Fate = func(string, pawl.Job) enginetest.Fate { return enginetest.Succeeds }
	data := []byte(m.plan())
	e, err := engine.OpenNew(m.Context(), m.cfg, runs.CreateOptions{
		Kind: pawl.PlanRun, Plan: update.Plan(), Data: data, Source: filepath.Join(m.p.Root, "plan.yaml"), Version: "test",
		Adopt: func() ([]pawl.Payload, error) { return update.Adopt(), nil },
	})
	m.check(err)
	m.run = e.State().Run
	seq := e.State().Seq
	m.check(e.Adopt(m.Context(), update.Diff(update.Plan()), pawl.Author{}))
	go m.world.Release()
	m.runEngine(e)
	done := m.since(seq)
	m.require(told, done)
	if done.after.Status == pawl.StatusCompleted {
		r := m.load()
		if again := m.planUpdate(r); !again.UpToDate {
			m.Fatalf("after an update: %v\nplan:\n%s\nevents: %v", again.Why, m.plan(), m.story())
		}
		m.check(r.Log.Close())
	}
}

// planUpdate compares a run with the plan.
func (m *model) planUpdate(old *runs.Run) *resume.Update {
	m.Helper()
	plan, err := planfile.Read("plan.yaml", []byte(m.plan()))
	m.check(err)
	update, err := resume.PlanUpdate(m.p, old, plan)
	m.check(err)
	return update
}

// resume resumes the run.
func (m *model) resume(diff *resume.PlanDiff) {
	m.world.Revive()
	e, err := enginetest.Open(m.Context(), m.cfg, m.run)
	m.check(err)
	switch err := e.Adopt(m.Context(), diff, pawl.Author{Kind: pawl.ByPerson}); {
	case errors.Is(err, enginetest.ErrDied): // at the acceptance checks
		m.check(e.Close())
		return
	case err != nil:
		m.Fatal(errors.Join(err, e.Close()))
	}
	var held sync.WaitGroup
	held.Go(m.world.Release)
	m.runEngine(e)
	held.Wait() // an attempt that works reads the model
}

func (m *model) events(each func(pawl.Event)) {
	m.Helper()
	m.check(history.EachEvent(context.WithoutCancel(m.Context()), m.p, m.run, each))
}

func (m *model) story() (words []string) {
	m.events(func(e pawl.Event) { words = append(words, fmt.Sprintf("%d %s %.200s", e.Seq, e.Type, e.Data)) })
	return words
}

// serves reports whether a step is a service.
func (m *model) serves(id pawl.StepID) bool {
	return slices.ContainsFunc(m.steps, func(s modelStep) bool { return s.id == string(id) && s.service })
}

// deeds is what a resume did.
type deeds struct {
	started  map[string]int // "step", or "step/index" → attempts
	finished map[pawl.StepID]bool
	checked  map[pawl.StepID]bool
	reopened map[pawl.StepID]bool
	skipped  map[pawl.StepID]bool // by their conditions
	after    *pawl.State
}

func (m *model) since(seq pawl.Seq) *deeds {
	m.Helper()
	d := &deeds{started: map[string]int{}, finished: map[pawl.StepID]bool{}, checked: map[pawl.StepID]bool{}, reopened: map[pawl.StepID]bool{}, skipped: map[pawl.StepID]bool{}}
	m.events(func(e pawl.Event) {
		if e.Seq <= seq {
			return
		}
		payload, err := e.Payload()
		m.check(err)
		switch x := payload.(type) {
		case pawl.AttemptStarted:
			d.started[string(x.Step)]++
			if x.Item != "" {
				d.started[fmt.Sprintf("%s/%d", x.Step, x.Index)]++
			}
		case pawl.StepDone:
			d.finished[x.Step] = true
		case pawl.StepSkipped:
			d.skipped[x.Step] = true
		case pawl.StepChecked:
			d.checked[x.Step] = true
		case pawl.StepReopened:
			d.reopened[x.Step] = true
		}
	})
	var err error
	d.after, err = runs.LoadState(m.Context(), m.p, m.run)
	m.check(err)
	if d.after.RejectedCount > 0 {
		m.Fatalf("rejected events: %+v\nevents: %v", d.after.RejectedEvents, m.story())
	}
	return d
}

// unsaid returns a handler that ran although no decision is about it, "" if there is none.
func (d *deeds) unsaid(all []decide.Decision) pawl.StepID {
	for _, id := range handlerIDs {
		if d.started[string(id)] > 0 && !d.endsOtherwise(all) && !slices.ContainsFunc(all, func(x decide.Decision) bool { return x.Step == id }) {
			return id
		}
	}
	return ""
}

// endsOtherwise reports whether the end of the run depended on a step whose decision was uncertain.
func (d *deeds) endsOtherwise(all []decide.Decision) bool {
	return slices.ContainsFunc(all, func(x decide.Decision) bool { return d.changedBehind(x, all, map[pawl.StepID]bool{}) })
}

// differs returns how a resume differed from the decision about a step, "" if it did not.
func (d *deeds) differs(x decide.Decision, all []decide.Decision, m *model) string {
	id, started := string(x.Step), d.started[string(x.Step)] > 0
	cut := slices.ContainsFunc(all, func(o decide.Decision) bool { return len(o.ByItem[decide.Fail]) > 0 }) // a step that fails stops the others
	if d.changedBehind(x, all, map[pawl.StepID]bool{}) {
		return "" // what it then gets decides
	}
	switch x.Do {
	case decide.Skip, decide.Recheck:
		st := d.after.Steps[x.Step]
		decided := st != nil && st.Condition != "" // again, by its condition
		settled := strings.Contains(x.Why, "no step needs it")
		if started || !settled && (d.finished[x.Step] || d.reopened[x.Step] && !decided) {
			return "it ran"
		}
		if checks := x.Do == decide.Recheck || strings.Contains(x.Why, "acceptance checks run"); checks != d.checked[x.Step] {
			return fmt.Sprintf("its checks ran: %v", d.checked[x.Step])
		}
	case decide.Run:
		for do, indexes := range x.ByItem {
			for _, index := range indexes {
				if ran := d.started[fmt.Sprintf("%s/%d", id, index)] > 0; ran != (do == decide.Run) && !(cut && !ran) {
					return fmt.Sprintf("item %d, to %s, ran: %v", index, do, ran)
				}
			}
		}
		if !started && !d.finished[x.Step] && !cut {
			return "it did not run"
		}
	case decide.Attach:
		if started && len(x.ByItem[decide.Run]) == 0 {
			return "a new attempt started"
		}
	default:
		if started || d.finished[x.Step] && !m.serves(x.Step) { // a service that has ended is done if nothing needs it any more
			return "it ran"
		}
		if gate := slices.ContainsFunc(d.after.OpenGates(), func(g *pawl.GateState) bool { return g.Step == x.Step }); x.Do == decide.Ask && !gate && !cut {
			return "no gate is open"
		}
	}
	return ""
}

// changedBehind reports whether a resume did anything to a step on which a decision depends, directly or through others.
func (d *deeds) changedBehind(x decide.Decision, all []decide.Decision, seen map[pawl.StepID]bool) bool {
	seen[x.Step] = true
	return slices.ContainsFunc(x.Unless, func(id pawl.StepID) bool {
		i := slices.IndexFunc(all, func(o decide.Decision) bool { return o.Step == id })
		return d.touched(id) || !seen[id] && d.changedBehind(all[i], all, seen)
	})
}

// touched reports whether a resume did anything to a step.
func (d *deeds) touched(id pawl.StepID) bool {
	return d.finished[id] || d.checked[id] || d.reopened[id] || d.skipped[id]
}
