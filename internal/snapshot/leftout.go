package snapshot

import "bytes"

// LeftOut is something below the root that is not in a snapshot. Of an ignored folder only the folder is named.
type LeftOut struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// Why something is left out, beside what the system says of a file that cannot be read.
const (
	whyIgnored = "ignored"
	whyTooDeep = "path longer than 4095 bytes"
	whyTooBig  = "larger than 2 TiB"
)

// encodeLeftOut gives the object of a list: path and reason of each, and a NUL after every one of them. Names may be any
// other bytes.
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
