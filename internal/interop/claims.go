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

// Prove looks at the files that the finished steps of a reading claim, below a project's root. A step of whose files one is
// missing, or not as it was, is to be done again: that is a finding, the step is pending, and tells so to who does it. The
// steps come in an order in which they can be done.
func Prove(root string, r format.Project) (format.Project, []pawl.Finding) {
	r, _, findings := prove(root, r)
	return r, findings
}

// prove is Prove, and returns what the files of the other finished steps hold.
func prove(root string, r format.Project) (format.Project, map[pawl.StepID]pawl.Outputs, []pawl.Finding) {
	proven := map[pawl.StepID]pawl.Outputs{}
	var findings []pawl.Finding
	r.Phases, findings = format.Ordered(r.Phases)
	for i, phase := range r.Phases {
		for j := range phase.Steps {
			s := &r.Phases[i].Steps[j]
			if s.Status != pawl.Done && s.Status != pawl.Skipped {
				continue
			}
			outputs, missing := claimed(root, s.Claims)
			if len(missing) == 0 {
				proven[s.ID] = outputs
				continue
			}
			findings = append(findings, again(s, missing))
			s.Items = remade(root, s.Items)
			if r.Status == pawl.StatusCompleted {
				r.Status, r.Position.Complete = pawl.StatusInterrupted, false
				r.Resume, r.Next = "files of its finished work are missing or changed", "do step "+string(s.ID)+" again"
			}
		}
	}
	return r, proven, findings
}

// again has a step done again that was said to be done; it is done once what is missing is there.
func again(s *format.Step, missing []string) pawl.Finding {
	s.Status, s.Missing = pawl.Pending, slices.DeleteFunc(slices.Compact(slices.Clone(missing)), func(name string) bool {
		return strings.Contains(name, "$") || name == project.Folder || strings.HasPrefix(name, project.Folder+"/") // no plan has such outputs
	})
	s.Missing = s.Missing[:min(len(s.Missing), mostClaims)]
	s.Resume = strings.TrimSpace(fmt.Sprintf("%s\nIt was said to be done, but of its files %d are missing or changed: %s",
		s.Resume, len(missing), strings.Join(missing[:min(len(missing), 20)], ", ")))
	return pawl.Finding{Level: pawl.Warn, Where: s.Where, What: fmt.Sprintf(
		"step %s is said to be done, but of its files %d are missing or changed: %v; it is to be done again", s.ID, len(missing), missing[:min(len(missing), 5)])}
}

// remade returns the items of a step that is to be done again: those are done whose files are named, and there.
func remade(root string, items []format.Item) []format.Item {
	items = slices.Clone(items)
	for i := range items {
		item := &items[i]
		var claims []format.Claim
		for _, name := range item.Outputs {
			claims = append(claims, format.Claim{Path: name})
		}
		if _, missing := claimed(root, claims); item.Status == pawl.ItemIsDone && (len(missing) > 0 || len(claims) == 0) {
			item.Status, item.Commit = pawl.ItemPending, ""
		}
	}
	return items
}

// mostClaims is how many claimed files an event has.
const mostClaims = 200

// claimed checks claims on disk.
func claimed(root string, claims []format.Claim) (pawl.Outputs, []string) {
	found := pawl.Outputs{}
	var missing []string
	for _, claim := range claims {
		c, err := outputs.HashOne(root, claim.Path)
		switch {
		case err != nil, claim.SHA256 != "" && claim.SHA256 != c.SHA256, c == (pawl.Content{}):
			missing = append(missing, claim.Path)
		case len(found) < mostClaims:
			found[claim.Path] = c
		}
	}
	slices.Sort(missing)
	if len(found) == 0 {
		return nil, missing
	}
	return found, missing
}
