package grid

import (
	"strconv"
	"strings"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/report"
	"pawl/internal/lazyregexp"
	"pawl/internal/oneline"
	"pawl/internal/textedit"
	"pawl/internal/textedit/markdown"
)

// The lines of a state in prose.
var (
	countLine = lazyregexp.New(`^(Phase|Block|Plan|Wave|Thread):\s*(\d+)\s+of\s+(\d+)(?:\s+in current phase)?(?:\s*\((.*)\))?\s*$`)
	wordLine  = lazyregexp.New(`^(Status|Last activity|Progress|Last session|Stopped at|Resume file|Cluster|Mode|Session|Energy|Energy remaining):\s*(.*?)\s*$`)
	phaseHead = lazyregexp.New(`^Phase\s+(\d+)\s*[:—–-]\s*(.*?)(?:\s*\((?:Blocks?|Plans?)\b[^)]*\))?$`)
	blockItem = lazyregexp.New(`^(\s*[-*]\s+)(\S+|\[ \])\s+(?:Block|Plan)\s+([\w.]+)\s*:\s*(.*)$`)
	percent   = lazyregexp.New(`(\d+(?:\.\d+)?)\s*%`)
	sinceDash = lazyregexp.New(`\s+[-–—]\s+`)
	stateHead = lazyregexp.New(`^(?i)(?:grid|project) state(?:\s*[-–—:]\s*(.*))?$`)
	endedBy   = lazyregexp.New(`\s+-\s+(COMPLETE|COMPLETED|DONE|FAILED|SKIPPED|IN PROGRESS|BLOCKED)(\s*\([^)]*\))?\s*$`)
)

// isProse reports whether a state is prose: it has the heading of the position, or of the file.
func isProse(data []byte) bool {
	if _, _, _, fenced := markdown.Front(data); fenced {
		return false
	}
	for _, s := range markdown.Sections(textedit.Lines(data)) {
		if strings.EqualFold(s.Title, "Current Position") || stateHead.MatchString(s.Title) {
			return true
		}
	}
	return false
}

// readProse reads a state in prose.
func (r *clusterReader) readProse(f *format.File) {
	lines := textedit.Lines(f.Data)
	phase := 0
	for _, l := range lines {
		if m := countLine.FindStringSubmatch(l.Text); m != nil {
			r.proseCount(m)
		} else if m := wordLine.FindStringSubmatch(l.Text); m != nil {
			r.proseWord(f.Path, l, m[1], m[2])
		}
	}
	for _, s := range markdown.Sections(lines) {
		if m := phaseHead.FindStringSubmatch(s.Title); m != nil {
			phase = blockNumber(m[1])
			r.phases[phase] = m[2]
			r.proseBlocks(f, phase, s.Lead())
		} else if strings.EqualFold(s.Title, "Block Status") {
			r.proseBlocks(f, 0, s.Lead())
		} else if m := stateHead.FindStringSubmatch(s.Title); m != nil && m[1] != "" {
			r.out.Name = m[1]
		} else if strings.EqualFold(s.Title, "Notes") {
			r.fact("state_notes", oneline.Clip(markdown.Join(s.Lead()), maxText))
		}
	}
}

func (r *clusterReader) proseCount(m []string) {
	n, total := blockNumber(m[2]), blockNumber(m[3])
	p := &r.out.Position
	switch m[1] {
	case "Phase":
		p.Phase, p.PhaseTotal, p.PhaseName = n, total, m[4]
	case "Block", "Plan":
		p.Step, p.StepTotal, r.state.block = n, total, blockID(m[2])
	case "Wave":
		p.Wave, p.WaveTotal = n, total
	case "Thread":
		p.Item, p.ItemTotal = n, total
	}
}

func (r *clusterReader) proseWord(file string, l textedit.Line, key, text string) {
	if strings.EqualFold(text, "none") {
		return
	}
	switch key {
	case "Status":
		r.state.native = text
	case "Last activity":
		day, what := text, ""
		if at := sinceDash.FindStringIndex(text); at != nil {
			day, what = text[:at[0]], text[at[1]:]
		}
		r.fact("last_activity", what)
		r.addActivity(r.readTime(file, l.Number, day))
	case "Last session":
		r.addActivity(r.readTime(file, l.Number, text))
	case "Progress":
		if m := percent.FindStringSubmatch(text); m != nil {
			value, err := strconv.ParseFloat(m[1], 64)
			if err == nil {
				r.out.Percent = int(min(value, 100))
			}
			r.fact("progress", m[0])
		}
	case "Mode":
		r.out.Mode = r.mode(file, l.Number, strings.ToLower(text))
	case "Cluster":
		r.out.Name = text
	default:
		r.fact(strings.ReplaceAll(strings.ToLower(key), " ", "_"), text)
	}
}

// proseBlocks reads the bullets "- ✅ Block 01: what - COMPLETE".
func (r *clusterReader) proseBlocks(f *format.File, phase int, lines []textedit.Line) {
	for _, l := range lines {
		m := blockItem.FindStringSubmatch(l.Text)
		if m == nil {
			continue
		}
		b := r.block(blockID(m[3]))
		name, said := m[4], ""
		if at := endedBy.FindStringSubmatchIndex(name); at != nil {
			said, name = strings.TrimSpace(name[at[2]:]), name[:at[0]]
		}
		if b.Name == "" || b.summary == "" {
			b.Name = name
		}
		if phase > 0 {
			b.phase = phase
		}
		r.proseClaim(b, m[2], said, report.Where(f.Path, l.Number))
	}
}

// proseClaim takes the status in the state for a block that has no summary.
func (r *clusterReader) proseClaim(b *block, mark, said, at string) {
	b.said = said
	if b.summary != "" {
		return
	}
	b.Where = at
	word, _, _ := strings.Cut(strings.ToLower(said), " (")
	status := stepStatus(word, markStatus(mark))
	if status == pawl.Done && len(b.gone) > 0 {
		return
	}
	if status == pawl.Done {
		b.Why = "only STATE.md says that it is complete; " + b.id + "-SUMMARY.md is missing"
		r.Add(pawl.Finding{Level: pawl.Warn, What: "block " + b.id + " is marked complete but has no summary", Where: at,
			Evidence: said, Hint: "check whether its work is there"})
	}
	b.Status, b.Native = status, said
}

func markStatus(mark string) pawl.StepStatus {
	switch strings.Trim(mark, "\uFE0F[]") {
	case "✅", "✓", "✔", "x", "X":
		return pawl.Done
	case "❌", "✗", "✘":
		return pawl.FailedForGood
	case "⏭":
		return pawl.Skipped
	case "🔄", "▶", "🚧", "🔨", "✋":
		return pawl.Running
	}
	return pawl.Pending
}

// addActivity updates the time of the last activity.
func (r *clusterReader) addActivity(at time.Time) {
	r.out.Updated = later(r.out.Updated, at)
	r.state.updated = later(r.state.updated, r.notFuture(at))
}
