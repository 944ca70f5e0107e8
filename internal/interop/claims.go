package interop

import (
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/outputs"
	"pawl/internal/project"
)

// CheckClaims checks the files that the finished steps of a project claim, relative to root. A step with a missing or
// changed file becomes pending, with a finding, and its prompt says why. It returns the steps in topological order.
func CheckClaims(root string, r format.Project) (format.Project, []pawl.Finding) {
	r, _, findings := checkClaims(root, r)
	return r, findings
}

// checkClaims is CheckClaims. It also returns the outputs of the other finished steps.
func checkClaims(root string, r format.Project) (format.Project, map[pawl.StepID]pawl.Outputs, []pawl.Finding) {
	proven := map[pawl.StepID]pawl.Outputs{}
	var findings []pawl.Finding
	var first *format.Step // that is reopened
	r.Phases, findings = format.Ordered(r.Phases)
	for i, phase := range r.Phases {
		for j := range phase.Steps {
			s := &r.Phases[i].Steps[j]
			if s.Status != pawl.Done && s.Status != pawl.Skipped {
				continue
			}
			outputs, missing := checkFiles(root, s.Claims)
			if len(missing) == 0 {
				proven[s.ID] = outputs
				continue
			}
			findings = append(findings, reopen(s, missing))
			s.Items = reopenItems(root, s.Items)
			if first == nil {
				first = s
			}
		}
	}
	if first != nil {
		continueAt(&r, first)
		r.Percent = min(r.Percent, 100*countDone(r)/r.Count())
	}
	return r, proven, findings
}

// countDone returns how many steps of a project are finished.
func countDone(r format.Project) (n int) {
	for _, phase := range r.Phases {
		for _, s := range phase.Steps {
			if s.Status == pawl.Done || s.Status == pawl.Skipped {
				n++
			}
		}
	}
	return n
}

// continueAt sets the position to a reopened step, unless the project continues before it anyway.
func continueAt(r *format.Project, s *format.Step) {
	pos, before := &r.Position, 0
	for i, phase := range r.Phases {
		j := slices.IndexFunc(phase.Steps, func(at format.Step) bool { return at.ID == s.ID || at.ID == pos.StepID && !pos.Complete })
		if j < 0 {
			before += len(phase.Steps)
			continue
		}
		if phase.Steps[j].ID != s.ID {
			return
		}
		again := "rerun step " + string(s.ID) + ", because some of its files are missing or changed"
		if r.Next != "" && !pos.Complete {
			again += "; then: " + r.Next
		}
		if r.Next = again; r.Status == pawl.StatusCompleted {
			r.Status, r.Resume = pawl.StatusInterrupted, "files of its finished work are missing or changed"
		}
		pos.Complete, pos.Phase, pos.PhaseName, pos.StepID, pos.StepName, pos.Item, pos.ItemTotal = false, i+1, phase.Name, s.ID, s.Name, 0, 0
		if pos.StepTotal == r.Count() {
			pos.Step = before + j + 1
		}
		return
	}
}

// reopen makes a finished step pending, because claimed files are missing. The step is done once they exist.
func reopen(s *format.Step, missing []string) pawl.Finding {
	s.Status, s.Missing = pawl.Pending, slices.DeleteFunc(slices.Compact(slices.Clone(missing)), func(name string) bool {
		return strings.Contains(name, "$") || name == project.Folder || strings.HasPrefix(name, project.Folder+"/") // invalid as outputs of a plan
	})
	s.Missing = s.Missing[:min(len(s.Missing), maxClaims)]
	s.Resume = strings.TrimSpace(fmt.Sprintf("%s\nIt was marked as done, but some of its files are missing or changed (%d): %s",
		s.Resume, len(missing), strings.Join(missing[:min(len(missing), 20)], ", ")))
	return pawl.Finding{Level: pawl.Warn, Where: s.Where, What: fmt.Sprintf(
		"step %s is marked as done, but some of its files are missing or changed (%d): %v; it will rerun", s.ID, len(missing), missing[:min(len(missing), 5)])}
}

// reopenItems returns the items of a reopened step. An item stays done only if it names its outputs and all of them exist.
func reopenItems(root string, items []format.Item) []format.Item {
	items = slices.Clone(items)
	for i := range items {
		item := &items[i]
		var claims []format.Claim
		for _, name := range item.Outputs {
			claims = append(claims, format.Claim{Path: name})
		}
		if _, missing := checkFiles(root, claims); item.Status == pawl.ItemIsDone && (len(missing) > 0 || len(claims) == 0) {
			item.Status, item.Commit = pawl.ItemPending, ""
		}
	}
	return items
}

// maxClaims limits the claimed files in one event.
const maxClaims = 200

// checkFiles returns the content of the claimed files, and the paths of those that are missing or changed.
func checkFiles(root string, claims []format.Claim) (pawl.Outputs, []string) {
	found := pawl.Outputs{}
	var missing []string
	for _, claim := range claims {
		c, err := outputs.HashOne(root, claim.Path)
		switch {
		case err != nil, claim.SHA256 != "" && claim.SHA256 != c.SHA256, c == (pawl.Content{}):
			missing = append(missing, claim.Path)
		case len(found) < maxClaims:
			found[claim.Path] = c
		}
	}
	slices.Sort(missing)
	if len(found) == 0 {
		return nil, missing
	}
	return found, missing
}
