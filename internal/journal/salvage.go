package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/lazyregexp"
)

// A Salvage is what is left of a run's journal: the events before the damage.
type Salvage struct {
	Events []pawl.Event
	Damage error // what stands behind them; nil where nothing does but perhaps a torn tail
	There  bool  // there is a journal, and be it empty

	run    pawl.RunID
	folder string
	end    int64  // where the events end
	whole  []byte // the file as it was read
}

// ReadSalvage returns what is left of the journal of run in folder. An error that is pawl.ErrNewer: a newer pawl wrote there,
// and what it says this one cannot tell.
func ReadSalvage(folder string, run pawl.RunID) (*Salvage, error) {
	s := &Salvage{run: run, folder: folder}
	l, err := open(folder, run)
	if errors.Is(err, pawl.ErrNoRun) {
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	defer l.Close()
	s.There, s.Damage, s.end = true, l.damage, l.chain.end
	if l.newer != "" {
		return nil, fmt.Errorf("%s holds a %s: %w", l.path(), l.newer, pawl.ErrNewer)
	}
	if errors.Is(l.damage, pawl.ErrNewer) {
		return nil, fmt.Errorf("%s is %w", l.path(), pawl.ErrNewer)
	}
	for event, err := range l.stretch(0) {
		if err != nil {
			return nil, err
		}
		s.Events = append(s.Events, event)
	}
	s.whole, err = os.ReadFile(l.path())
	return s, err
}

// asidePrefix begins the names under which damaged journals are kept; the time follows.
const asidePrefix = "journal.damaged-"

// Rebuild has the journal say the events behind what is left of it, in one batch, and returns the name under which the
// old one is kept, empty where there was none. The lines that are left stay byte for byte. Cut off anywhere, there is
// either the old journal or the new one; the old one is never lost. It refuses where somebody has written meanwhile.
func (s *Salvage) Rebuild(events []pawl.Event) (aside string, err error) {
	data, err := s.compose(events)
	if err != nil {
		return "", fmt.Errorf("rebuild the journal of run %s: %w", s.run, err)
	}
	home := filepath.Join(s.folder, string(s.run))
	if err := disk.MakeFolders(home); err != nil {
		return "", err
	}
	path := filepath.Join(home, FileName)
	if s.There {
		unlock, err := s.hold(path)
		if err != nil {
			return "", fmt.Errorf("rebuild the journal of run %s: %w", s.run, err)
		}
		defer unlock()
		if aside, err = setOldAside(home, path); err != nil {
			return "", fmt.Errorf("set the damaged journal aside: %w", err)
		}
	}
	return aside, disk.Replace(path, data)
}

// compose returns the new journal, checked as a reader would.
func (s *Salvage) compose(events []pawl.Event) ([]byte, error) {
	data := bytes.Clone(s.whole[:s.end])
	at := newScanned()
	if _, _, err := at.take(newLines(bytes.NewReader(data), 0, s.end)); err != nil {
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
	whole := newScanned()
	bad, why, err := whole.take(newLines(bytes.NewReader(data), 0, int64(len(data))))
	if err == nil && bad != nil {
		err = why
	}
	if err == nil && len(s.Events) == 0 {
		err = checkFirst(s.run, events[0].Type, events[0].Data)
	}
	return data, err
}

// hold locks the old journal, so that nobody adds to it any more, and makes sure that nobody has since it was read.
func (s *Salvage) hold(path string) (unlock func(), err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	l := &Log{file: disk.File{File: file}}
	release, err := l.lock(unix.LOCK_EX)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	unlock = func() { release(); file.Close() }
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, s.whole) {
		unlock()
		return nil, errors.Join(errors.New("somebody has written to it meanwhile; try again"), err)
	}
	return unlock, nil
}

// setOldAside gives the journal a second name, by which it stays when another one takes its first. A name that one who
// died gave it will do.
func setOldAside(home, path string) (name string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	names, err := filepath.Glob(filepath.Join(home, asidePrefix+"*"))
	if err != nil {
		return "", err
	}
	for _, name := range names {
		if other, err := os.Stat(name); err == nil && os.SameFile(info, other) {
			return name, disk.SyncFolder(home)
		}
	}
	name = filepath.Join(home, asidePrefix+time.Now().UTC().Format("20060102T150405.000000000Z"))
	if err := disk.Link(path, name); err != nil {
		return "", err
	}
	return name, nil
}

// Lost returns the runs in folder that have no journal any more although they had one: what its events led to is still
// there. One whose making was cut off has none of that.
func Lost(folder string) ([]pawl.RunID, error) {
	entries, err := os.ReadDir(folder)
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
	if info, err := os.Stat(filepath.Join(home, FileName)); err == nil && info.Size() > 0 {
		return false
	}
	return outlived(home)
}

// outlived reports whether what a run's first events led to is there.
func outlived(home string) bool {
	for _, trace := range []string{"steps", "STATE.md", "state.json", blobFolder} {
		if _, err := os.Stat(filepath.Join(home, trace)); err == nil {
			return true
		}
	}
	return false
}

// CachedSeq returns up to which event a run's cached state goes, 0 where there is none that is as it was written. Nothing
// else of it is believed.
func CachedSeq(folder string, run pawl.RunID) pawl.Seq {
	data, err := os.ReadFile(filepath.Join(folder, string(run), "state.json"))
	if err != nil || !sumHolds(data) {
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

// cachedSeq is how the cache begins.
var cachedSeq = lazyregexp.New(`^\{"version":\d+,"seq":(\d{1,18}),`)
