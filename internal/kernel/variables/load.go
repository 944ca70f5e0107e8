package variables

import (
	"fmt"
	"strings"

	"pawl/internal/disk"
	"pawl/internal/kernel"
)

// Loading is a checkpoint that a kernel is about to load.
type Loading struct {
	ID   string `json:"id"`
	From ID     `json:"from"`
	Code string `json:"-"` // the cell
}

// LoadCell returns a cell that loads a checkpoint. The kernel loads all variables or none; with strict it loads none if its Python,
// platform or packages differ from those that were saved.
func (s *Store) LoadCell(id ID, strict bool) (Loading, error) {
	m, err := s.Manifest(id)
	if err != nil {
		return Loading{}, err
	}
	if m.Verified.IsZero() {
		return Loading{}, fmt.Errorf("checkpoint %s is not verified", id)
	}
	loading := Loading{ID: disk.RandomHex(8), From: id}
	loading.Code, err = callCell(map[string]any{"action": "load", "id": loading.ID, "manifest": s.manifestPath(id), "sha256": m.SHA256, "objects": s.objects(),
		"skip": names(m.Failed), "unstable": names(m.Unstable), "strict": strict})
	return loading, err
}

// names returns a list that is no null in JSON.
func names(list []string) []string { return append([]string{}, list...) }

// Drift is the error of a strict load in an environment that differs from the one in which the variables were saved.
type Drift []string

func (d Drift) Error() string { return strings.Join(d, "; ") }

// Result returns the names of the variables that were loaded, and what differs in the environment.
func (l Loading) Result(messages []kernel.Message) (loaded, warnings []string, err error) {
	var result struct{ Loaded, Warnings, Drift []string }
	if err := answer(messages, l.ID, &result); err != nil {
		return nil, nil, fmt.Errorf("load the variables of %s: %w", l.From, err)
	}
	if len(result.Drift) > 0 {
		return nil, nil, Drift(result.Drift)
	}
	return result.Loaded, result.Warnings, nil
}
