package resume

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/journal"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/supervise"
)

// Verify checks all runs of a project: journals, plans, the outputs of finished work by hash, and orphaned processes.
// Of archived runs it checks only the journal. It reports every fault and changes nothing.
func Verify(ctx context.Context, p *project.Project) ([]pawl.Finding, error) {
	ids, err := runs.List(p)
	if err != nil {
		return nil, err
	}
	var findings []pawl.Finding
	seen := map[string]bool{} // outputs already checked for a newer run
	for _, run := range ids {
		findings = append(findings, verifyRun(ctx, p, run, seen)...)
	}
	lost, err := journal.Lost(p.Runs())
	if err != nil {
		return nil, err
	}
	for _, run := range lost {
		findings = append(findings, journal.Check(p.RunDir(run))...)
	}
	aside, err := runs.ArchivedRuns(p)
	for _, run := range aside {
		findings = append(findings, journal.Check(p.ArchivedDir(run))...)
	}
	return findings, err
}

func verifyRun(ctx context.Context, p *project.Project, run pawl.RunID, seen map[string]bool) []pawl.Finding {
	findings := journal.Check(p.RunDir(run))
	for _, f := range findings {
		if f.Level == pawl.Bad {
			return findings
		}
	}
	r, err := runs.Load(ctx, p, run)
	if errors.Is(err, journal.ErrEmpty) {
		return findings // the findings say so
	}
	if err != nil {
		return append(findings, pawl.Finding{Level: pawl.Bad, What: err.Error(), Where: string(run), Hint: pawl.HintOf(err)})
	}
	v := &verifier{project: p, run: r, seen: seen, findings: findings}
	v.origin()
	v.state()
	v.outputs()
	v.seals()
	err = disk.WalkDir(filepath.Join(p.RunDir(run), "steps"), v.attempt)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		v.add(pawl.Bad, string(run), "cannot read attempts: %v", err)
	}
	if err := r.Log.Close(); err != nil {
		v.add(pawl.Bad, string(run), "close: %v", err)
	}
	return v.findings
}

type verifier struct {
	project  *project.Project
	run      *runs.Run
	seen     map[string]bool
	findings []pawl.Finding
}

func (v *verifier) add(level pawl.Level, where, format string, args ...any) {
	v.findings = append(v.findings, pawl.Finding{Level: level, Where: where, What: fmt.Sprintf(format, args...)})
}

// origin reports a journal that is not as this user's pawl left it: one from elsewhere, cut short or rewritten.
func (v *verifier) origin() {
	if !v.project.Trust.Trusted() {
		return
	}
	run := v.run.State.Run
	reason, err := runs.Elsewhere(v.project, run)
	if err != nil {
		reason = err.Error()
	}
	if reason != "" {
		v.findings = append(v.findings, pawl.Finding{Level: pawl.Warn, Where: string(run), What: "the run comes from elsewhere: " + reason, Hint: "pawl adopt " + string(run)})
	}
}

// state reports rejected events, and a plan that exists only as the user's own file.
func (v *verifier) state() {
	s := v.run.State
	if v.run.LostPlan != nil {
		v.add(pawl.Warn, string(s.Run), "its copy of the plan is damaged or missing; the next resume restores it from %s, which has the same hash", s.Plan.Source)
	}
	for _, m := range s.RejectedEvents {
		v.add(pawl.Warn, fmt.Sprintf("%s, event %d", s.Run, m.Seq), "event rejected: %s", m.Why)
	}
	if len(s.UnknownTypes) > 0 {
		v.add(pawl.Warn, string(s.Run), "a newer pawl wrote events of types %v; this version can only read the run", s.UnknownTypes)
	}
}

// outputs compares recorded outputs with the files. A change is a warning, because a person or a newer run may have
// made it. If several steps of a run wrote a path, the last one counts.
func (v *verifier) outputs() {
	all := pawl.Outputs{}
	for path, newest := range NewestRecords(v.run.State) {
		all[path] = newest.Content
	}
	for id, st := range v.run.State.Steps {
		if st.Items == nil {
			continue
		}
		items, err := runs.ItemOutputs(v.run, st.Items)
		if err != nil {
			v.add(pawl.Bad, string(id), "cannot read recorded items: %v", err)
		}
		for path, c := range items {
			if _, later := all[path]; !later {
				all[path] = c
			}
		}
	}
	now := runs.CurrentOutputs(v.project.Root, all)
	bad := 0
	for path, recorded := range all {
		if !v.seen[path] && now[path] != recorded {
			bad++
			word := "changed"
			if now[path] == (pawl.Content{}) {
				word = "gone"
			}
			v.add(pawl.Warn, path, "output of a finished step is %s (run %s)", word, v.run.State.Run)
		}
		v.seen[path] = true
	}
	if bad == 0 {
		v.add(pawl.OK, string(v.run.State.Run), "all outputs of finished steps (%d) are unchanged", len(all))
	}
}

// seals reports exit records that the attempt's supervisor did not sign.
func (v *verifier) seals() {
	newest := map[string]sealed{} // by folder: a worker's attempt may have had several supervisors
	var order []string
	for event, err := range v.run.Log.Events(0) {
		if err != nil {
			return // reported
		}
		var s sealed
		switch event.Type {
		case (pawl.AttemptStarted{}).Event(), (pawl.AttemptRejoined{}).Event(), (pawl.UndoStarted{}).Event():
			s.undo = event.Type == (pawl.UndoStarted{}).Event()
		default:
			continue
		}
		if json.Unmarshal(event.Data, &s.AttemptStarted) != nil || s.Seal == "" { // the others have the same fields
			continue
		}
		dir := v.project.AttemptDir(s.AttemptRef, v.run.State.Run)
		if s.undo {
			dir = v.project.UndoDir(pawl.UndoRef{AttemptRef: s.AttemptRef}, v.run.State.Run)
		}
		if _, seen := newest[dir]; !seen {
			order = append(order, dir)
		}
		newest[dir] = s
	}
	for _, dir := range order {
		s, what := newest[dir], "attempt"
		if s.undo {
			what = "undo"
		}
		status, err := supervise.Probe(dir)
		if err == nil && status.Exit != nil && status.ExitSealed(s.Seal) == nil {
			v.add(pawl.Warn, filepath.Join(dir, pawl.ExitFile), "exit record of %s %d of %s was not written by the supervisor and does not count; a program of the step may have written it", what, s.Attempt, s.Name())
		}
	}
}

// sealed is an attempt or an undo command with the key of its supervisor.
type sealed struct {
	pawl.AttemptStarted
	undo bool
}

// attempt checks one attempt's folder. If a supervisor holds its lock, the journal must have it as live.
func (v *verifier) attempt(path string, d fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	if d.IsDir() || d.Name() != pawl.LockFile {
		return nil
	}
	dir := filepath.Dir(path)
	status, err := supervise.Probe(dir)
	if err != nil {
		v.add(pawl.Bad, dir, "cannot read attempt: %v", err)
		return nil
	}
	if status.State == supervise.Live && !v.known(dir) {
		v.add(pawl.Bad, dir, "a supervisor is running, but the journal has no live attempt; pawl processes %s --end ends it", v.run.State.Run)
	}
	return nil
}

func (v *verifier) known(dir string) bool {
	for _, live := range v.run.State.Live() {
		if strings.HasPrefix(dir+string(os.PathSeparator), v.project.AttemptDir(live.AttemptRef, v.run.State.Run)+string(os.PathSeparator)) {
			return true
		}
	}
	return false
}

// Guarantees returns what this system can and cannot guarantee.
func Guarantees() []pawl.Finding { return supervise.Guarantees() }
