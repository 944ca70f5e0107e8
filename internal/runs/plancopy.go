package runs

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/planfile"
	"pawl/internal/project"
	"pawl/internal/stepenv"
)

// PlanSource returns the path of the user's plan file, "" for none.
func PlanSource(p *project.Project, s *pawl.State) string {
	path := filepath.FromSlash(s.Plan.Source)
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(p.Root, path)
}

// readPlan reads the run's copy of the plan. If the copy is damaged or missing, it uses the user's file with what it
// includes, provided that this has the hash recorded in the journal.
func (r *Run) readPlan(p *project.Project, folder string, recalled recalledPlan) error {
	source := PlanSource(p, r.State)
	plan, err := readPlanCopy(p, folder, r.State, recalled)
	if pawl.KindOf(err) != pawl.KindDamaged || source == "" {
		if err == nil {
			r.Text, r.Plan = plan, stepenv.Resolve(plan, r.State.Given)
		}
		return err
	}
	loaded, readErr := LoadPlan(p.Root, source)
	if readErr != nil || SHA256Hex(loaded.Data) != r.State.Plan.SHA256 {
		return err
	}
	r.LostPlan, r.Text = loaded.Data, loaded.Plan
	r.Plan = stepenv.Resolve(r.Text, r.State.Given)
	return nil
}

// ReadPlan reads the run's copy of the plan, as it is written, and fails if its hash is not the recorded one.
func ReadPlan(home string, state *pawl.State) (*pawl.Plan, error) {
	if state.Plan.Revision == 0 {
		return &pawl.Plan{Name: state.Name}, nil
	}
	hint := "pawl recover " + string(state.Run)
	damaged := func(format string, args ...any) error {
		return &pawl.Error{Kind: pawl.KindDamaged, Err: fmt.Errorf(format, args...), Hint: hint}
	}
	path := filepath.Join(home, filepath.Base(state.Plan.File))
	data, err := disk.ReadFile(path, disk.PlanLimit)
	if err != nil {
		return nil, damaged("copy of the plan: %w", err)
	}
	if sum := SHA256Hex(data); sum != state.Plan.SHA256 {
		if state.Plan.Source == "" {
			hint += " --plan FILE --accept, where FILE is your own copy with the edits; later edits of FILE are picked up too"
		}
		return nil, damaged("%s is not the plan recorded in the journal (sha256 %.12s, recorded %.12s)", path, sum, state.Plan.SHA256)
	}
	return planfile.ReadSaved(path, data)
}

// RestorePlan rewrites a damaged or missing copy of the plan. It keeps a damaged copy under another name.
func (r *Run) RestorePlan(p *project.Project) error {
	if r.LostPlan == nil {
		return nil
	}
	path := p.PlanFile(r.State.Run, r.State.Plan.Revision)
	err := disk.Rename(path, fmt.Sprintf("%s.damaged-%d", path, time.Now().UnixNano()))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("move the damaged plan aside: %w", err)
	}
	return disk.Replace(path, r.LostPlan)
}
