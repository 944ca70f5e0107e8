package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pawl"
	"pawl/test/torture/observed"
)

// line is one of the ledger's: that an attempt began, or that it ended.
type line struct {
	ended   bool
	work    string
	attempt int
	token   string
	key     string
}

// truth reads the ledger of the campaign.
func (s *story) truth() ([]line, error) {
	data, err := os.ReadFile(s.outside("truth"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var lines []line
	for text := range strings.Lines(string(data)) {
		var l line
		var word, item string
		if _, err := fmt.Sscanf(text, "%s %s %s %d %s %s\n", &word, &l.work, &item, &l.attempt, &l.token, &l.key); err != nil {
			return nil, fmt.Errorf("ledger: %q: %w", text, err)
		}
		if item != "-" {
			l.work += "/" + item
		}
		l.ended = word == "end"
		lines = append(lines, l)
	}
	return lines, nil
}

func readJSON(path string, into any) bool {
	data, err := os.ReadFile(path)
	return err == nil && json.Unmarshal(data, into) == nil
}

// allWorks are those of the campaign's plan that tell the ledger.
var allWorks = []string{
	"list", "each/p1", "each/p2", "each/p3", "each/p4", "each/p5", "each/p6", "each/p7", "each/p8", "once", "report", "plain", "join", "send", "tidy",
}

// unrepeatable are the steps of the campaign's plan that say so.
var unrepeatable = []string{"once", "send"}

// judge compares what pawl and its person did with the ledger.
func (c *trial) judge() error {
	lines, err := c.truth()
	if err != nil {
		return err
	}
	after, err := c.journals()
	if err != nil {
		return err
	}
	c.redone(lines, after)
	c.repeated(lines, after)
	c.unfinished(lines, after)
	c.kept()
	c.changed(lines)
	if err := c.alone(nil); err != nil { // of a control group whose record was deleted nobody knows
		c.bad("%v", err)
	}
	if err := c.lostFiles(); err != nil {
		return err
	}
	for _, s := range c.stops {
		if why := c.pointless(s, lines); why != "" {
			c.needless = append(c.needless, fmt.Sprintf("%s: %s; did: %s [%s]", s.kind, s.said, s.did, why))
		}
	}
	return nil
}

func (c *trial) bad(format string, args ...any) {
	c.wrongs = append(c.wrongs, fmt.Sprintf(format, args...))
}

// journals reads all journals of the project as one: what any of them calls done must be done.
func (c *trial) journals() (*history, error) {
	paths, err := filepath.Glob(c.project(pawlFolder, "runs", "*", "journal.jsonl"))
	if err != nil {
		return nil, err
	}
	all := newHistory()
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		all.read(string(data))
	}
	return all, nil
}

// redone finds finished work that ran again with the same key although nobody had said so.
func (c *trial) redone(lines []line, after *history) {
	finished := map[string]line{} // by work: the newest end of an attempt that counts as finished
	for i, l := range lines {
		counts := c.before.ever[l.token] || after.ever[l.token] || c.intact(l.token)
		if l.ended && counts {
			finished[l.work] = l
		}
		was, redone := finished[l.work]
		if l.ended || !redone || was.token == l.token || i < c.mark && c.before.started[l.token] != "" {
			continue
		}
		switch said := c.agreed(l.work); {
		case was.key == l.key && !said:
			c.bad("%s was finished by attempt %d, and ran again as attempt %d, with the same key, and nobody said so", l.work, was.attempt, l.attempt)
		case was.key != l.key && !said && c.before.ever[was.token] && !c.any("rerun", "recover"): // what was called finished
			c.bad("%s was finished and ran again with another key, and nobody was asked", l.work)
		case was.key == l.key && c.intact(was.token):
			c.needless = append(c.needless, fmt.Sprintf("%s ran again, with consent, although its records are intact", l.work))
		}
	}
}

// agreed reports whether the person agreed to work being done again: at a gate, by accepting that it is in doubt, or by
// beginning anew. That its key changed and may have it run again is another matter.
func (c *trial) agreed(work string) bool {
	step, _, _ := strings.Cut(work, "/")
	if slices.ContainsFunc(c.stops, func(s stop) bool {
		return s.kind == "repeat" && (s.work == work || s.work == step) || s.kind == "anew"
	}) {
		return true
	}
	doubted, told := c.doubted[work]
	return doubted || !told && c.doubted[step]
}

func (c *trial) any(kinds ...string) bool {
	return slices.ContainsFunc(c.stops, func(s stop) bool { return slices.Contains(kinds, s.kind) })
}

// intact reports whether the records of an attempt were left alone, and what it depends on was too.
func (c *trial) intact(token string) bool {
	e, known := c.ends[token]
	return known && !slices.ContainsFunc(c.damages, func(d damage) bool {
		return d.touches(e.dir) || strings.HasPrefix(d.kind, "edited") || strings.HasPrefix(d.kind, "HEAD")
	})
}

// repeated finds work that must not be repeated, and began more often than a person had said. Where finished work has
// another key now, it is other work: for that a person has agreed to run finished work again.
func (c *trial) repeated(lines []line, after *history) {
	for _, work := range unrepeatable {
		needed, said := 0, 0
		var last *line
		for i, l := range lines {
			if l.work != work || l.ended {
				continue
			}
			finished := last != nil && (c.before.ever[last.token] || after.ever[last.token] || c.intact(last.token))
			if last != nil && (!finished || last.key == l.key || !c.any("rerun")) {
				needed++
			}
			last = &lines[i]
		}
		for _, s := range c.stops {
			if s.kind == "repeat" && s.work == work || s.kind == "anew" {
				said++
			}
		}
		if needed > said {
			c.bad("%s is not idempotent, but began again %d times, and the person agreed to %d", work, needed, said)
		}
	}
}

// unfinished finds work that is called done and has no end in the ledger.
func (c *trial) unfinished(lines []line, after *history) {
	ended := map[string]bool{}
	for _, l := range lines {
		if l.ended {
			ended[l.work], ended[l.token] = true, true
		}
	}
	for work, d := range after.done {
		switch {
		case d.token == "", work == "review", work == "shape": // a list of items, or a person's word
		case !ended[work]:
			c.bad("%s is called done, and never ended", work)
		case !ended[d.token] && after.started[d.token] == work && c.before.started[d.token] == work:
			c.bad("%s is called done by attempt %d, which never ended", work, d.attempt)
		}
	}
	if !c.ended {
		return
	}
	for _, work := range allWorks {
		if !ended[work] {
			c.bad("the run is completed, and %s never ended", work)
		}
	}
}

// kept finds a damaged journal that was rebuilt and is not kept.
func (c *trial) kept() {
	if !c.any("recover") || len(c.journal) == 0 {
		return
	}
	aside, err := filepath.Glob(c.project(pawlFolder, "runs", string(c.before.run), "journal.*-*"))
	if err == nil && slices.ContainsFunc(aside, func(path string) bool {
		data, err := os.ReadFile(path)
		return err == nil && strings.HasPrefix(string(data), c.journal)
	}) {
		return
	}
	c.bad("the damaged journal is not kept: %v, %v", aside, err)
}

// changed finds an output that a person had edited, and that changed although its work did not run again.
func (c *trial) changed(lines []line) {
	for name, content := range c.edited {
		work := map[string]string{"report.txt": "report", "sent.txt": "send"}[name]
		ran := slices.ContainsFunc(lines[c.mark:], func(l line) bool { return l.work == work })
		if now, err := os.ReadFile(c.project("out", name)); !ran && (err != nil || string(now) != content) {
			c.bad("the person's edit of %s is lost: %v", name, err)
		}
	}
}

// lostFiles compares the person's files with how they were last seen. pawl may add lines to MEMORY.md, and nothing else.
func (c *trial) lostFiles() error {
	now, err := c.users()
	if err != nil {
		return err
	}
	memory := filepath.Join(pawlFolder, "MEMORY.md")
	for line := range strings.Lines(c.atLast[memory]) {
		if strings.TrimSpace(line) != "" && !strings.Contains(now[memory], strings.TrimSuffix(line, "\n")) {
			c.bad("a line of MEMORY.md is lost: %q", line)
		}
	}
	delete(now, memory)
	delete(c.atLast, memory)
	if diff := observed.Difference(now, c.atLast); diff != "" {
		c.bad("a file of the person's: %s", diff)
	}
	return nil
}

// hit reports whether a damage is of one of these kinds, or below them.
func (c *trial) hit(kinds ...string) bool {
	return slices.ContainsFunc(c.damages, func(d damage) bool {
		return slices.ContainsFunc(kinds, func(kind string) bool { return strings.Contains(d.kind, kind) })
	})
}

// pointless says why a stop was needless; empty where it was right.
func (c *trial) pointless(s stop, lines []line) string {
	switch s.kind {
	case "recover":
		if !c.hit("journal", "folder runs/*", "plan as run") {
			return "the journal is as it was"
		}
	case "rerun":
		if !c.hit("edited plan: finished", "edited plan: item", "edited plan: report", "edited plan: once", "edited plan: added") {
			return "nothing that finished work depends on was changed"
		}
	case "unsafe":
		if !c.hit("HEAD: branch", "HEAD: rebase") {
			return "git stands where it stood"
		}
	case "anew":
		if c.before.run != "" && !c.hit("folder runs/*") && (!c.hit("journal") || len(c.before.started) > 0) {
			return "there is a run"
		}
	case "mend": // only what was damaged is put back
	case "repeat":
		return c.couldTell(s.work, lines)
	case "gate":
		for token := range c.killed {
			if c.before.started[token] == s.work {
				return ""
			}
		}
		return "nobody hit its checks"
	default:
		return "it is in nobody's way"
	}
	return ""
}

// couldTell says why the question if lost work is to run again was needless: the ledger says that it ended, or that it
// never began, and the attempt's records were left alone.
func (c *trial) couldTell(work string, lines []line) string {
	var last line
	ended := false
	for _, l := range lines {
		switch {
		case l.work != work:
		case !l.ended && c.before.started[l.token] != "":
			last, ended = l, false
		case l.ended && l.token == last.token:
			ended = true
		}
	}
	records := filepath.Join("runs", string(c.before.run), "steps", work)
	switch {
	case c.hit("edited plan: once") && work == "once": // it is other work now
	case slices.ContainsFunc(c.damages, func(d damage) bool { return d.touches(records) }):
	case last.token == "":
		return "the ledger says that it never began"
	case ended:
		return "the ledger says that it ended, and its records were left alone"
	}
	return ""
}

// parts is what `pawl recover --json` says of the parts of a run.
type parts struct {
	Parts []struct {
		What   string      `json:"what"`
		Step   pawl.StepID `json:"step"`
		Item   pawl.ItemID `json:"item"`
		Status string      `json:"status"`
	} `json:"parts"`
}

// accepts remembers what the person accepted as in doubt, or as not done.
func (c *trial) accepts(said string) {
	var report parts
	if start := strings.Index(said, "{"); start < 0 || json.NewDecoder(strings.NewReader(said[start:])).Decode(&report) != nil {
		return
	}
	if c.doubted == nil {
		c.doubted = map[string]bool{}
	}
	for _, p := range report.Parts {
		if p.Step != "" {
			c.doubted[pawl.AttemptRef{Step: p.Step, Item: p.Item}.Name()] = p.Status == "in doubt" || p.Status == "not done"
		}
	}
}
