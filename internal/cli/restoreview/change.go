package restoreview

import (
	"fmt"
	"strings"

	"pawl/internal/snapshot"
)

// Change is a path that differs.
type Change struct {
	Path   string `json:"path"`
	Change string `json:"change"` // added, removed, changed, mode, type
	Kind   string `json:"kind"`   // file, folder or link; of the old entry if the path was removed
	Old    *Side  `json:"old,omitempty"`
	New    *Side  `json:"new,omitempty"`
}

// Side is the path before or after the change.
type Side struct {
	Mode   string `json:"mode,omitempty"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256,omitempty"` // of the content; above 8 MiB, of the ids of its blocks
	Target string `json:"target,omitempty"`
}

// Changes returns the changes of a restore or a diff. It omits added and removed folders unless they are empty.
func Changes(changes []snapshot.Change) []Change {
	reports := []Change{}
	for i, c := range changes {
		e := c.New
		if e == nil {
			e = c.Old
		}
		hasChildren := i+1 < len(changes) && strings.HasPrefix(changes[i+1].Path, c.Path+"/")
		if e.Kind == snapshot.Folder && hasChildren && (c.Old == nil || c.New == nil) {
			continue
		}
		reports = append(reports, Change{Path: c.Path, Change: c.What(), Kind: e.Kind.String(), Old: sideOf(c.Old), New: sideOf(c.New)})
	}
	return reports
}

func sideOf(e *snapshot.Entry) *Side {
	if e == nil {
		return nil
	}
	s := &Side{Size: e.Size, Target: e.Target}
	if e.Kind != snapshot.Link {
		s.Mode = fmt.Sprintf("%04o", e.Mode)
	}
	if e.Kind == snapshot.File || e.Kind == snapshot.Blocks {
		s.SHA256 = e.ID.String()
	}
	return s
}
