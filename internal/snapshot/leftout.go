package snapshot

import (
	"bytes"
	"errors"
	"strings"

	"golang.org/x/sys/unix"
)

// LeftOut is a path below the root that is not in a snapshot. For an ignored folder, only the folder is listed.
type LeftOut struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// Reasons for leaving a path out. For an unreadable file the reason is the system's error.
const (
	whyIgnored = "ignored"
	whySecret  = "may hold secrets"
	whyNested  = "nested git repository"
	whyTooDeep = "path longer than 4095 bytes"
	whyTooBig  = "larger than 2 TiB"
	whySocket  = "socket"
	whyPipe    = "named pipe"
	whyDevice  = "device"
	whyOther   = "neither file nor folder nor link"
)

// gitFolder is the name of a repository's folder, or of the file that points to it.
const gitFolder = ".git"

// isRule reports whether the reason is a pattern or a name, which no change of the file itself affects.
func isRule(why string) bool { return why == whyIgnored || why == whySecret || why == whyNested }

// Nested reports whether the path is the .git of a nested repository.
func (l LeftOut) Nested() bool { return l.Why == whyNested }

// Secret reports whether the path was left out because it may hold secrets.
func (l LeftOut) Secret() bool { return l.Why == whySecret }

// Derived reports whether the path is a folder that a tool can make again.
func (l LeftOut) Derived() bool { return strings.HasPrefix(l.Why, derivedPrefix) }

// Unreadable reports whether the path was left out because the system refused to read it.
func (l LeftOut) Unreadable() bool {
	switch l.Why {
	case whyTooDeep, whyTooBig, whySocket, whyPipe, whyDevice, whyOther:
		return false
	}
	return !isRule(l.Why) && !l.Derived()
}

// noteLeftOut remembers a path that pawl, and not the user, chose to leave out, if the last walk did not.
func (w *walk) noteLeftOut(l LeftOut, old *stamp) {
	if old.kind == leftOutKind && old.text == l.Why || !l.Nested() && !l.Secret() && !l.Derived() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.newLeftOut = append(w.newLeftOut, l)
}

// StaysOut is a path that a restore neither creates nor changes, because it is not in the checkpoint.
type StaysOut struct {
	LeftOut
	Missing bool `json:"missing,omitempty"` // it does not exist now
}

// StaysOut returns what the restored paths contain, or contained, that the snapshot left out, and the .git of repositories
// nested there since.
func (r *Restoration) StaysOut() ([]StaysOut, error) {
	list, err := r.store.LeftOutOf(r.target)
	if err != nil {
		return nil, err
	}
	root, err := openFolder(r.store.cfg.Root)
	if err != nil {
		return nil, err
	}
	defer unix.Close(root)
	var out []StaysOut
	for _, l := range list {
		if covered(l.Path, r.paths) {
			_, err := kindBelow(root, l.Path)
			out = append(out, StaysOut{LeftOut: l, Missing: errors.Is(err, unix.ENOENT)})
		}
	}
	for _, path := range r.nested {
		if !isLeftOut(list, path) {
			out = append(out, StaysOut{LeftOut: LeftOut{Path: path, Why: whyNested}})
		}
	}
	for _, path := range r.Kept { // ignored by the rules of then, and made since
		if !isLeftOut(list, path) {
			out = append(out, StaysOut{LeftOut: LeftOut{Path: path, Why: whyIgnored}})
		}
	}
	return out, nil
}

// WhyLeftOut returns why the snapshot left a path or one of its parents out; "" if it did not.
func (s *Store) WhyLeftOut(r Record, path string) (string, error) {
	list, err := s.LeftOutOf(r)
	if err != nil {
		return "", err
	}
	for _, l := range list {
		if l.Path == path || strings.HasPrefix(path, l.Path+"/") {
			return l.Why, nil
		}
	}
	return "", nil
}

// encodeLeftOut encodes the list as an object: path and reason, each terminated by a NUL. Names may contain any other
// byte.
func encodeLeftOut(list []LeftOut) []byte {
	var out []byte
	for _, l := range list {
		out = append(append(append(append(out, l.Path...), 0), l.Why...), 0)
	}
	return out
}

func decodeLeftOut(data []byte) (list []LeftOut, ok bool) {
	for rest := data; len(rest) > 0; {
		path, more, ok := bytes.Cut(rest, []byte{0})
		why, after, ok2 := bytes.Cut(more, []byte{0})
		if !ok || !ok2 {
			return nil, false
		}
		list, rest = append(list, LeftOut{Path: string(path), Why: string(why)}), after
	}
	return list, true
}
