package runs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/planfile"
	"pawl/internal/project"
)

// PlanSource returns where the user keeps the plan of a run; empty where nowhere.
func PlanSource(p *project.Project, s *pawl.State) string {
	path := filepath.FromSlash(s.Plan.Source)
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(p.Root, path)
}

// readPlan reads the plan that a run follows from its folder. Where the copy there is gone, or not the one recorded, the
// user's own file will do if it is: the journal has its hash.
func (r *Run) readPlan(home, source string) error {
	plan, err := ReadPlan(home, r.State)
	if pawl.KindOf(err) != pawl.KindDamaged || source == "" {
		r.Plan = plan
		return err
	}
	data, readErr := os.ReadFile(source)
	if readErr != nil || SHA256Hex(data) != r.State.Plan.SHA256 {
		return err
	}
	r.LostPlan = data
	r.Plan, err = planfile.Read(source, data)
	return err
}

// ReadPlan reads the copy of the plan that a run follows, and refuses one that is not the one recorded.
func ReadPlan(home string, state *pawl.State) (*pawl.Plan, error) {
	if state.Plan.Revision == 0 {
		return &pawl.Plan{Name: state.Name}, nil
	}
	hint := "pawl recover " + string(state.Run)
	damaged := func(format string, args ...any) error {
		return &pawl.Error{Kind: pawl.KindDamaged, Err: fmt.Errorf(format, args...), Hint: hint}
	}
	path := filepath.Join(home, filepath.Base(state.Plan.File))
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, damaged("the plan as it was run: %w", err)
	}
	if sum := SHA256Hex(data); sum != state.Plan.SHA256 {
		if state.Plan.Source == "" {
			hint += " --plan FILE --accept, with the changed plan as a FILE of your own: what you change there later is taken over too"
		}
		return nil, damaged("%s is not the plan that the journal names (sha256 %.12s, recorded %.12s)", path, sum, state.Plan.SHA256)
	}
	return planfile.Read(path, data)
}

// RestorePlan writes the copy of the plan anew where it was lost. What lies there instead is set aside.
func (r *Run) RestorePlan(p *project.Project) error {
	if r.LostPlan == nil {
		return nil
	}
	path := p.PlanFile(r.State.Run, r.State.Plan.Revision)
	err := disk.Rename(path, fmt.Sprintf("%s.damaged-%d", path, time.Now().UnixNano()))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("set the damaged plan aside: %w", err)
	}
	return disk.Replace(path, r.LostPlan)
}
