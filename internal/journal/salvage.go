package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/lazyregexp"
)

// A Salvage is the readable part of a run's journal: the events before the damage.
type Salvage struct {
	Events []pawl.Event
	Damage error // the damage after the events; nil if there is none, or only a torn tail
	Exists bool  // the journal exists, even if empty

	run     pawl.RunID
	folder  string
	base    pawl.Seq // number of the first event in the segment in which the events end
	content []byte   // of that segment
	end     int64    // offset there after the events
	current []byte   // content of journal.jsonl
}

func (s *Salvage) home() string { return filepath.Join(s.folder, string(s.run)) }
func (s *Salvage) path() string { return filepath.Join(s.home(), FileName) }

// ReadSalvage reads the readable part of the journal of run in folder. It returns pawl.ErrNewer if a newer pawl wrote
// the journal, since its events are unknown.
func ReadSalvage(folder string, run pawl.RunID) (*Salvage, error) {
	s := &Salvage{run: run, folder: folder}
	l, err := open(folder, run, true)
	if errors.Is(err, pawl.ErrNoRun) {
		return s, s.readSealed()
	}
	if err != nil {
		return nil, err
	}
	defer l.Close()
	s.Exists, s.Damage = true, l.damage
	if l.newer != "" {
		return nil, fmt.Errorf("%s contains an event of type %s: %w", l.path(), l.newer, pawl.ErrNewer)
	}
	if errors.Is(l.damage, pawl.ErrNewer) {
		return nil, fmt.Errorf("%s is %w", l.path(), pawl.ErrNewer)
	}
	if s.current, err = disk.ReadFile(l.path(), disk.JournalLimit); err != nil {
		return nil, err
	}
	damage, err := s.readSegments(l.sealed)
	if err != nil || damage != nil {
		s.Damage = damage
		return s, err
	}
	if l.first != pawl.Seq(len(s.Events))+1 { // a segment is missing
		return s, nil
	}
	s.base, s.content, s.end = l.first, s.current, l.chain.end
	for event, err := range l.eventsAfter(l.first - 1) {
		if err != nil {
			return nil, err
		}
		s.Events = append(s.Events, event)
	}
	return s, nil
}

// readSealed reads the sealed segments of a journal whose open segment is missing.
func (s *Salvage) readSealed() error {
	list, err := sealedIn(s.home(), math.MaxInt64)
	if errors.Is(err, fs.ErrNotExist) || len(list) == 0 {
		return nil
	}
	if err == nil {
		s.Damage, err = s.readSegments(list)
	}
	return err
}

// readSegments reads the events of sealed segments up to the first damage, which it returns.
func (s *Salvage) readSegments(list []*sealed) (damage, err error) {
	for _, segment := range list {
		data, err := disk.ReadFile(segment.path, disk.JournalLimit)
		if err != nil {
			return damaged(segment.path, 1, 0, err), nil
		}
		at, from, bad := readHeader(bytes.NewReader(data), int64(len(data)), s.run)
		last := pawl.Seq(len(s.Events))
		switch {
		case bad == nil && at.first != last+1, bad == nil && from != nil && int64(len(s.content)) != from.Length:
			bad = fmt.Errorf("the segment does not follow event %d", last)
		}
		if errors.Is(bad, pawl.ErrNewer) {
			return nil, bad
		}
		if bad != nil {
			return damaged(segment.path, 1, 0, bad), nil
		}
		s.base, s.content = at.first, data
		in := newLines(bytes.NewReader(data), at.head, int64(len(data)))
		_, bad, err = at.check(in)
		if err != nil {
			return nil, err
		}
		s.end = at.chain.end
		if err := s.decode(segment.path, &at); err != nil {
			return err, nil
		}
		if bad != nil {
			return damaged(segment.path, at.lineNumber(), at.chain.end, bad), nil
		}
		if segment.last != at.chain.seq && segment.last > 0 {
			return damaged(segment.path, at.lineNumber(), at.chain.end, errors.New("the next segment does not follow this one")), nil
		}
	}
	return nil, nil
}

// decode adds the events of a verified segment in s.content.
func (s *Salvage) decode(path string, at *verified) error {
	var d decoder
	for seq := at.first; seq <= at.chain.seq; seq++ {
		from := at.startOf(seq)
		event, err := decode(path, &d, s.content[from:at.endOf(seq)], from)
		if err != nil {
			s.end = from
			return err
		}
		s.Events = append(s.Events, event)
	}
	return nil
}

// damagedPrefix starts the names of saved damaged journals; the time follows, and for a segment the number of its first
// event.
const damagedPrefix = "journal.damaged-"

// damagedName returns a new name for a damaged segment that begins with event first; 0 for journal.jsonl.
func damagedName(home string, first pawl.Seq) string {
	name := filepath.Join(home, damagedPrefix+time.Now().UTC().Format("20060102T150405.000000000Z"))
	if first > 0 {
		name += fmt.Sprintf(".%d", first)
	}
	return name
}

// Rebuild replaces the journal by one with its readable lines, unchanged, followed by events in one batch. It returns
// the name under which the old journal is saved, or "" if there was none. A crash leaves either the old journal or the
// new one, and never loses the old one. Rebuild fails if another process has written to the journal since ReadSalvage.
func (s *Salvage) Rebuild(events []pawl.Event) (aside string, err error) {
	data, err := s.compose(events)
	if err != nil {
		return "", fmt.Errorf("rebuild the journal of run %s: %w", s.run, err)
	}
	if err := disk.MakeFolders(s.home()); err != nil {
		return "", err
	}
	if s.Exists {
		unlock, err := s.lockUnchanged(s.path())
		if err != nil {
			return "", fmt.Errorf("rebuild the journal of run %s: %w", s.run, err)
		}
		defer unlock()
		if aside, err = linkDamaged(s.home(), s.path()); err != nil {
			return "", fmt.Errorf("save the damaged journal: %w", err)
		}
	}
	if err := disk.Replace(s.path(), data); err != nil {
		return aside, err
	}
	return aside, s.moveSegments()
}

// moveSegments moves the sealed segments aside that the rebuilt journal replaces. Until then they are ignored, because
// the new journal begins with an earlier event.
func (s *Salvage) moveSegments() error {
	list, err := sealedIn(s.home(), math.MaxInt64)
	if err != nil {
		return err
	}
	for _, segment := range list {
		if segment.first < max(s.base, 1) {
			continue
		}
		if err := disk.Rename(segment.path, damagedName(s.home(), segment.first)); err != nil {
			return err
		}
	}
	return nil
}

// start returns the start of the verification of a segment's bytes.
func (s *Salvage) start(data []byte) (verified, error) {
	v, _, err := readHeader(bytes.NewReader(data), int64(len(data)), s.run)
	return v, err
}

// compose returns the new journal, verified like a reader does.
func (s *Salvage) compose(events []pawl.Event) ([]byte, error) {
	data := bytes.Clone(s.content[:s.end])
	at, err := s.start(data)
	if err != nil {
		return nil, err
	}
	if _, _, err := at.check(newLines(bytes.NewReader(data), at.head, s.end)); err != nil {
		return nil, err
	}
	next, batch, now := at.chain, at.chain.seq+1, time.Now()
	for _, event := range events {
		line, err := encode(event)
		if err != nil {
			return nil, err
		}
		data = next.add(data, batch, max(event.Epoch, at.chain.epoch), now, line)
	}
	whole, err := s.start(data)
	if err != nil {
		return nil, err
	}
	bad, why, err := whole.check(newLines(bytes.NewReader(data), whole.head, int64(len(data))))
	if err == nil && bad != nil {
		err = why
	}
	if err == nil && len(s.Events) == 0 {
		err = checkFirst(s.run, events[0].Type, events[0].Data)
	}
	return data, err
}

// lockUnchanged locks the old journal against writers, and verifies that it has not changed since it was read.
func (s *Salvage) lockUnchanged(path string) (unlock func(), err error) {
	file, err := disk.Open(path)
	if err != nil {
		return nil, err
	}
	l := &Log{file: disk.File{File: file}}
	release, err := l.lock(unix.LOCK_EX)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	unlock = func() { release(); file.Close() }
	if now, err := disk.ReadFile(path, disk.JournalLimit); err != nil || !bytes.Equal(now, s.current) {
		unlock()
		return nil, errors.Join(errors.New("another process has written to it: try again"), err)
	}
	return unlock, nil
}

// linkDamaged gives the journal a second name, under which it stays when the new one replaces it. It reuses a name from
// an earlier, interrupted rebuild.
func linkDamaged(home, path string) (name string, err error) {
	info, err := disk.Lstat(path)
	if err != nil {
		return "", err
	}
	names, err := disk.Glob(home, damagedPrefix+"*")
	if err != nil {
		return "", err
	}
	for _, name := range names {
		if other, err := disk.Lstat(name); err == nil && os.SameFile(info, other) {
			return name, disk.SyncFolder(home)
		}
	}
	name = damagedName(home, 0)
	if err := disk.Link(path, name); err != nil {
		return "", err
	}
	return name, nil
}

// Lost returns the runs in folder whose journal is missing although they had one: files that its events led to still
// exist. Runs whose creation was interrupted have no such files.
func Lost(folder string) ([]pawl.RunID, error) {
	entries, err := disk.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	var runs []pawl.RunID
	for _, entry := range entries {
		run, err := pawl.ParseRunID(entry.Name())
		if err == nil && lost(filepath.Join(folder, entry.Name())) {
			runs = append(runs, run)
		}
	}
	return runs, nil
}

func lost(home string) bool {
	if info, err := disk.Lstat(filepath.Join(home, FileName)); err == nil && info.Size() > 0 {
		return false
	}
	return hasTraces(home)
}

// hasTraces reports whether files exist that only follow a run's first events.
func hasTraces(home string) bool {
	for _, trace := range []string{"steps", "STATE.md", "state.json", blobFolder} {
		if _, err := disk.Lstat(filepath.Join(home, trace)); err == nil {
			return true
		}
	}
	return false
}

// CachedSeq returns the last event in a run's cached state, or 0 if the cache is missing or damaged. It uses nothing
// else of the cache.
func CachedSeq(folder string, run pawl.RunID) pawl.Seq {
	data, err := disk.ReadFile(filepath.Join(homeOf(folder, run), "state.json"), disk.CacheLimit)
	if err != nil || !sumMatches(data) {
		return 0
	}
	m := cachedSeq.FindSubmatch(data)
	if m == nil {
		return 0
	}
	seq, err := strconv.ParseInt(string(m[1]), 10, 64)
	if err != nil {
		return 0
	}
	return pawl.Seq(seq)
}

// cachedSeq matches the start of the cache.
var cachedSeq = lazyregexp.New(`^\{"version":\d+,"seq":(\d{1,18}),`)
