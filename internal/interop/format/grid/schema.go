package grid

import (
	"fmt"
	"strconv"
	"strings"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/report"
)

// schema warns of required keys that the state or the checkpoint lacks, and of impossible numbers. None of them prevents a
// resume.
func (v *clusterVerifier) schema() {
	if s := v.clusterReader.state; s.shape == frontShape || s.shape == bareShape {
		c := v.readSilently(s.file)
		v.required(c, "session_id", "created_at", "updated_at")
		v.checkRange(c, 100, "progress_percent")
		v.checkRange(c, -1, "energy_remaining")
		for _, of := range []string{"phase", "wave", "thread"} {
			v.checkCount(c, []string{"position", of}, []string{"position", of + "_total"})
		}
		if v.blocks[s.block] == nil { // a block can be named by its number
			v.checkCount(c, []string{"position", "block"}, []string{"position", "block_total"})
		}
	}
	if f := v.file("CHECKPOINT.md"); f != nil && v.point != nil {
		c := v.readSilently(f)
		v.required(c, "timestamp", "cluster", "block", "thread", "thread_name")
		v.checkCount(c, []string{"progress", "blocks_complete"}, []string{"progress", "blocks_total"})
		v.checkCount(c, []string{"progress", "threads_complete"}, []string{"progress", "threads_total"})
	}
}

// readSilently parses a file without findings, which reading has reported.
func (v *clusterVerifier) readSilently(f *format.File) yamlRecord {
	r := &clusterReader{now: v.now}
	c, _, _ := r.front(f, true)
	return c
}

func (v *clusterVerifier) addOdd(c yamlRecord, line int, what string) {
	v.found.Add(pawl.Finding{Level: pawl.Warn, What: what, Where: report.Where(c.file, line)})
}

func (v *clusterVerifier) required(c yamlRecord, keys ...string) {
	for _, key := range keys {
		if value := c.at(key); value == nil || value.Says() == "" {
			v.addOdd(c, c.root.Line, "missing key "+key+", which The Grid requires")
		}
	}
}

// checkRange reports a number below 0 or above most; -1 means no limit.
func (v *clusterVerifier) checkRange(c yamlRecord, most float64, path ...string) {
	value := c.at(path...)
	n, err := strconv.ParseFloat(strings.TrimSuffix(value.Says(), "%"), 64)
	if err == nil && (n < 0 || most >= 0 && n > most) {
		v.addOdd(c, value.LineOf(), fmt.Sprintf("%s cannot be %s", strings.Join(path, "."), value.Says()))
	}
}

// checkCount reports a number above its total.
func (v *clusterVerifier) checkCount(c yamlRecord, path, total []string) {
	n, all := c.at(path...), c.at(total...)
	if of := blockNumber(all.Says()); of > 0 && blockNumber(n.Says()) > of {
		v.addOdd(c, n.LineOf(), fmt.Sprintf("%s is %s, more than the total of %d", strings.Join(path, "."), n.Says(), of))
	}
}
