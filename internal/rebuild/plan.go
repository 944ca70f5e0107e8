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
)

// foundPlan is the plan of a run that is recovered.
type foundPlan struct {
	*pawl.Plan
	data       []byte
	source     string           // where the user keeps it; empty: not known
	planned    *pawl.RunPlanned // what the journal is to say; nil: it says so already
	write      bool             // it is to be written beside the journal
	from       string           // where it was found, in words
	confidence Confidence
}

// save writes the plan beside the journal, where it is not there.
func (f foundPlan) save(p *project.Project, run pawl.RunID) error {
	if !f.write {
		return nil
	}
	if err := disk.MakeFolders(p.RunDir(run)); err != nil {
		return err
	}
	return disk.Replace(filepath.Join(p.RunDir(run), f.planned.File), f.data)
}

// findPlan finds the plan of a run: as the journal names it, the newest beside the journal, the file that the user names,
// the one that the journal says the user keeps, or the only plan at the top of the project that has the run's name.
func (r *Recovery) findPlan(run pawl.RunID, state *pawl.State, named string) (foundPlan, error) {
	if r.New && r.plan.Plan != nil {
		return r.plan, nil
	}
	var before pawl.RunPlanned
	if state != nil {
		before = state.Plan
		if state.Run != "" && before.Revision == 0 && state.Kind != pawl.PlanRun && state.Kind != pawl.CommandRun {
			return foundPlan{}, nil // it never had one
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
	data, err := os.ReadFile(file)
	if err != nil {
		return foundPlan{}, err
	}
	plan, err := planfile.Read(file, data)
	if err != nil {
		return foundPlan{}, err
	}
	found := foundPlan{Plan: plan, data: data, source: file, write: true, from: why, confidence: Likely}
	if named != "" {
		found.confidence = Certain
	}
	if runs.SHA256Hex(data) == before.SHA256 { // it was the copy beside the journal that was lost
		found.planned, found.confidence = &before, Certain
		return found, nil
	}
	planned := runs.PlanEvent(r.project, before.Revision+1, runs.CreateOptions{Plan: plan, Data: data, Source: file})
	found.planned = &planned
	return found, nil
}

// planBeside returns the newest revision of the plan that lies beside the journal.
func (r *Recovery) planBeside(run pawl.RunID, before pawl.RunPlanned) (foundPlan, error) {
	for revision := newestRevision(r.project, run); revision > 0; revision-- {
		path := r.project.PlanFile(run, revision)
		data, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		plan, err := planfile.Read(path, data)
		if err != nil {
			continue // half a plan is none
		}
		found := foundPlan{Plan: plan, data: data, from: fmt.Sprintf("%s lies beside the journal", filepath.Base(path)), confidence: Certain}
		if runs.SHA256Hex(data) == before.SHA256 && revision == before.Revision {
			return found, nil
		}
		if revision == before.Revision { // it is not the one that the journal names
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

// newestRevision returns the highest number of a plan beside the journal.
func newestRevision(p *project.Project, run pawl.RunID) int {
	n := 0
	names, _ := filepath.Glob(filepath.Join(p.RunDir(run), "plan*.yaml")) // the pattern is right
	for _, name := range names {
		revision := 1
		if _, err := fmt.Sscanf(filepath.Base(name), "plan.%d.yaml", &revision); err != nil && filepath.Base(name) != "plan.yaml" {
			continue
		}
		n = max(n, revision)
	}
	return n
}

// topPlans returns what may be a plan at the top of the project, by path.
func (r *Recovery) topPlans() []string {
	var found []string
	for _, pattern := range []string{"*.yaml", "*.yml"} {
		names, _ := filepath.Glob(filepath.Join(r.project.Root, pattern)) // the pattern is right
		found = append(found, names...)
	}
	return found
}

// sameFile returns the file at the top of the project that has just these bytes.
func (r *Recovery) sameFile(data []byte) string {
	for _, path := range r.topPlans() {
		if other, err := os.ReadFile(path); err == nil && string(other) == string(data) {
			return path
		}
	}
	return ""
}

// usersPlan returns the user's own file of the plan, and why it is taken for that; empty where there is none.
func (r *Recovery) usersPlan(run pawl.RunID, before pawl.RunPlanned, named string) (path, why string, err error) {
	if named != "" {
		path, err := filepath.Abs(named)
		return path, "it was named", err
	}
	if before.Source != "" {
		path := r.absolute(before.Source)
		if _, err := os.Stat(path); err == nil {
			return path, "the journal says that the plan is kept in " + before.Source, nil
		}
	}
	var found []string
	for _, path := range r.topPlans() {
		data, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		plan, err := planfile.Read(path, data)
		if err == nil && (run == "" || strings.HasPrefix(string(run), pawl.SlugOf(plan.Name)+"-"+runs.RunStamp(run))) {
			found = append(found, path)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], filepath.Base(found[0]) + " is the only plan here that has its name", nil
	case len(found) > 1:
		return "", "", runs.UsageError("pawl recover --plan "+filepath.Base(found[0]), "%d plans may be the one: say which", len(found))
	case run != "":
		return "", "", runs.UsageError("pawl recover "+string(run)+" --plan FILE", "the plan of run %s was not found", run)
	}
	return "", "", nil
}
