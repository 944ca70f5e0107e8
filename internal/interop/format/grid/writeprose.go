package grid

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/lazyregexp"
	"pawl/internal/textedit"
)

// prose changes the lines of a state in prose that say something else now.
func (w *clusterWriter) prose(f *format.File) {
	p := &proseWriter{clusterWriter: w, block: w.at()}
	p.standing()
	lines := textedit.Lines(f.Data)
	for _, l := range lines {
		text := l.Text
		if m := countLine.FindStringSubmatchIndex(text); m != nil {
			if kind := text[m[2]:m[3]]; kind == "Block" || kind == "Plan" {
				p.said = blockID(text[m[4]:m[5]])
			}
			text = p.count(text, m)
		} else if m := wordLine.FindStringSubmatchIndex(text); m != nil {
			text = p.setValue(text, text[m[2]:m[3]], m[4])
		} else if m := blockItem.FindStringSubmatchIndex(text); m != nil {
			text = p.item(text, m)
		}
		if text != l.Text {
			p.edits = append(p.edits, textedit.Edit{From: l.From, To: l.To, Text: text})
		}
	}
	if p.changed() {
		w.put("STATE.md", textedit.Apply(f.Data, p.edits))
	}
}

// proseWriter changes a state in prose.
type proseWriter struct {
	*clusterWriter
	block *blockStep // that the state is about; nil where there is none
	say   string     // the status
	did   string     // the last activity
	said  string     // the block that the file names
	edits []textedit.Edit
}

// changed reports whether anything is to change but when it was looked at.
func (p *proseWriter) changed() bool { return len(p.edits) > 0 }

// standing finds out what a state in prose is about: the block at work, else the one that was completed last.
func (p *proseWriter) standing() {
	last := p.last()
	switch at := p.block; {
	case p.Status == pawl.StatusCompleted:
		p.block, p.say, p.did = p.lastWork(), "Mission complete", "Mission complete"
	case p.Status == pawl.StatusFailed:
		p.say = "Failed"
	case p.question() != nil || p.Status == pawl.StatusWaiting:
		p.say = "Checkpoint"
	case at != nil && at.begun() && p.Status == pawl.StatusActive:
		p.say = "In progress"
	case at != nil && at.begun():
		p.say = "Interrupted"
	case last != nil && (at == nil || at.phase > last.phase):
		p.block, p.say = last, "Phase complete"
	case last != nil:
		p.block, p.say = last, "Block complete"
	default:
		p.say = "Ready to execute"
	}
	switch {
	case p.block == nil || p.did != "":
	case p.block.done():
		p.did = "Completed " + p.block.block + "-PLAN.md"
	default:
		p.did = p.say + ": Block " + p.block.block
	}
}

// count changes "Block: 04 of 09 (name)".
func (p *proseWriter) count(text string, m []int) string {
	if p.block == nil {
		return text
	}
	kind, number, total := text[m[2]:m[3]], text[m[4]:m[5]], text[m[6]:m[7]]
	n, all := 0, 0
	switch kind {
	case "Phase":
		n, all = p.block.phase, len(p.Plan.Phases)
	case "Wave":
		n, all = p.block.wave, p.waveAll
	case "Thread":
		threads := p.threads(p.block)
		if now, _ := current(threads); now != nil {
			n, all = now.number, len(threads)
		}
	default:
		n, all = p.blockCount(p.block, 0, 0)
		if strings.Contains(text, "in current phase") && p.block.phase > 0 {
			steps := p.Plan.Phases[p.block.phase-1].Steps
			n, all = p.blockCount(p.block, p.block.phase, len(steps))
		}
	}
	if said := blockNumber(total); p.State.Import.System == "grid" {
		if kind == "Phase" && said > all || kind == "Wave" && p.importedWaves && said != all {
			return text // of a larger cluster, which the file knows better
		}
		all = max(all, said)
	}
	if n == 0 || all == 0 || n == blockNumber(number) && all == blockNumber(total) {
		return text
	}
	name := text[m[7]:]
	if kind == "Phase" && n != blockNumber(number) && m[8] >= 0 {
		name = text[m[7]:m[8]] + oneLine(p.Plan.Phases[n-1].Name) + text[m[9]:]
	}
	return text[:m[4]] + padded(n, number) + text[m[5]:m[6]] + padded(all, total) + name
}

// padded returns a number with as many digits as another one has, where that begins with zeros.
func padded(n int, like string) string {
	if strings.HasPrefix(like, "0") {
		return fmt.Sprintf("%0*d", len(like), n)
	}
	return strconv.Itoa(n)
}

// setValue changes the text behind a label such as "Status:"; the text begins at a byte of the line.
func (p *proseWriter) setValue(line, key string, from int) string {
	text := line[from:]
	switch key {
	case "Status":
		text = p.status(text)
	case "Last activity":
		text = p.activity(text)
	case "Progress":
		text = p.progress(text)
	case "Last session":
		if at := p.State.Updated.In(p.Now.Location()).Format("2006-01-02 15:04"); p.newer(text, p.State.Updated) && text != at {
			text = at
		}
	case "Stopped at":
		text = p.stopped(text)
	case "Resume file":
		text = "None"
		if p.file("CHECKPOINT.md") != nil {
			text = ".grid/CHECKPOINT.md"
		}
	case "Energy", "Energy remaining":
		if energy, limited := p.energy(); limited {
			text = strconv.Itoa(energy)
		}
	}
	return line[:from] + text
}

// status leaves a word that is as good as ours.
func (p *proseWriter) status(text string) string {
	same := map[string][]string{
		"In progress": {"in progress", "planning", "executing"}, "Ready to execute": {"ready to execute", "ready to plan", "planning"},
		"Mission complete": {"complete", "completed", "phase complete"},
	}
	if p.block != nil && p.said == p.block.block {
		same["Phase complete"] = []string{"block complete"} // as good, as long as it is about the same block
	}
	for _, word := range append(same[p.say], strings.ToLower(p.say)) {
		if strings.EqualFold(text, word) {
			return text
		}
	}
	return p.say
}

// activity keeps the dash that the file uses.
func (p *proseWriter) activity(text string) string {
	day, dash := p.State.Updated.In(p.Now.Location()).Format("2006-01-02"), " - "
	was, what := text, ""
	if at := sinceDash.FindStringIndex(text); at != nil {
		was, dash, what = text[:at[0]], text[at[0]:at[1]], text[at[1]:]
	}
	if what == p.did || p.did == "" {
		if old, _, ok := format.ParseTimeIn(was, p.Now.Location()); !ok || !old.Before(p.State.Updated.AddDate(0, 0, -1)) && was >= day {
			return text
		}
	}
	return day + dash + cmp.Or(p.did, what)
}

var bar = lazyregexp.New(`\[([█░▓▒#=\- ]+)\]`)

// progress fills as many cells of the bar as the file has.
func (p *proseWriter) progress(text string) string {
	done, total := p.finished(), len(p.works)
	m := percent.FindStringSubmatchIndex(text)
	if total == 0 || m == nil {
		return text
	}
	share := 100 * float64(done) / float64(total)
	said := text[m[2]:m[3]]
	number := strconv.Itoa(int(share))
	if strings.Contains(said, ".") {
		number = strconv.FormatFloat(share, 'f', len(said)-strings.Index(said, ".")-1, 64)
	}
	if old, err := strconv.ParseFloat(said, 64); err == nil && (said == number || old > share-0.1 && old < share+0.1) {
		return text
	}
	text = text[:m[2]] + number + text[m[3]:]
	if b := bar.FindStringSubmatchIndex(text); b != nil {
		cells := len([]rune(text[b[2]:b[3]]))
		full := done * cells / total
		text = text[:b[2]] + strings.Repeat("█", full) + strings.Repeat("░", cells-full) + text[b[3]:]
	}
	return text
}

// stopped changes where it stopped, once it is about another block or another end of it.
func (p *proseWriter) stopped(text string) string {
	if p.block == nil {
		return text
	}
	lead := "Block " + p.block.block
	if p.block.done() {
		lead = "Completed " + lead
	}
	if strings.HasPrefix(text, lead) {
		return text
	}
	return lead + " - " + p.block.name()
}

// item changes "- ⏳ Block 05: name" once the block is complete or failed, or is not any more.
func (p *proseWriter) item(text string, m []int) string {
	k := p.byBlock[blockID(text[m[6]:m[7]])]
	if k == nil {
		return text
	}
	was, name := markStatus(text[m[4]:m[5]]), text[m[8]:m[9]]
	if at := endedBy.FindStringSubmatchIndex(name); at != nil {
		word, _, _ := strings.Cut(strings.ToLower(name[at[2]:]), " (")
		was, name = stepStatus(word, was), name[:at[0]]
	}
	is, mark, said := pawl.Pending, "⏳", ""
	switch {
	case k.done():
		is, mark, said = pawl.Done, "✅", " - COMPLETE"
	case k.skipped():
		is, mark, said = pawl.Skipped, "⏭️", " - SKIPPED"
	case k.state != nil && k.state.Status == pawl.FailedForGood:
		is, mark, said = pawl.FailedForGood, "❌", " - FAILED"
	}
	if is == was || is == pawl.Pending && was == pawl.Running {
		return text
	}
	return text[:m[4]] + likeMark(text[m[4]:m[5]], mark) + text[m[5]:m[8]] + name + said
}

// likeMark returns a mark as the file has them: a box with a cross, or a sign.
func likeMark(old, mark string) string {
	if !strings.HasPrefix(old, "[") {
		return mark
	}
	if mark == "✅" {
		return "[x]"
	}
	return "[ ]"
}
