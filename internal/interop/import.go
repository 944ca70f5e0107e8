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
	"pawl/internal/evidence"
	"pawl/internal/interop/format"
	"pawl/internal/journal"
	"pawl/internal/planfile"
	"pawl/internal/project"
	"pawl/internal/redact"
	"pawl/internal/runs"
)

// Source is a project that was read from another system, and how to import it.
type Source struct {
	format.Project
	Path     string         // of the files, relative to the project's root if inside it
	Place    string         // below Path; see format.Format.Places
	Findings []pawl.Finding // of project the files
	Agent    pawl.AgentName // runs the unfinished steps. Defaults to claude.
	Version  string         // of pawl

	Ask func(context.Context, evidence.Evidence) Opinion // the user's evaluator; nil if none is configured
}

// Opinion is what an evaluator chose.
type Opinion struct {
	Word    pawl.VerdictWord
	By      string
	Reasons []string // or why its answer was rejected
}

// Imported is the result of Import.
type Imported struct {
	Run      pawl.RunID     `json:"run"`
	Done     []pawl.StepID  `json:"done"` // imported as done
	Findings []pawl.Finding `json:"findings"`
}

// Import creates a run from a project of another system: its plan, and its finished steps, if the files that they claim
// exist. A step with a missing file is imported as pending, with a finding. A crash leaves either the whole run or none.
// Import keeps engines out of the project; if one runs, the error is of KindHeld and names it.
func Import(ctx context.Context, p *project.Project, by pawl.Author, in Source) (Imported, error) {
	if in.Agent == "" {
		in.Agent = "claude"
	}
	m := &importer{Source: in, project: p, by: by, state: pawl.NewState()}
	if err := m.settle(ctx); err != nil {
		return Imported{}, err
	}
	var err error
	if m.data, err = m.makePlan(); err != nil {
		return Imported{}, err
	}
	if err := m.addEvents(); err != nil {
		return Imported{}, err
	}
	lock, err := lockImport(p)
	if err != nil {
		return Imported{}, err
	}
	if err = m.checkNotImported(ctx); err == nil {
		err = m.addMemories() // before create, since adding a memory twice has no effect
	}
	if err == nil {
		err = m.create(ctx)
	}
	if err = errors.Join(err, lock.Unlock()); err != nil {
		return Imported{}, fmt.Errorf("import %s: %w", in.System, err)
	}
	return Imported{Run: m.run, Done: m.done, Findings: m.Findings}, nil
}

// lockImport keeps engines out of a project.
func lockImport(p *project.Project) (*project.Lock, error) {
	return p.LockEngine(project.Holder{PID: os.Getpid(), Since: time.Now().UTC(), Command: "pawl import"})
}

// UnfinishedRun returns the unfinished run for the work of a source: one that was imported from it, or that mirrors its
// files. It is empty if there is none. Runs that cannot be read are ignored.
func UnfinishedRun(ctx context.Context, p *project.Project, in Source) (pawl.RunID, error) {
	ids, err := runs.List(p)
	if err != nil {
		return "", err
	}
	for _, run := range ids {
		s, err := runs.LoadState(ctx, p, run)
		if err != nil || s.Ended() {
			continue
		}
		if in.mirroredBy(s) || in.sameWork(s) || in.sameFiles(s) && in.sharesWork(ctx, p, run) {
			return run, nil
		}
	}
	return "", nil
}

// sharesWork reports whether a run has an unfinished step that the source has too: a part of the work may have been imported (see Only).
func (in Source) sharesWork(ctx context.Context, p *project.Project, run pawl.RunID) bool {
	r, err := runs.Load(ctx, p, run)
	if err != nil {
		return false
	}
	defer r.Log.Close()
	theirs := stepsByID(in.Project)
	return r.Plan != nil && slices.ContainsFunc(r.Plan.Steps(), func(s *pawl.Step) bool {
		st := r.State.Steps[s.ID]
		return theirs[s.ID] != nil && (st == nil || !st.Finished())
	})
}

// sameWork reports whether a run was imported from the same work as the source.
func (in Source) sameWork(s *pawl.State) bool {
	return in.sameFiles(s) && s.Name == format.PlanName(in.Project)
}

// sameFiles reports whether a run was imported from the same project in the same files as the source.
func (in Source) sameFiles(s *pawl.State) bool {
	return s.Import.System == in.System && s.Import.ID == in.ID && overlap(path.Join(s.Import.Path, s.Import.Place), path.Join(in.Path, in.Place))
}

// overlap reports whether two paths are the same, or one contains the other: .grid and the project that contains it.
func overlap(a, b string) bool {
	below := func(a, b string) bool {
		rel, err := filepath.Rel(filepath.FromSlash(cmp.Or(a, ".")), filepath.FromSlash(cmp.Or(b, ".")))
		return err == nil && filepath.IsLocal(rel)
	}
	return below(a, b) || below(b, a)
}

// mirroredBy reports whether the files describe a run that mirrors to them. If the system's work has no name of its own,
// they do.
func (in Source) mirroredBy(s *pawl.State) bool {
	if s.Mirror == nil || s.Mirror.System != in.System || !overlap(s.Mirror.Path, in.Path) {
		return false
	}
	return in.ID == string(s.Run) || in.ID == s.Project || in.Name == s.Name || in.Name == in.System
}

// checkNotImported refuses to import work for which there is an unfinished run: two runs would do it twice.
func (m *importer) checkNotImported(ctx context.Context) error {
	run, err := UnfinishedRun(ctx, m.project, m.Source)
	if err != nil || run == "" {
		return err
	}
	return &pawl.Error{
		Kind: pawl.KindUsage, Hint: "pawl resume " + string(run),
		Err: fmt.Errorf("run %s covers the same work and is unfinished; resume it, or archive it first (pawl archive %s)", run, run),
	}
}

// importer collects the events of a new run.
type importer struct {
	Source
	project *project.Project
	by      pawl.Author
	run     pawl.RunID
	plan    *runs.Outline
	data    []byte                       // the plan file
	proven  map[pawl.StepID]pawl.Outputs // of finished steps whose claimed files exist
	state   *pawl.State
	events  []pawl.Event
	done    []pawl.StepID
}

// settle asks the evaluator which verdict to choose, if the system's rules leave it open and the import is not refused anyway.
func (m *importer) settle(ctx context.Context) error {
	if m.Doubt == nil || m.Ask == nil {
		return nil
	}
	if err := m.checkNotImported(ctx); err != nil {
		return err
	}
	asked := m.Doubt.Evidence
	o := m.Ask(ctx, asked)
	m.Project = m.Doubt.Settle(m.Project, o.Word, o.By, o.Reasons)
	m.addFinding(pawl.Warn, m.Path, "task %s: the rules allow several verdicts; the evaluator %s chose %s: %s", asked.Step.ID, o.By, o.Word, strings.Join(o.Reasons, "; "))
	return nil
}

// makePlan returns the plan file, and parses it as the engine will.
func (m *importer) makePlan() ([]byte, error) {
	var found []pawl.Finding
	m.Project, m.proven, found = checkClaims(m.project.Root, m.Project)
	m.Findings = slices.Concat(m.Findings, found)
	plan, data, err := m.fitPlan()
	if len(plan.Steps()) == 0 {
		return nil, &pawl.Error{Kind: pawl.KindNothing, Err: fmt.Errorf("import %s: no work found in %s", m.System, m.Path), Hint: "pawl import " + m.System + " --dry-run"}
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

// addChecks makes the criteria of steps their acceptance checks.
func (m *importer) addChecks(plan *pawl.Plan) {
	read := map[pawl.StepID]format.Step{}
	for _, phase := range m.Phases {
		for _, s := range phase.Steps {
			read[s.ID] = s
		}
	}
	for _, step := range plan.Steps() {
		step.Accept = read[step.ID].Checks(m.System, pathInStep(step.Dir, m.filesPath()), m.Dense())
	}
}

// filesPath returns the path of the files, at their place if there are several.
func (m *importer) filesPath() string {
	if filepath.IsLocal(m.Path) {
		return path.Join(m.Path, m.Place)
	}
	return m.Path
}

// fitPlan makes a plan within the limits of a plan file. If the plan is too large, its prompts name the file instead of
// quoting its text; if that is not enough, it has only as many of the first steps as fit.
func (m *importer) fitPlan() (*pawl.Plan, []byte, error) {
	p := m.Project
	if p.Count() >= manyStepsLimit {
		p.Phases = withoutFinishedTexts(p.Phases)
	}
	all, fit := p.Count(), p.Count()
	for shortened := false; ; {
		plan := format.PlanOf(p, m.Agent)
		m.addChecks(plan)
		data, err := planfile.Write(plan)
		if errs, is := errors.AsType[*planfile.Errors](err); !is || !errs.TooLarge || fit < 2 {
			if fit < all {
				m.Phases = firstSteps(m.Phases, fit)
				m.addFinding(pawl.Warn, m.Path, "a plan cannot hold all %d steps: only the first %d were imported; import again once they are done", all, m.Project.Count())
			}
			return plan, data, err
		}
		if !shortened {
			shortened = true
			p.Phases = withoutTexts(p.Phases)
			m.addFinding(pawl.Warn, m.Path, "the texts of its steps are too long for one plan: each prompt names the file that contains its text")
			continue
		}
		fit -= max(fit/4, 1)
		p.Phases = firstSteps(p.Phases, fit)
	}
}

// withoutTexts returns the phases with prompts that name the file instead of quoting its text.
func withoutTexts(phases []format.Phase) []format.Phase {
	phases = slices.Clone(phases)
	for i, phase := range phases {
		phases[i].Steps = slices.Clone(phase.Steps)
		for j, s := range phase.Steps {
			if file, _, _ := strings.Cut(s.Where, ":"); file != "" && len(s.Goal) > len(file) {
				phases[i].Steps[j].Goal = fmt.Sprintf("%s\n\nThe file %s says what to do.", s.Name, file)
			}
		}
	}
	return phases
}

// firstSteps returns the first n steps of phases, without those that need a step that is not among them.
func firstSteps(phases []format.Phase, n int) []format.Phase {
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

// pathInStep returns a path in the project as seen from a step's folder; empty for the project's root.
func pathInStep(dir, path string) string {
	if path == "." {
		return ""
	}
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(path) {
		return filepath.ToSlash(rel)
	}
	return path
}

// manyStepsLimit is the number of steps from which finished ones keep only their name in the plan, to stay within its
// limits.
const manyStepsLimit = 1000

// withoutFinishedTexts returns the phases with only the names and needs of finished steps.
func withoutFinishedTexts(phases []format.Phase) []format.Phase {
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

// emit adds an event, and applies it to the state that later events build on. An event that the state rejects is dropped,
// with a finding.
func (m *importer) emit(at time.Time, payload pawl.Payload) error {
	event, err := redact.OfProcess().Event(m.by, payload)
	if err != nil {
		return err
	}
	event.Seq, event.Time = pawl.Seq(len(m.events)+1), at
	if at.IsZero() || at.After(time.Now()) {
		event.Time = time.Now().UTC()
	}
	rejected := m.state.RejectedCount
	m.state.Apply(event)
	if m.state.RejectedCount > rejected {
		m.addFinding(pawl.Warn, "", "event %s rejected: %s", payload.Event(), m.state.RejectedEvents[len(m.state.RejectedEvents)-1].Why)
		return nil
	}
	event.Time = event.Time.UTC()
	m.events = append(m.events, event)
	return nil
}

func (m *importer) addFinding(level pawl.Level, where, format string, args ...any) {
	m.Findings = append(m.Findings, pawl.Finding{Level: level, Where: where, What: fmt.Sprintf(format, args...)})
}

// addEvents adds the events of the whole run.
func (m *importer) addEvents() error {
	now := time.Now()
	created := pawl.RunCreated{Format: pawl.Format, Run: m.run, Project: m.project.ID, Kind: pawl.PlanRun, Name: m.plan.Name, Pawl: m.Version, Shell: pawl.DefaultShell}
	planned := pawl.RunPlanned{
		Revision: 1, File: filepath.Base(m.project.PlanFile(m.run, 1)), SHA256: runs.SHA256Hex(m.data), Steps: len(m.plan.InOrder), Goal: m.plan.Goal, Mode: m.plan.Mode,
	}
	if err := errors.Join(m.emit(now, created), m.emit(now, planned)); err != nil {
		return err
	}
	for _, phase := range m.Phases {
		for i := range phase.Steps {
			if err := m.emitStep(&phase.Steps[i]); err != nil {
				return err
			}
		}
	}
	if err := m.emitNotes(); err != nil {
		return err
	}
	imported := pawl.RunImported{
		System: m.System, Path: m.Path, Place: m.Place, Name: m.Name, ID: m.ID, Status: m.Native, Next: runs.ClipText(m.Next), Active: m.Updated, Facts: m.Facts,
		Findings: m.Findings[:min(len(m.Findings), maxFindings)],
	}
	return m.emit(now, imported)
}

// maxFindings limits the findings in one event.
const maxFindings = 50

// emitStep adds the events of a step.
func (m *importer) emitStep(s *format.Step) error {
	for _, item := range s.Items {
		named := pawl.ItemNamed{
			Step: s.ID, Item: pawl.ItemIDOf(item.ID), Title: item.Name, Status: item.Status, Outputs: item.Outputs, Commit: item.Commit,
		}
		if err := m.emit(s.Ended, named); err != nil {
			return err
		}
	}
	if s.Status != pawl.Done && s.Status != pawl.Skipped {
		return nil
	}
	outputs := m.proven[s.ID]
	if s.Status == pawl.Skipped {
		return m.emit(s.Ended, pawl.StepSkipped{Step: s.ID, Why: cmp.Or(s.Why, "skipped in "+m.System)})
	}
	planned := m.plan.ByID[s.ID]
	needs := runs.OutputDigests(m.plan.Needs, m.plan.Needs[s.ID], m.state)
	for need := range needs {
		if !m.state.Steps[need].Finished() {
			needs[need] = pawl.UnknownOutput
		}
	}
	key, err := runs.CurrentKey(m.project.Root, m.plan.Plan, runs.Work{Step: planned, Index: -1}, needs)
	if err != nil {
		return err
	}
	why := fmt.Sprintf("imported: %s says that it is done, and names no files", m.System)
	if len(outputs) > 0 {
		why = fmt.Sprintf("imported: %s says that it is done, and all files that it names exist (%d)", m.System, len(outputs))
	}
	if s.Proof != "" {
		why = "imported: " + s.Proof
	}
	m.done = append(m.done, s.ID)
	return m.emit(s.Ended, pawl.StepDone{
		Step: s.ID, Key: key.Compact(), Outputs: outputs, Accept: pawl.AcceptOf(planned), Summary: runs.ClipText(s.Summary), Adopted: why, Started: s.Started,
	})
}

// emitNotes adds the gates, decisions and blockers, and the end of a completed run. Memories go to MEMORY.md instead.
func (m *importer) emitNotes() error {
	var errs []error
	for _, g := range m.Gates {
		gate := g.Gate
		gate.ID = gate.Identify()
		errs = append(errs, m.emit(gate.Opened, pawl.GateOpened{Gate: gate}))
		if g.Answer != "" {
			errs = append(errs, m.emit(gate.Opened, gateReply(gate, g)))
		}
	}
	for _, d := range m.Decisions {
		errs = append(errs, m.emit(d.Time, pawl.DecisionMade{Decision: d}))
	}
	for i, b := range m.Blockers {
		opened, at := b, b.Opened
		opened.Cleared, opened.How = time.Time{}, ""
		if at.IsZero() {
			at = b.Cleared // it was opened before
		}
		errs = append(errs, m.emit(at, pawl.BlockerOpened{Blocker: opened}))
		if !b.Cleared.IsZero() || b.How != "" {
			errs = append(errs, m.emit(b.Cleared, pawl.BlockerCleared{ID: i + 1, How: b.How}))
		}
	}
	if m.Status == pawl.StatusCompleted && len(m.done) == len(m.plan.InOrder) {
		errs = append(errs, m.emit(m.Updated, pawl.RunEnded{Status: pawl.StatusCompleted, Why: "imported from " + m.System}))
	}
	return errors.Join(errs...)
}

// gateReply returns the answer to an imported gate.
func gateReply(gate pawl.Gate, g format.Gate) pawl.GateAnswered {
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

// create writes the run under a temporary name, and renames it once it is durable.
func (m *importer) create(ctx context.Context) error {
	temp := m.project.Staging()
	if err := disk.RemoveTree(temp); err != nil {
		return err
	}
	if err := m.writeRun(ctx, temp); err != nil {
		return err
	}
	if err := disk.MakeFolders(m.project.Runs()); err != nil {
		return err
	}
	if err := disk.Rename(filepath.Join(temp, string(m.run)), m.project.RunDir(m.run)); err != nil {
		return err
	}
	if err := disk.SyncFolder(temp); err != nil {
		return err
	}
	return journal.Place(ctx, m.project.Runs(), m.run)
}

// writeRun writes the journal and the plan file.
func (m *importer) writeRun(ctx context.Context, folder string) error {
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

// addMemories adds the imported memories to MEMORY.md.
func (m *importer) addMemories() error { return m.project.LearnAll(m.Memories) }
