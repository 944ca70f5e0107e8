package interop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/interop/format"
	"pawl/internal/journal"
	"pawl/internal/planfile"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// Importing says what a run is made of.
type Importing struct {
	format.Project
	Path     string         // of the files, relative to the project where they lie inside
	Place    string         // below that, of systems that may have several: see format.Format.Places
	Findings []pawl.Finding // what was found in reading them
	Agent    pawl.AgentName // who is to do what is not done. Defaults to claude.
	Version  string         // of this program
	Provable bool           // its format has CheckCriterion
}

// Imported is a run that was made.
type Imported struct {
	Run      pawl.RunID     `json:"run"`
	Done     []pawl.StepID  `json:"done"` // believed
	Findings []pawl.Finding `json:"findings"`
}

// Import makes a run of what was read of another system: its plan, and what it had finished, as far as the files that it
// claims are there. What is claimed and is not there is a finding, and is to be done again. Cut off anywhere, there is the
// whole run or none. No engine works in the project meanwhile: an error of KindHeld says which one does.
func Import(ctx context.Context, p *project.Project, by pawl.Author, in Importing) (Imported, error) {
	if in.Agent == "" {
		in.Agent = "claude"
	}
	m := &importer{Importing: in, project: p, by: by, state: pawl.NewState()}
	var err error
	if m.data, err = m.planFile(); err != nil {
		return Imported{}, err
	}
	if err := m.tell(); err != nil {
		return Imported{}, err
	}
	lock, err := lockImport(p)
	if err != nil {
		return Imported{}, err
	}
	if err = m.once(ctx); err == nil {
		err = m.remember() // first: to learn a thing again changes nothing
	}
	if err == nil {
		err = m.write(ctx)
	}
	if err = errors.Join(err, lock.Unlock()); err != nil {
		return Imported{}, fmt.Errorf("import %s: %w", in.System, err)
	}
	return Imported{Run: m.run, Done: m.done, Findings: m.Findings}, nil
}

// lockImport keeps engines out as long as something is made of another system's files.
func lockImport(p *project.Project) (*project.Lock, error) {
	return p.LockEngine(project.Holder{PID: os.Getpid(), Since: time.Now().UTC(), Command: "pawl import"})
}

// MadeOf returns the unfinished run of the same work: one that was made of it already, or that keeps these files up to date
// itself; empty where there is none. Runs that cannot be read are none.
func MadeOf(ctx context.Context, p *project.Project, in Importing) (pawl.RunID, error) {
	ids, err := runs.List(p)
	if err != nil {
		return "", err
	}
	for _, run := range ids {
		if s, err := runs.LoadState(ctx, p, run); err == nil && !s.Ended() && (in.made(s) || in.keptBy(s)) {
			return run, nil
		}
	}
	return "", nil
}

func (in Importing) made(s *pawl.State) bool {
	return s.Import.System == in.System && s.Import.ID == in.ID && s.Name == format.PlanName(in.Project) && overlap(path.Join(s.Import.Path, s.Import.Place), path.Join(in.Path, in.Place))
}

// overlap reports whether two places are one, or one lies in the other: .grid and the project that it is of.
func overlap(a, b string) bool {
	below := func(a, b string) bool {
		rel, err := filepath.Rel(filepath.FromSlash(cmp.Or(a, ".")), filepath.FromSlash(cmp.Or(b, ".")))
		return err == nil && filepath.IsLocal(rel)
	}
	return below(a, b) || below(b, a)
}

// keptBy reports whether the files speak of a run itself. Those of a system whose work has no name of its own do.
func (in Importing) keptBy(s *pawl.State) bool {
	if s.Mirror == nil || s.Mirror.System != in.System || !overlap(s.Mirror.Path, in.Path) {
		return false
	}
	return in.ID == string(s.Run) || in.ID == s.Project || in.Name == s.Name || in.Name == in.System
}

// once refuses to make a second run of what is the work of one that is unfinished: two of them would do it twice.
func (m *importer) once(ctx context.Context) error {
	run, err := MadeOf(ctx, m.project, m.Importing)
	if err != nil || run == "" {
		return err
	}
	return &pawl.Error{
		Kind: pawl.KindUsage, Hint: "pawl resume " + string(run),
		Err: fmt.Errorf("run %s does this work already, and is unfinished: resume it, or archive it first (pawl archive %s)", run, run),
	}
}

// importer gathers the events of a run that is being made.
type importer struct {
	Importing
	project *project.Project
	by      pawl.Author
	run     pawl.RunID
	plan    *runs.Outline
	data    []byte                       // of the plan
	proven  map[pawl.StepID]pawl.Outputs // what the files of finished steps hold
	state   *pawl.State
	events  []pawl.Event
	done    []pawl.StepID
}

// planFile makes the plan, and reads it as the engine will.
func (m *importer) planFile() ([]byte, error) {
	var found []pawl.Finding
	m.Project, m.proven, found = prove(m.project.Root, m.Project)
	m.Findings = slices.Concat(m.Findings, found)
	plan, data, err := m.fittingPlan()
	if len(plan.Steps()) == 0 {
		return nil, &pawl.Error{Kind: pawl.KindNothing, Err: fmt.Errorf("import %s: no work was found in %s", m.System, m.Path), Hint: "pawl import " + m.System + " --dry-run"}
	}
	m.run = pawl.NewRunID(plan.Name, time.Now(), disk.RandomHex(2))
	if err != nil {
		return nil, err
	}
	read, err := planfile.Read(plan.Name, data)
	if err == nil {
		m.plan = runs.NewOutline(read)
	}
	return data, err
}

// check has the criteria that a system's own reader can look at be acceptance checks of the steps that they are for.
func (m *importer) check(plan *pawl.Plan) {
	if !m.Provable {
		return
	}
	read := map[pawl.StepID]format.Step{}
	for _, phase := range m.Phases {
		for _, s := range phase.Steps {
			read[s.ID] = s
		}
	}
	for _, step := range plan.Steps() {
		step.Accept = read[step.ID].Checks(m.System, pathFrom(step.Dir, m.Path), m.Dense())
	}
}

// fittingPlan makes the plan. Where that is larger than a plan may be, the steps are told where their texts stand; where it
// still is, there are as many of the first steps as it can hold.
func (m *importer) fittingPlan() (*pawl.Plan, []byte, error) {
	reading := m.Project
	if reading.Count() >= manySteps {
		reading.Phases = short(reading.Phases)
	}
	all, fit := reading.Count(), reading.Count()
	for told := false; ; {
		plan := format.PlanOf(reading, m.Agent)
		m.check(plan)
		data, err := planfile.Write(plan)
		if errs, is := errors.AsType[*planfile.Errors](err); !is || !errs.TooLarge || fit < 2 {
			if fit < all {
				m.Phases = first(m.Phases, fit)
				m.find(pawl.Warn, m.Path, "a plan cannot hold all of its %d steps: the first %d were taken; import again once they are done", all, m.Project.Count())
			}
			return plan, data, err
		}
		if !told {
			told = true
			reading.Phases = withoutTexts(reading.Phases)
			m.find(pawl.Warn, m.Path, "the texts of its steps are too long for one plan: each step is told in which file its text stands")
			continue
		}
		fit -= max(fit/4, 1)
		reading.Phases = first(reading.Phases, fit)
	}
}

// withoutTexts returns the phases with the file instead of the text of what is to be done.
func withoutTexts(phases []format.Phase) []format.Phase {
	phases = slices.Clone(phases)
	for i, phase := range phases {
		phases[i].Steps = slices.Clone(phase.Steps)
		for j, s := range phase.Steps {
			if file, _, _ := strings.Cut(s.Where, ":"); file != "" && len(s.Goal) > len(file) {
				phases[i].Steps[j].Goal = fmt.Sprintf("%s\n\nWhat is to be done is said in the file %s.", s.Name, file)
			}
		}
	}
	return phases
}

// first returns the first n steps of phases, without those that need others.
func first(phases []format.Phase, n int) []format.Phase {
	phases = slices.Clone(phases)
	taken := map[pawl.StepID]bool{}
	for i, phase := range phases {
		phases[i].Steps = nil
		for _, s := range phase.Steps {
			if len(taken) < n && !slices.ContainsFunc(s.Needs, func(id pawl.StepID) bool { return !taken[id] }) {
				taken[s.ID] = true
				phases[i].Steps = append(phases[i].Steps, s)
			}
		}
	}
	return phases
}

// pathFrom returns a path in the project as a step sees it that works in a folder; empty where it is the project itself.
func pathFrom(dir, path string) string {
	if path == "." {
		return ""
	}
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(path) {
		return filepath.ToSlash(rel)
	}
	return path
}

// manySteps is from how many steps on those that are finished are named in the plan, and no more said of them: a plan has
// its limits.
const manySteps = 1000

// short returns the phases with no more than the names of finished steps.
func short(phases []format.Phase) []format.Phase {
	phases = slices.Clone(phases)
	for i, phase := range phases {
		phases[i].Steps = slices.Clone(phase.Steps)
		for j, s := range phase.Steps {
			if s.Status == pawl.Done || s.Status == pawl.Skipped {
				phases[i].Steps[j] = format.Step{ID: s.ID, Name: s.Name, Needs: s.Needs, Wave: s.Wave, Status: s.Status}
			}
		}
	}
	return phases
}

// say adds an event, and folds it: what comes next builds on it. One that does not fit is left out, and found.
func (m *importer) say(at time.Time, payload pawl.Payload) error {
	event, err := pawl.NewEvent(m.by, payload)
	if err != nil {
		return err
	}
	event.Seq, event.Time = pawl.Seq(len(m.events)+1), at
	if at.IsZero() || at.After(time.Now()) {
		event.Time = time.Now().UTC()
	}
	misfits := m.state.RejectedCount
	m.state.Apply(event)
	if m.state.RejectedCount > misfits {
		m.find(pawl.Warn, "", "%s was left out: %s", payload.Event(), m.state.RejectedEvents[len(m.state.RejectedEvents)-1].Why)
		return nil
	}
	event.Time = event.Time.UTC()
	m.events = append(m.events, event)
	return nil
}

func (m *importer) find(level pawl.Level, where, format string, args ...any) {
	m.Findings = append(m.Findings, pawl.Finding{Level: level, Where: where, What: fmt.Sprintf(format, args...)})
}

// tell says everything that was read, as events.
func (m *importer) tell() error {
	now := time.Now()
	created := pawl.RunCreated{Format: pawl.Format, Run: m.run, Project: m.project.ID, Kind: pawl.PlanRun, Name: m.plan.Name, Pawl: m.Version}
	planned := pawl.RunPlanned{
		Revision: 1, File: filepath.Base(m.project.PlanFile(m.run, 1)), SHA256: runs.SHA256Hex(m.data), Steps: len(m.plan.InOrder), Goal: m.plan.Goal, Mode: m.plan.Mode,
	}
	if err := errors.Join(m.say(now, created), m.say(now, planned)); err != nil {
		return err
	}
	for _, phase := range m.Phases {
		for i := range phase.Steps {
			if err := m.step(&phase.Steps[i]); err != nil {
				return err
			}
		}
	}
	if err := m.notes(); err != nil {
		return err
	}
	imported := pawl.RunImported{
		System: m.System, Path: m.Path, Place: m.Place, Name: m.Name, ID: m.ID, Status: m.Native, Next: runs.ClipText(m.Next), Active: m.Updated, Facts: m.Facts,
		Findings: m.Findings[:min(len(m.Findings), maxTold)],
	}
	return m.say(now, imported)
}

// maxTold is how many findings an event has.
const maxTold = 50

// step says of a step what was done of it.
func (m *importer) step(s *format.Step) error {
	for _, item := range s.Items {
		named := pawl.ItemNamed{
			Step: s.ID, Item: pawl.ItemIDOf(item.ID), Title: item.Name, Status: item.Status, Outputs: item.Outputs, Commit: item.Commit,
		}
		if err := m.say(s.Ended, named); err != nil {
			return err
		}
	}
	if s.Status != pawl.Done && s.Status != pawl.Skipped {
		return nil
	}
	outputs := m.proven[s.ID]
	if s.Status == pawl.Skipped {
		return m.say(s.Ended, pawl.StepSkipped{Step: s.ID, Why: cmp.Or(s.Why, "skipped in "+m.System)})
	}
	planned := m.plan.ByID[s.ID]
	needs := runs.OutputDigests(m.plan.Needs[s.ID], m.state)
	for need := range needs {
		if !m.state.Steps[need].Finished() {
			needs[need] = pawl.NotKnown
		}
	}
	key, err := runs.CurrentKey(m.project.Root, m.plan.Plan, runs.Work{Step: planned, Index: -1}, needs)
	if err != nil {
		return err
	}
	why := fmt.Sprintf("imported: %s says so, and it claims no files", m.System)
	if len(outputs) > 0 {
		why = fmt.Sprintf("imported: %s says so, and all %d files that it claims are there", m.System, len(outputs))
	}
	m.done = append(m.done, s.ID)
	return m.say(s.Ended, pawl.StepDone{
		Step: s.ID, Key: key.Compact(), Outputs: outputs, Accept: pawl.AcceptOf(planned), Summary: runs.ClipText(s.Summary), Adopted: why, Started: s.Started,
	})
}

// notes says gates, decisions and blockers. What was learned is in MEMORY.md.
func (m *importer) notes() error {
	var errs []error
	for _, g := range m.Gates {
		gate := g.Gate
		gate.ID = gate.Identify()
		errs = append(errs, m.say(gate.Opened, pawl.GateOpened{Gate: gate}))
		if g.Answer != "" {
			errs = append(errs, m.say(gate.Opened, replyTo(gate, g)))
		}
	}
	for _, d := range m.Decisions {
		errs = append(errs, m.say(d.Time, pawl.DecisionMade{Decision: d}))
	}
	for i, b := range m.Blockers {
		opened, at := b, b.Opened
		opened.Cleared, opened.How = time.Time{}, ""
		if at.IsZero() {
			at = b.Cleared // at the latest
		}
		errs = append(errs, m.say(at, pawl.BlockerOpened{Blocker: opened}))
		if !b.Cleared.IsZero() || b.How != "" {
			errs = append(errs, m.say(b.Cleared, pawl.BlockerCleared{ID: i + 1, How: b.How}))
		}
	}
	if m.Status == pawl.StatusCompleted && len(m.done) == len(m.plan.InOrder) {
		errs = append(errs, m.say(m.Updated, pawl.RunEnded{Status: pawl.StatusCompleted, Why: "imported from " + m.System}))
	}
	return errors.Join(errs...)
}

// replyTo returns what was said to a gate.
func replyTo(gate pawl.Gate, g format.Gate) pawl.GateAnswered {
	reply := pawl.GateAnswered{Answer: pawl.Approved, Why: g.Answer}
	switch {
	case g.Means != nil:
		reply = *g.Means
	case gate.Type == pawl.DecisionFor:
		reply.Answer, reply.Option = pawl.Chosen, g.Answer
	}
	reply.Gate, reply.Step = gate.ID, gate.Step
	return reply
}

// write makes the run, under a name that is no run's until all of it is durable.
func (m *importer) write(ctx context.Context) error {
	making := m.project.Making()
	if err := disk.RemoveTree(making); err != nil {
		return err
	}
	if err := m.fill(ctx, making); err != nil {
		return err
	}
	if err := disk.MakeFolders(m.project.Runs()); err != nil {
		return err
	}
	if err := disk.Rename(filepath.Join(making, string(m.run)), m.project.RunDir(m.run)); err != nil {
		return err
	}
	return disk.SyncFolder(making)
}

func (m *importer) fill(ctx context.Context, folder string) error {
	log, err := journal.Create(folder, m.run)
	if err != nil {
		return err
	}
	if err := disk.Replace(filepath.Join(folder, string(m.run), filepath.Base(m.project.PlanFile(m.run, 1))), m.data); err != nil {
		return errors.Join(err, log.Close())
	}
	_, err = log.Append(ctx, 0, m.events...)
	return errors.Join(err, log.Close())
}

// remember adds what was learned to MEMORY.md.
func (m *importer) remember() error { return m.project.LearnAll(m.Memories) }
