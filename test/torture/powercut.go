package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/test/torture/observed"
)

// powercuts records stories, pawl and its steps alike, and then cuts the power at many moments of each: right behind a
// write that is not synced yet, and anywhere. What the disk may hold then is rebuilt, and the run goes on from there.
//
// All that the journal had acknowledged, that is, whose sync had returned, must be there: status says that it is done,
// its outputs have the recorded hashes, what was learned stands in MEMORY.md, and none of it happens again.
func (t *torture) powercuts() error {
	ref, err := t.undisturbed("systematic")
	if err != nil {
		return err
	}
	stories, cuts := 24, 50
	if t.short {
		stories, cuts = 3, 6
	}
	appends, err := t.appends()
	if err != nil {
		return err
	}
	recorded := make([]*recording, stories)
	err = t.each(stories, func(i int) (err error) {
		recorded[i], err = t.record(i, appends)
		return err
	})
	if err != nil {
		return err
	}
	return t.each(stories*cuts, func(i int) error { return t.cut(recorded[i/cuts], i%cuts, ref) })
}

// earlierBoot is the boot under which stories are recorded: behind a power cut the system has another one.
const earlierBoot = "00000000-0000-4000-8000-000000000000"

// recording is a story as the disk saw it.
type recording struct {
	*platter
	name  string
	way   way
	trace string // the file with what the last command did
	lines int    // of the traces of all commands
	err   error  // why a trace could not be understood
}

// recordings is how often a recording is tried: where two threads change names at once, the trace cannot always tell
// which came first. It is seen when the whole platter differs from the folder.
const recordings = 5

func (t *torture) record(i int, appends []int) (r *recording, err error) {
	for try := range recordings {
		if r, err = t.recordOnce(i, try, appends); err == nil {
			return r, nil
		}
	}
	return nil, err
}

// recordOnce records one story to its end: undisturbed; or with an engine that dies between write and sync of its
// journal; or with everything killed at a random moment; or with an init and an engine that die at any of their calls.
func (t *torture) recordOnce(i, try int, appends []int) (*recording, error) {
	dice := t.rand("record", i)
	s := &story{torture: t, dir: filepath.Join(t.dir, fmt.Sprintf("recording-%d-%d", i, try)), boot: earlierBoot}
	if err := s.furnish("systematic"); err != nil {
		return nil, err
	}
	p, err := newPlatter(s.dir, s.outside())
	if err != nil {
		return nil, err
	}
	r := &recording{platter: p, name: filepath.Base(s.dir), way: ways[i%len(ways)]}
	s.wrapper = func() []string {
		r.read()
		r.trace = fmt.Sprintf("%s.trace-%d", s.dir, r.lines+1)
		return append([]string{"strace"}, straceArgs(r.trace)...)
	}
	if err := s.perform(r.way, appends, dice); err != nil {
		return nil, err
	}
	if r.read(); r.err != nil {
		return nil, r.err
	}
	real, err := observed.Files(s.dir, "")
	if err != nil {
		return nil, err
	}
	if diff := observed.Difference(r.after(r.lines, kept, nil).list(), real); diff != "" {
		return nil, fmt.Errorf("recording %s: its trace does not lead to the folder as it is: %s", r.name, diff)
	}
	return r, s.remove()
}

// appends returns the numbers of the calls by which an engine syncs its journal: those that follow a write, and that
// no rename follows.
func (t *torture) appends() ([]int, error) {
	s, err := t.newStory("appends", "systematic")
	if err != nil {
		return nil, err
	}
	log := filepath.Join(s.dir, "log")
	if err := s.faulted(append(s.aimed("count", "run"), faultLog+log), "run", "plan.yaml"); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(log)
	if err != nil {
		return nil, err
	}
	var numbers []int
	calls := strings.Split(string(data), "\n")
	for i := 1; i+1 < len(calls); i++ {
		if strings.HasSuffix(calls[i], " sync") && strings.HasSuffix(calls[i-1], " write") && !strings.HasSuffix(calls[i+1], " rename") {
			numbers = append(numbers, i+1)
		}
	}
	return numbers, s.remove()
}

// A way says what happens to a story that is recorded.
type way string

// The ways.
const (
	undisturbed  way = "undisturbed"
	diesInAppend way = "dies in append"
	allKilled    way = "all killed"
	diesAnywhere way = "dies anywhere"
)

var ways = []way{undisturbed, diesInAppend, allKilled, diesAnywhere}

// perform carries a story to its end, in one of the ways.
func (s *story) perform(how way, appends []int, dice *rand.Rand) error {
	last := appends[len(appends)-1]
	var err error
	switch how {
	case undisturbed:
		err = s.init()
	case diesInAppend:
		err = errors.Join(s.init(), s.die(appends[dice.IntN(len(appends))], "run", "plan.yaml"))
	case allKilled:
		err = s.init()
		end := time.AfterFunc(time.Duration(dice.IntN(int(time.Second))), s.killAll)
		s.pawl("run", "plan.yaml") // however that ends
		end.Stop()
	case diesAnywhere:
		err = errors.Join(s.die(1+dice.IntN(callsOfInit), "init"), s.init(), s.die(1+dice.IntN(last), "run", "plan.yaml"))
	}
	if err != nil {
		return err
	}
	return s.finish()
}

// callsOfInit is about how many calls a command makes that makes a project.
const callsOfInit = 14

// die carries on until the command dies at a call.
func (s *story) die(call int, args ...string) error {
	return s.faulted([]string{faultVar + fmt.Sprintf("die:%d", call), faultOnly + args[0], faultCount + s.dir + ".calls-" + args[0]}, args...)
}

// read takes the trace of the last command in, once all its processes are gone.
func (r *recording) read() {
	if r.trace == "" || r.err != nil {
		return
	}
	trace, err := os.ReadFile(r.trace)
	if err == nil {
		r.lines, err = replay(r.platter, string(trace), r.lines)
	}
	if err != nil {
		r.err = fmt.Errorf("%s: %w", r.trace, err)
	}
}

// cut cuts the power once, and carries on. Where that goes wrong, what the power cut left is kept beside the story.
func (t *torture) cut(r *recording, i int, ref *reference) error {
	dice := t.rand("cut "+r.name, i)
	line := r.moment(dice)
	how := fates[dice.IntN(len(fates))]
	s := &story{torture: t, dir: filepath.Join(t.dir, fmt.Sprintf("cut-%s-%d", r.name, i))}
	s.point = fmt.Sprintf("power cut behind line %d of %s, what was not synced is %s", line, r.name, how)
	left := r.after(line, how, dice)
	if err := left.put(s.dir); err != nil {
		return err
	}
	t.tally.cuts.Add(1)
	t.tally.suffered(fmt.Sprintf("power cut (%s), unsynced %s", r.way, how))
	if err := s.goOn(r.acknowledged(line), ref); err != nil {
		return errors.Join(err, left.put(s.dir+".as-it-was"))
	}
	return s.remove()
}

// goOn carries a story on behind a power cut, and checks that it has all that was acknowledged.
func (s *story) goOn(told *history, ref *reference) error {
	before, err := s.ledger()
	if err != nil {
		return err
	}
	if told.run == "" { // nothing was promised yet: whoever began begins again
		if err := s.init(); err != nil {
			return err
		}
	}
	if err := errors.Join(s.verify(), s.remembers(told)); err != nil {
		return err
	}
	if err := s.finish(); err != nil {
		return err
	}
	return errors.Join(s.audit(ref), s.notAgain(told, before))
}

// moment returns the line behind which the power is cut.
func (r *recording) moment(dice *rand.Rand) int {
	if dangerous := r.moments(); len(dangerous) > 0 && dice.IntN(2) == 0 {
		return dangerous[dice.IntN(len(dangerous))]
	}
	return 1 + dice.IntN(r.lines)
}

// acknowledged returns what the journal had promised: its lines whose sync had returned.
func (r *recording) acknowledged(line int) *history {
	h := newHistory()
	seen := r.after(line, kept, nil)
	runs := seen.at("project", pawlFolder, "runs")
	for _, run := range seen.names[runs] {
		if journal := seen.names[run]["journal.jsonl"]; journal != nil {
			h.read(string(r.synced(journal, line)))
		}
	}
	return h
}

// remembers checks that all that was acknowledged is there.
func (s *story) remembers(told *history) error {
	if told.run == "" {
		return nil
	}
	st, err := s.status()
	if err != nil {
		return err
	}
	if st == nil || st.Run != told.run {
		return s.wrong("run %s was acknowledged, and status does not show it", told.run)
	}
	for _, step := range st.Steps {
		if slices.Contains(told.steps, step.ID) && step.Status != pawl.Done {
			return s.wrong("step %s was acknowledged as done, and is %s", step.ID, step.Status)
		}
		if step.Items.Done < told.items[step.ID] {
			return s.wrong("%d items of step %s were acknowledged as done, and %d are", told.items[step.ID], step.ID, step.Items.Done)
		}
	}
	for work, d := range told.done {
		if err := s.holds(work, d.outputs); err != nil {
			return err
		}
	}
	memory, err := os.ReadFile(s.project(pawlFolder, "MEMORY.md"))
	for _, text := range told.learned {
		if !strings.Contains(string(memory), text) {
			return s.wrong("%q was learned, and is not in MEMORY.md (%v)", text, err)
		}
	}
	return nil
}

// holds checks outputs against the recorded hashes.
func (s *story) holds(work string, outputs pawl.Outputs) error {
	for path, recorded := range outputs {
		data, err := os.ReadFile(s.project(filepath.FromSlash(path)))
		if sum := sha256.Sum256(data); err != nil || hex.EncodeToString(sum[:]) != recorded.SHA256 {
			return s.wrong("%s was acknowledged as done, and its output %s is not what was recorded: %v, %.80q", work, path, err, data)
		}
	}
	return nil
}

// notAgain checks that nothing which was acknowledged as done has had an effect since.
func (s *story) notAgain(told *history, before []effect) error {
	now, err := s.ledger()
	if err != nil {
		return err
	}
	for _, e := range now[len(before):] {
		if _, finished := told.done[e.work]; finished {
			return s.wrong("%s was acknowledged as done, and happened again, as attempt %d", e.work, e.attempt)
		}
	}
	return nil
}
