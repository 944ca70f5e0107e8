package snapshot

import "bytes"

// LeftOut is a path below the root that is not in a snapshot. For an ignored folder, only the folder is listed.
type LeftOut struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// Reasons for leaving a path out. For an unreadable file the reason is the system's error.
const (
	whyIgnored = "ignored"
	whyTooDeep = "path longer than 4095 bytes"
	whyTooBig  = "larger than 2 TiB"
)

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
