package sessions

import (
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/brief"
	"pawl/internal/runs"
)

// fromJournal is what a brief remembers of what it has read in a journal.
type fromJournal struct {
	Work   string // the work from which the rest follows; see workOf
	Left   map[pawl.StepID]brief.Left
	Base   string                      // the snapshot that proves all outputs of finished work, as long as none of them differs from it
	Proofs map[pawl.StepID]brief.Proof // in that case
	Paths  string                      // of these outputs, each between two of pathEnd
}

// pathEnd is in no path.
const pathEnd = "\x00"

// provedBy reports whether a snapshot still proves all outputs if these paths differ from it.
func (k *fromJournal) provedBy(base string, touched map[string]bool) bool {
	if k.Proofs == nil || k.Base != base {
		return false
	}
	for path := range touched {
		if strings.Contains(k.Paths, pathEnd+path+pathEnd) {
			return false
		}
	}
	return true
}

// workOf returns a hash of what a state says of outputs and items: all that decides what is left of an item list, and that a snapshot proves
// outputs, but for the events of the journal that it names.
func workOf(s *pawl.State) string {
	var all []byte
	text := func(t string) { all = append(binary.AppendUvarint(all, uint64(len(t))), t...) }
	number := func(n int64) { all = binary.AppendVarint(all, n) }
	for _, id := range slices.Sorted(maps.Keys(s.Steps)) {
		st := s.Steps[id]
		if len(st.Outputs) == 0 && st.Items == nil {
			continue
		}
		text(string(id))
		text(st.StatusText()) // of a failure it tells whether the run continues
		number(int64(st.Done))
		number(st.Started.UnixNano())
		number(int64(len(st.Outputs)))
		for _, path := range slices.Sorted(maps.Keys(st.Outputs)) {
			c := st.Outputs[path]
			text(path)
			text(c.SHA256)
			number(c.Size)
			number(int64(c.Files))
		}
		if st.Items == nil {
			number(-1)
			continue
		}
		number(int64(st.Items.Total))
		number(int64(st.Items.Count))
		for _, list := range [][]pawl.Seq{st.Items.Lists, st.Items.Done} {
			number(int64(len(list)))
			for _, seq := range list {
				number(int64(seq))
			}
		}
		for _, indexes := range [][]int{slices.Sorted(maps.Keys(st.Items.Failed)), slices.Sorted(maps.Keys(st.Items.Skipped))} {
			number(int64(len(indexes)))
			for _, index := range indexes {
				number(int64(index))
			}
		}
	}
	return runs.SHA256Hex(all)
}
