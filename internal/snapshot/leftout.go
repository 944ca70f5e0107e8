package snapshot

import (
	"bytes"
	"errors"

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
	whyTooDeep = "path longer than 4095 bytes"
	whyTooBig  = "larger than 2 TiB"
)

// isRule reports whether the reason is a pattern, which no change of the file itself affects.
func isRule(why string) bool { return why == whyIgnored || why == whySecret }

// StaysOut is a path that a restore neither creates nor changes, because it is not in the checkpoint.
type StaysOut struct {
	LeftOut
	Missing bool `json:"missing,omitempty"` // it does not exist now
}

// StaysOut returns what the restored paths contain, or contained, that the snapshot left out.
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
	for _, path := range r.Kept { // ignored by the rules of then, and made since
		if !isLeftOut(list, path) {
			out = append(out, StaysOut{LeftOut: LeftOut{Path: path, Why: whyIgnored}})
		}
	}
	return out, nil
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
