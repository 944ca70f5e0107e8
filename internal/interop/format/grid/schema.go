package grid

import (
	"fmt"
	"strconv"
	"strings"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/report"
)

// schema says where the state and the checkpoint have not all that the document requires of them, or numbers that cannot be.
// None of that keeps anybody from going on.
func (v *clusterVerifier) schema() {
	if s := v.clusterReader.state; s.shape == frontShape || s.shape == bareShape {
		c := v.quietly(s.file)
		v.required(c, "session_id", "created_at", "updated_at")
		v.between(c, 100, "progress_percent")
		v.between(c, -1, "energy_remaining")
		for _, of := range []string{"phase", "wave", "thread"} {
			v.within(c, []string{"position", of}, []string{"position", of + "_total"})
		}
		if v.blocks[s.block] == nil { // a block's number is its name, too
			v.within(c, []string{"position", "block"}, []string{"position", "block_total"})
		}
	}
	if f := v.file("CHECKPOINT.md"); f != nil && v.point != nil {
		c := v.quietly(f)
		v.required(c, "timestamp", "cluster", "block", "thread", "thread_name")
		v.within(c, []string{"progress", "blocks_complete"}, []string{"progress", "blocks_total"})
		v.within(c, []string{"progress", "threads_complete"}, []string{"progress", "threads_total"})
	}
}

// quietly reads a file whose oddities were told.
func (v *clusterVerifier) quietly(f *format.File) yamlRecord {
	r := &clusterReader{now: v.now}
	c, _, _ := r.front(f, true)
	return c
}

func (v *clusterVerifier) odd(c yamlRecord, line int, what string) {
	v.found.Add(pawl.Finding{Level: pawl.Warn, What: what, Where: report.Where(c.file, line)})
}

func (v *clusterVerifier) required(c yamlRecord, keys ...string) {
	for _, key := range keys {
		if value := c.at(key); value == nil || value.Says() == "" {
			v.odd(c, c.root.Line, "there is no "+key+", which the document requires")
		}
	}
}

// between tells of a number below 0 or above the most that it may be; -1: it may be any.
func (v *clusterVerifier) between(c yamlRecord, most float64, path ...string) {
	value := c.at(path...)
	n, err := strconv.ParseFloat(strings.TrimSuffix(value.Says(), "%"), 64)
	if err == nil && (n < 0 || most >= 0 && n > most) {
		v.odd(c, value.LineOf(), fmt.Sprintf("%s cannot be %s", strings.Join(path, "."), value.Says()))
	}
}

// within tells of a number that is larger than that of all.
func (v *clusterVerifier) within(c yamlRecord, path, total []string) {
	n, all := c.at(path...), c.at(total...)
	if of := blockNumber(all.Says()); of > 0 && blockNumber(n.Says()) > of {
		v.odd(c, n.LineOf(), fmt.Sprintf("%s cannot be %s of %d", strings.Join(path, "."), n.Says(), of))
	}
}
