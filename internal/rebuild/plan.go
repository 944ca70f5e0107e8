package rebuild

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/planfile"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/shellwords"
)

// foundPlan is the plan of a run that is being rebuilt.
type foundPlan struct {
	*pawl.Plan
	data       []byte
	source     string           // where the user keeps it; "" if unknown
	planned    *pawl.RunPlanned // the event to journal; nil if the journal has it
	write      bool             // the copy next to the journal must be written
	from       string           // where it was found, for people
	confidence Confidence
}

// save writes the copy next to the journal if it is missing.
func (f foundPlan) save(p *project.Project, run pawl.RunID) error {
	if !f.write {
		return nil
	}
	if err := disk.MakeFolders(p.RunDir(run)); err != nil {
		return err
	}
	return disk.Replace(filepath.Join(p.RunDir(run), f.planned.File), f.data)
}

// findPlan looks for the plan in this order: the revision in the journal, the newest copy next to the journal, the file
// that the user names, the path recorded in the journal, and the only plan in the project's root with the run's name.
func (r *Recovery) findPlan(run pawl.RunID, state *pawl.State, named string) (foundPlan, error) {
	if r.New && r.plan.Plan != nil {
		return r.plan, nil
	}
	var before pawl.RunPlanned
	if state != nil {
		before = state.Plan
		if state.Run != "" && before.Revision == 0 && state.Kind != pawl.PlanRun && state.Kind != pawl.CommandRun {
			return foundPlan{}, nil // the run has no plan
		}
	}
	if run != "" {
		found, err := r.planBeside(run, before)
		if err != nil || found.Plan != nil {
			return found, err
		}
	}
	file, why, err := r.usersPlan(run, before, named)
	if err != nil || file == "" {
		return foundPlan{}, err
	}
	loaded, err := runs.LoadPlan(r.project.Root, file)
	if err != nil {
		return foundPlan{}, err
	}
	plan, data := loaded.Plan, loaded.Data
	found := foundPlan{Plan: plan, data: data, source: file, write: true, from: why, confidence: Likely}
	if named != "" {
		found.confidence = Certain
	}
	if runs.SHA256Hex(data) == before.SHA256 { // only the copy next to the journal was lost
		found.planned, found.confidence = &before, Certain
		return found, nil
	}
	planned := runs.PlanEvent(r.project, before.Revision+1, runs.CreateOptions{Plan: plan, Data: data, Source: file})
	found.planned = &planned
	return found, nil
}

// planBeside returns the newest plan revision next to the journal.
func (r *Recovery) planBeside(run pawl.RunID, before pawl.RunPlanned) (foundPlan, error) {
	for revision := newestRevision(r.project, run); revision > 0; revision-- {
		path := r.project.PlanFile(run, revision)
		data, err := disk.ReadFile(path, disk.PlanLimit)
		if err != nil {
			continue
		}
		plan, err := planfile.ReadSaved(path, data)
		if err != nil {
			continue // incomplete
		}
		found := foundPlan{Plan: plan, data: data, from: fmt.Sprintf("%s is next to the journal", filepath.Base(path)), confidence: Certain}
		if runs.SHA256Hex(data) == before.SHA256 && revision == before.Revision {
			return found, nil
		}
		if revision == before.Revision { // not the recorded revision
			continue
		}
		found.source = before.Source
		if source := r.sameFile(data); found.source == "" {
			found.source = source
		}
		planned := runs.PlanEvent(r.project, revision, runs.CreateOptions{Plan: plan, Data: data, Source: r.absolute(found.source)})
		found.planned = &planned
		return found, nil
	}
	return foundPlan{}, nil
}

func (r *Recovery) absolute(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(r.project.Root, filepath.FromSlash(path))
}

// newestRevision returns the highest plan revision next to the journal.
func newestRevision(p *project.Project, run pawl.RunID) int {
	n := 0
	names, _ := disk.Glob(p.RunDir(run), "plan*.yaml") // best effort
	for _, name := range names {
		revision := 1
		if _, err := fmt.Sscanf(filepath.Base(name), "plan.%d.yaml", &revision); err != nil && filepath.Base(name) != "plan.yaml" {
			continue
		}
		n = max(n, revision)
	}
	return n
}

// topPlans returns files in the project's root that may be plans, by path.
func (r *Recovery) topPlans() []string {
	var found []string
	for _, pattern := range []string{"*.yaml", "*.yml"} {
		names, _ := disk.Glob(r.project.Root, pattern) // best effort
		found = append(found, names...)
	}
	return found
}

// sameFile returns the plan in the project's root that has exactly this content, with what it includes.
func (r *Recovery) sameFile(data []byte) string {
	for _, path := range r.topPlans() {
		if other, err := runs.LoadPlan(r.project.Root, path); err == nil && string(other.Data) == string(data) {
			return path
		}
	}
	return ""
}

// usersPlan returns the user's plan file and why it was chosen, or "" for none.
func (r *Recovery) usersPlan(run pawl.RunID, before pawl.RunPlanned, named string) (path, why string, err error) {
	if named != "" {
		path, err := filepath.Abs(named)
		return path, "given by the user", err
	}
	if before.Source != "" {
		path := r.absolute(before.Source)
		if _, err := os.Stat(path); err == nil {
			return path, "the journal says that the user keeps the plan in " + before.Source, nil
		}
	}
	var found []string
	for _, path := range r.topPlans() {
		loaded, err := runs.LoadPlan(r.project.Root, path)
		if err == nil && (run == "" || strings.HasPrefix(string(run), pawl.SlugOf(loaded.Plan.Name)+"-"+runs.RunStamp(run))) {
			found = append(found, path)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], filepath.Base(found[0]) + " is the only plan here with the run's name", nil
	case len(found) > 1:
		return "", "", runs.UsageError("pawl recover --plan "+shellwords.Word(filepath.Base(found[0])), "%d plans match; choose one", len(found))
	case run != "":
		return "", "", runs.UsageError("pawl recover "+string(run)+" --plan FILE", "no plan found for run %s", run)
	}
	return "", "", nil
}
