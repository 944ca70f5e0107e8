package grid

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/report"
	"pawl/internal/oneline"
	"pawl/internal/textedit/markdown"
	"pawl/internal/textedit/yamledit"
)

// The shapes of STATE.md.
const (
	frontShape = "front matter"
	bareShape  = "YAML"
	proseShape = "prose"
)

// stateRead is the content of STATE.md.
type stateRead struct {
	file    *format.File
	shape   string // empty: missing or unreadable
	native  string // status
	updated time.Time
	block   string // normalized; empty: unknown
}

// readState reads STATE.md in any shape or, if it is missing, the leftover of an interrupted write.
func (r *clusterReader) readState() {
	f, left := r.file("STATE.md"), r.file("STATE.md.tmp")
	switch {
	case left != nil && f == nil:
		r.Warn(left.Path, "STATE.md is missing; the leftover of an interrupted write was read instead")
		f = left
	case left != nil:
		r.Find(pawl.Warn, left.Path, "remove it", "a write of STATE.md was interrupted; its leftover was not read")
	case f == nil:
		return
	}
	r.state.file = f
	r.state.shape = r.shapeOf(f)
	switch r.state.shape {
	case "":
		r.Add(pawl.Finding{Level: pawl.Bad, What: "not a state file: neither YAML with a position nor the headings of The Grid", Where: f.Path,
			Hint: "it was rebuilt from the summaries; review it before you resume"})
	case proseShape:
		r.readProse(f)
	default:
		c, _, _ := r.front(f, true)
		r.readFields(c)
	}
	r.fact("state_shape", r.state.shape)
}

// shapeOf returns the shape of a STATE.md.
func (r *clusterReader) shapeOf(f *format.File) string {
	if isProse(f.Data) {
		return proseShape
	}
	quiet := &clusterReader{now: r.now}
	c, _, _ := quiet.front(f, true)
	_, _, _, fenced := markdown.Front(f.Data)
	switch {
	case !c.isState():
		return ""
	case fenced:
		return frontShape
	}
	return bareShape
}

// isState reports whether a record has a field of STATE.md.
func (c yamlRecord) isState() bool {
	return c.at("status") != nil || c.at("position") != nil || c.at("cluster") != nil
}

// readFields reads the fields of a state in YAML.
func (r *clusterReader) readFields(c yamlRecord) {
	r.out.Name = cmp.Or(c.text("cluster"), r.out.Name)
	r.out.ID = c.text("session_id")
	r.state.native = c.text("status")
	r.out.Created, r.out.Updated = c.time("created_at"), c.time("updated_at")
	r.state.updated = r.notFuture(r.out.Updated)
	r.readPosition(c)
	r.out.Percent = min(c.number("progress_percent"), 100)
	r.out.Mode = r.mode(c.file, c.at("mode").LineOf(), c.text("mode"))
	for _, key := range []string{"energy_remaining", "error", "last_checkpoint"} {
		r.fact(key, c.text(key))
	}
	for _, key := range []string{"cluster", "session_id", "status", "created_at", "updated_at", "mode"} {
		switch v := c.at(key); {
		case v != nil && v.Kind != yamledit.Scalar:
			r.Warn(report.Where(c.file, v.Line), "%s is not text", key)
		case c.text(key) == "" && (key == "cluster" || key == "status"):
			r.Warn(report.Where(c.file, c.root.Line), "there is no %s", key)
		}
	}
	if word := r.state.native; word != "" && !statusKnown(word) {
		r.Warn(report.Where(c.file, c.at("status").LineOf()), "%s is not a known status; it is treated as interrupted", oneline.Quote(word))
	}
	c.unusedFacts(r.out.Facts, "state")
}

func (r *clusterReader) mode(file string, line int, word string) pawl.Mode {
	switch mode := pawl.Mode(word); mode {
	case pawl.Guided, pawl.Autopilot, pawl.HandsOn, "":
		return mode
	}
	r.Warn(report.Where(file, line), "unknown mode %s; expected guided, autopilot or hands_on", oneline.Quote(word))
	return ""
}

// readPosition reads the position, which can be at the top level if the indentation was lost.
func (r *clusterReader) readPosition(c yamlRecord) {
	p := c
	if inner := c.at("position"); inner != nil && inner.Kind == yamledit.Map {
		p = c.in(inner)
	} else if inner != nil && (inner.Says() != "" || inner.Kind == yamledit.List) {
		r.Warn(report.Where(c.file, inner.Line), "position is not a mapping with phase, block, wave and thread")
	}
	r.out.Position = pawl.Position{
		Phase: p.number("phase"), PhaseTotal: p.number("phase_total"), PhaseName: p.text("phase_name"),
		Step: p.number("block"), StepTotal: p.number("block_total"), Wave: p.number("wave"), WaveTotal: p.number("wave_total"),
		Item: p.number("thread"), ItemTotal: p.number("thread_total"),
	}
	r.fact("thread_name", p.text("thread_name"))
	r.state.block = p.block("block")
}

// runStatus returns the run status for a word of the state. Active means that a session may be alive: see evalStatus.
func runStatus(word string) pawl.RunStatus {
	switch strings.ToLower(word) {
	case "active", "initialized", "resumed", "in_progress", "in progress", "running":
		return pawl.StatusActive
	case "checkpoint", "waiting":
		return pawl.StatusWaiting
	case "completed", "complete", "done":
		return pawl.StatusCompleted
	case "failed", "failure":
		return pawl.StatusFailed
	case "paused":
		return pawl.StatusPaused
	}
	return pawl.StatusInterrupted
}

// statusKnown reports whether a word is a status of The Grid, or a synonym.
func statusKnown(word string) bool {
	return runStatus(word) != pawl.StatusInterrupted || slices.Contains([]string{"interrupted", "stale", "stopped"}, strings.ToLower(word))
}

// readWaves reads WAVE_STATUS.md in the shape that pawl writes. The document names the file and defines no shape.
func (r *clusterReader) readWaves() {
	f := r.file("WAVE_STATUS.md")
	if f == nil {
		return
	}
	c, body, ok := r.front(f, true)
	if ok {
		for _, e := range c.records("waves") {
			r.inWave(e.number("wave"), e.texts("blocks"))
			for _, id := range e.texts("skipped") {
				if b := r.block(blockID(id)); b.Status == pawl.Pending {
					b.Status = pawl.Skipped
				}
			}
			e.text("status")
			e.number("phase")
		}
		c.text("cluster")
		c.time("updated_at")
		c.unusedFacts(r.out.Facts, "waves")
	}
	for _, s := range markdown.Sections(bodyLines(f.Data, body)) {
		if m := waveTitle.FindStringSubmatch(s.Title); m != nil {
			r.inWave(blockNumber(m[1]), blocksIn(markdown.Join(s.Lead())))
		}
	}
}

// pending returns the blocks that are not complete, including those that the state only counts.
func (r *clusterReader) pending() []*block {
	var open []*block
	for _, b := range r.order() {
		if !b.complete() && b.Status != pawl.Skipped {
			open = append(open, b)
		}
	}
	return open
}

// addCounted adds the blocks that the state counts, if it numbers all blocks.
func (r *clusterReader) addCounted() {
	total := r.out.Position.StepTotal
	const most = 999
	numbered := slices.Collect(func(yield func(string) bool) {
		for id := range r.blocks {
			if _, ok := onlyDigits(id); ok && !yield(id) {
				return
			}
		}
	})
	if total < 1 || total > most || len(r.blocks) >= total || len(numbered) != len(r.blocks) {
		return
	}
	for _, id := range numbered {
		if blockNumber(id) > total {
			return // it counts the blocks of one phase
		}
	}
	for n := 1; n <= total; n++ {
		r.block(fmt.Sprintf("%02d", n))
	}
}
