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

// effect is a line of the ledger: what one attempt did to the world outside.
type effect struct {
	work    string // "step" or "step/item"
	attempt int
	token   string
}

// ledger reads the effects so far, in order.
func (s *story) ledger() ([]effect, error) {
	data, err := os.ReadFile(s.outside("ledger"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var effects []effect
	for line := range strings.Lines(string(data)) {
		var e effect
		var item string
		var pid int
		if _, err := fmt.Sscanf(line, "%s %s %d %s %d\n", &e.work, &item, &e.attempt, &e.token, &pid); err != nil {
			return nil, fmt.Errorf("ledger: %q: %w", line, err)
		}
		if item != "-" {
			e.work += "/" + item
		}
		effects = append(effects, e)
	}
	return effects, nil
}

// done is finished work, as the journal says.
type done struct {
	token   string
	attempt int
	index   int // of an item
	outputs pawl.Outputs
}

// history is what the journal says, read line by line as docs/format.md has it, without pawl's own reader.
type history struct {
	named   pawl.RunID
	run     pawl.RunID        // empty: none was made to its end
	started map[string]string // token → work
	ended   map[string]pawl.AttemptEnded
	done    map[string]done // by work
	ever    map[string]bool // tokens of all attempts that finished their work, also of what was reopened since
	steps   []pawl.StepID   // done
	items   map[pawl.StepID]int
	learned []string
	faults  []string
}

// history reads the journal of the story's only run. Beside it there may be one whose making was cut off.
func (s *story) history() (*history, error) {
	paths, err := filepath.Glob(s.project(pawlFolder, "runs", "*", "journal.jsonl"))
	if err != nil {
		return nil, err
	}
	only := newHistory()
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		h := newHistory()
		h.read(string(data))
		switch {
		case only.run == "":
			only = h
		case h.run != "":
			only.fault("a second run was made: %s", path)
		}
	}
	return only, nil
}

func newHistory() *history {
	return &history{
		started: map[string]string{}, ended: map[string]pawl.AttemptEnded{}, done: map[string]done{},
		ever: map[string]bool{}, items: map[pawl.StepID]int{},
	}
}

func (h *history) fault(format string, args ...any) {
	h.faults = append(h.faults, fmt.Sprintf(format, args...))
}

// read takes in the lines of a journal, up to a torn tail: whether that is one, verify says.
func (h *history) read(journal string) {
	for line := range strings.Lines(journal) {
		var event pawl.Event
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			return
		}
		payload, err := event.Payload()
		if err != nil {
			h.fault("journal: %v", err)
			continue
		}
		h.event(payload)
	}
}

func (h *history) event(payload pawl.Payload) {
	switch p := payload.(type) {
	case pawl.RunCreated:
		h.named = p.Run
	case pawl.RunPlanned:
		h.run = h.named // both are of one batch: without its plan a run was never acknowledged
	case pawl.AttemptStarted:
		if _, finished := h.done[p.Name()]; finished {
			h.fault("%s was started again, as attempt %d, after it was recorded as done", p.Name(), p.Attempt)
		}
		h.started[string(p.Token)] = p.Name()
	case pawl.AttemptEnded:
		h.ended[string(p.Token)] = p
	case pawl.ItemDone:
		h.items[p.Step]++
		h.finished(p.Name(), done{token: string(p.Token), attempt: p.Attempt, index: p.Index, outputs: p.Outputs})
	case pawl.StepDone:
		h.steps = append(h.steps, p.Step)
		h.finished(string(p.Step), done{token: string(p.Token), attempt: p.Attempt, outputs: p.Outputs})
	case pawl.StepReopened:
		h.reopen(p)
	case pawl.MemoryLearned:
		if p.Unwritten == "" {
			h.learned = append(h.learned, p.Text)
		}
	}
}

func (h *history) finished(work string, d done) {
	if _, twice := h.done[work]; twice {
		h.fault("%s was recorded as done twice", work)
	}
	h.done[work] = d
	h.ever[d.token] = true
}

// reopen forgets that work was finished: whether anybody may have it done again, the ledger's readers judge.
func (h *history) reopen(p pawl.StepReopened) {
	for work, d := range h.done {
		step, item, _ := strings.Cut(work, "/")
		switch {
		case step != string(p.Step), item != "" && p.Keep, item != "" && len(p.Items) > 0 && !slices.Contains(p.Items, d.index):
			continue
		}
		delete(h.done, work)
	}
}

// tokens returns those of all attempts.
func (h *history) tokens() []string {
	tokens := make([]string, 0, len(h.started))
	for token := range h.started {
		tokens = append(tokens, token)
	}
	return tokens
}

// reference is what an undisturbed run of a plan came to.
type reference struct {
	outputs map[string]string
	works   []string // that have an effect
}

// undisturbed runs a plan without any fault.
func (t *torture) undisturbed(plan string) (*reference, error) {
	s, err := t.newStory("undisturbed-"+plan, plan)
	if err != nil {
		return nil, err
	}
	if err := s.finish(); err != nil {
		return nil, err
	}
	effects, err := s.ledger()
	if err != nil {
		return nil, err
	}
	ref := &reference{}
	for _, e := range effects {
		ref.works = append(ref.works, e.work)
	}
	if ref.outputs, err = s.outputs(); err != nil {
		return nil, err
	}
	return ref, errors.Join(s.audit(ref), s.remove())
}

// audit checks a finished story against the ledger, the journal, the process table and the undisturbed run.
func (s *story) audit(ref *reference) error {
	effects, err := s.ledger()
	if err != nil {
		return err
	}
	h, err := s.history()
	if err != nil {
		return err
	}
	if len(h.faults) > 0 {
		return s.wrong("%s", strings.Join(h.faults, "; "))
	}
	if err := errors.Join(s.nothingLost(ref, effects, h), s.nothingTwice(effects, h), s.nobodyLost(h)); err != nil {
		return err
	}
	got, err := s.outputs()
	if err != nil {
		return err
	}
	if diff := observed.Difference(got, ref.outputs); diff != "" {
		return s.wrong("outputs differ from an undisturbed run: %s", diff)
	}
	return s.alone(h.tokens())
}

// nothingLost checks that each work is recorded as done, and that the attempt recorded had its effect, exactly once.
func (s *story) nothingLost(ref *reference, effects []effect, h *history) error {
	for _, work := range ref.works {
		d, finished := h.done[work]
		n := 0
		for _, e := range effects {
			if e.token == d.token {
				n++
			}
		}
		if !finished || n == 0 {
			s.tally.lost.Add(1)
			return s.wrong("lost: %s (recorded as done: %v, its effect in the ledger: %d times)", work, finished, n)
		}
		if n > 1 {
			return s.wrong("the effect of %s, attempt %d, happened %d times", work, d.attempt, n)
		}
	}
	return nil
}

// nothingTwice checks every effect beyond the recorded one: its attempt must have been journaled before it began, be an
// older one than the attempt that was recorded, and have been hit itself. After a failed sync it is unknown what is
// on the disk, so that an attempt whose outputs could not be synced may also run again.
func (s *story) nothingTwice(effects []effect, h *history) error {
	again := map[string]bool{}
	for _, e := range effects {
		d := h.done[e.work]
		switch {
		case h.started[e.token] != e.work:
			return s.wrong("%s, attempt %d, had an effect without a journaled intent", e.work, e.attempt)
		case e.token == d.token:
			continue
		case e.attempt > d.attempt:
			return s.wrong("%s had an effect in attempt %d, after attempt %d was recorded as done", e.work, e.attempt, d.attempt)
		case s.killed != nil && !s.killed[e.token] && !s.unsynced(h.ended[e.token]):
			return s.wrong("%s ran again after attempt %d, which nobody had hit", e.work, e.attempt)
		}
		again[e.work] = true
	}
	s.tally.reruns.Add(int64(len(again)))
	return nil
}

// unsynced reports whether an attempt is journaled as failed because its outputs could not be synced.
func (s *story) unsynced(end pawl.AttemptEnded) bool {
	return s.failing && end.Outcome == pawl.Failed && strings.HasPrefix(end.Why, "outputs: sync ")
}

// nobodyLost checks that no attempt is called lost that was not hit.
func (s *story) nobodyLost(h *history) error {
	for token, end := range h.ended {
		if end.Outcome == pawl.Lost && s.killed != nil && !s.killed[token] {
			return s.wrong("%s, attempt %d, is called lost (%s), and nobody had hit it", end.Name(), end.Attempt, end.Why)
		}
	}
	return nil
}
