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
	c.repeated(lines)
	c.unfinished(lines, after)
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
		case was.key != l.key && !said && !c.any("rerun", "recover", "retry", "unsafe"):
			c.bad("%s was finished and ran again with another key, and nobody was asked", l.work)
		case was.key == l.key && c.intact(was.token):
			c.needless = append(c.needless, fmt.Sprintf("%s ran again, with consent, although its records are intact", l.work))
		}
	}
}

// agreed reports whether the person agreed to work being done again: at a gate, or by accepting that it is in doubt.
func (c *trial) agreed(work string) bool {
	step, _, _ := strings.Cut(work, "/")
	return slices.ContainsFunc(c.stops, func(s stop) bool {
		return (s.kind == "repeat" || s.kind == "retry") && (s.work == work || s.work == step) || s.kind == "rerun" || s.kind == "anew"
	}) || c.doubted[work] || c.doubted[step]
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

// repeated finds work that must not be repeated, and began more often than a person had said.
func (c *trial) repeated(lines []line) {
	for _, work := range unrepeatable {
		began, may := 0, 1
		for _, l := range lines {
			if l.work == work && !l.ended {
				began++
			}
		}
		for _, s := range c.stops {
			if s.kind == "repeat" && s.work == work || s.kind == "rerun" || s.kind == "retry" || s.kind == "anew" {
				may++
			}
		}
		if began > may {
			c.bad("%s must not be repeated, began %d times, and the person agreed to %d", work, began, may)
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
	for _, work := range []string{"list", "each/p1", "each/p2", "each/p3", "each/p4", "each/p5", "once", "report", "plain", "join", "send", "tidy"} {
		if !ended[work] {
			c.bad("the run is completed, and %s never ended", work)
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
	if diff := difference(now, c.atLast); diff != "" {
		c.bad("a file of the person's: %s", diff)
	}
	return nil
}

// pointless says why a stop was needless; empty where it was right.
func (c *trial) pointless(s stop, lines []line) string {
	hit := func(prefixes ...string) bool {
		return slices.ContainsFunc(c.damages, func(d damage) bool {
			return slices.ContainsFunc(prefixes, func(p string) bool { return strings.Contains(d.kind, p) })
		})
	}
	switch s.kind {
	case "recover":
		if !hit("journal", "folder runs/*", "plan as run") {
			return "the journal is as it was"
		}
	case "rerun":
		if !hit("edited plan", "HEAD") {
			return "neither plan nor inputs were changed"
		}
	case "unsafe":
		if !hit("HEAD") {
			return "HEAD is where it was"
		}
	case "anew":
		if !hit("folder runs/*") || c.any("recover") {
			return "there is a run"
		}
	case "mend":
	case "repeat":
		return c.couldTell(s, lines)
	case "gate":
		if len(c.killed) == 0 {
			return "nobody hit its checks"
		}
	default:
		return "it is in nobody's way"
	}
	return ""
}

// couldTell says why the question if lost work is to run again was needless: the ledger says that it ended, or that it
// never began, and the attempt's records were left alone.
func (c *trial) couldTell(s stop, lines []line) string {
	var last line
	ended := false
	for _, l := range lines {
		if l.work == s.work && !l.ended && c.before.started[l.token] != "" {
			last, ended = l, false
		}
		if l.work == s.work && l.ended && l.token == last.token {
			ended = true
		}
	}
	if slices.ContainsFunc(c.damages, func(d damage) bool { return d.kind == "edited plan: once" && s.work == "once" }) {
		return "" // it is other work now
	}
	damaged := slices.ContainsFunc(c.damages, func(d damage) bool {
		return d.touches(filepath.Join("runs", string(c.before.run), "steps", s.work)) || strings.Contains(d.kind, "journal")
	})
	switch {
	case damaged:
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
		if p.Status == "in doubt" || p.Status == "not done" {
			c.doubted[pawl.AttemptRef{Step: p.Step, Item: p.Item}.Name()] = p.Step != ""
		}
	}
}
