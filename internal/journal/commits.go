package journal

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/disk"
)

// CommitsName is the commit log in the folder of all runs; see Commits.
const CommitsName = "commits.log"

const (
	maxCommitsSize = 256 << 20 // of a commit log that is replayed
	manySyncs      = 16        // with more journals to sync, one sync of the file system is cheaper
)

// commitsSize is the size of a commit log that is checkpointed; tests set it.
var commitsSize int64 = 4 << 20

// Commits makes the appends of several journals of one folder durable with one sync (group commit). Appends that wait at the same time
// are written to their journals, and then together to the commit log, which is synced. An append that waits alone syncs its journal
// itself. A checkpoint syncs the journals and empties the log.
//
// After a power failure, journals may lack what the log has. ReplayCommits adds that, before anybody appends. After a crash of the
// process, the journals are complete.
type Commits struct {
	folder string

	mu        sync.Mutex // guards waiting and hasLeader
	waiting   []*commit
	hasLeader bool

	lead   sync.Mutex          // guards the fields below; the leader holds it
	file   disk.File           // locked; nil before the first shared commit
	end    int64               // of the valid records in file
	dirty  map[string]struct{} // folders of runs that are not synced since the last checkpoint
	failed error               // why nothing is written to the log any more
}

// commit is one append that waits for its sync.
type commit struct {
	log  *Log
	data []byte
	turn chan bool // true: lead the next group; false: err is set
	err  error
}

// OpenCommits returns the group commit of a folder of runs, after it has replayed the log of a process that died. Only one process
// may use it at a time.
func OpenCommits(folder string) (*Commits, error) {
	if err := ReplayCommits(folder); err != nil {
		return nil, err
	}
	err := disk.MakeFolders(folder)
	if err == nil {
		err = disk.SyncFolder(filepath.Dir(folder)) // whoever created it may have crashed before
	}
	return &Commits{folder: folder, dirty: map[string]struct{}{}}, err
}

// Open opens a run's journal, whose appends share their syncs with those of other journals.
func (c *Commits) Open(run pawl.RunID) (*Log, error) {
	l, err := Open(c.folder, run)
	if err == nil {
		l.commits = c
	}
	return l, err
}

// Create creates a run like the function Create, except that the names are durable only with its first append.
func (c *Commits) Create(run pawl.RunID) (*Log, error) {
	if store, err := storeOfNew(c.folder); err != nil || store != "" {
		return Create(c.folder, run)
	}
	if _, err := pawl.ParseRunID(string(run)); err != nil {
		return nil, err
	}
	l := blankLog(c.folder, run)
	_, err := disk.MakePassingFolders(l.home)
	if err == nil {
		l.file, err = disk.Create(l.path())
	}
	if err == nil {
		err = l.refreshFile() // somebody else may have created it before
	}
	if err != nil {
		return nil, fmt.Errorf("create run %s: %w", run, err)
	}
	l.commits, l.unnamed = c, true
	return l, nil
}

// Close syncs all journals and removes the commit log. The journals may stay open; later appends sync their journals.
func (c *Commits) Close() error {
	c.lead.Lock()
	defer c.lead.Unlock()
	err := c.checkpoint()
	if c.file.File != nil {
		err = errors.Join(err, unlockCommits(c.file, err == nil, c.path()))
	}
	c.failed = errors.Join(errors.New("the commit log is closed"), err)
	c.file = disk.File{}
	return err
}

func (c *Commits) path() string { return filepath.Join(c.folder, CommitsName) }

// sync makes data, which was just written to the end of l's open segment, durable. The caller holds l.mu and the journal's lock.
func (c *Commits) sync(l *Log, data []byte) error {
	s := &commit{log: l, data: data, turn: make(chan bool, 1)}
	if c.enter(s) || <-s.turn {
		group := c.flush()
		c.handOff()
		for _, other := range group {
			if other != s {
				other.turn <- false
			}
		}
	}
	return s.err
}

// enter queues s and reports whether its caller must lead.
func (c *Commits) enter(s *commit) (lead bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = append(c.waiting, s)
	lead = !c.hasLeader
	c.hasLeader = true
	return lead
}

// flush makes all queued appends durable, and returns them.
func (c *Commits) flush() []*commit {
	c.lead.Lock()
	defer c.lead.Unlock()
	group := c.next()
	c.syncGroup(group)
	return group
}

// next empties the queue.
func (c *Commits) next() []*commit {
	c.mu.Lock()
	defer c.mu.Unlock()
	group := c.waiting
	c.waiting = nil
	return group
}

// handOff lets the next caller in the queue lead.
func (c *Commits) handOff() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hasLeader = len(c.waiting) > 0; c.hasLeader {
		c.waiting[0].turn <- true
	}
}

// syncGroup makes a group durable: through the log, or by a sync of each journal if the group is one append or the log fails.
func (c *Commits) syncGroup(group []*commit) {
	if len(group) > 1 && c.failed == nil {
		if c.failed = c.write(group); c.failed == nil {
			return
		}
	}
	for _, s := range group {
		s.err = s.log.syncOwn()
	}
}

// write appends the group to the log, and syncs it. The log must be able to rebuild every journal that it names, so a full one is
// checkpointed first.
func (c *Commits) write(group []*commit) error {
	if c.file.File == nil {
		file, err := createCommits(c.path())
		if err != nil {
			return err
		}
		c.file = file
	}
	if c.end >= commitsSize {
		if err := c.checkpoint(); err != nil {
			return err
		}
	}
	var buf []byte
	for _, s := range group {
		buf = appendRecord(buf, s.log.run, s.data)
	}
	_, err := c.file.WriteAt(buf, c.end)
	if err == nil {
		err = c.file.Sync()
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", c.path(), err), c.file.Truncate(c.end))
	}
	c.end += int64(len(buf))
	for _, s := range group {
		c.dirty[s.log.home] = struct{}{}
	}
	return nil
}

// checkpoint syncs all journals that the log names, and empties it.
func (c *Commits) checkpoint() error {
	if err := syncHomes(c.folder, c.dirty); err != nil {
		return fmt.Errorf("checkpoint %s: %w", c.path(), err)
	}
	clear(c.dirty)
	if c.end == 0 {
		return nil
	}
	c.end = 0
	return c.file.Truncate(0)
}

// syncHomes makes the journals in folders of runs durable, with their names. One that was moved away meanwhile is skipped.
func syncHomes(folder string, homes map[string]struct{}) error {
	if len(homes) > manySyncs {
		if done, err := disk.SyncFileSystem(folder); done || err != nil {
			return err
		}
	}
	for home := range homes {
		file, err := disk.Open(filepath.Join(home, FileName))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := errors.Join(disk.File{File: file}.Sync(), file.Close(), disk.SyncFolder(home)); err != nil {
			return err
		}
	}
	if len(homes) == 0 {
		return nil
	}
	return disk.SyncFolder(folder)
}

// syncOwn syncs the journal itself. The caller holds l.mu.
func (l *Log) syncOwn() error {
	if err := l.syncNames(); err != nil {
		return err
	}
	return l.file.Sync()
}

// syncNames makes the names of the journal and its folder durable. The caller holds l.mu.
func (l *Log) syncNames() error {
	if !l.unnamed {
		return nil
	}
	err := errors.Join(disk.SyncFolder(l.home), disk.SyncFolder(filepath.Dir(l.home)))
	l.unnamed = err != nil
	return err
}

// syncBatch makes data, which was just written to the end of the open segment, durable.
func (l *Log) syncBatch(data []byte) error {
	if l.commits != nil {
		return l.commits.sync(l, data)
	}
	return l.syncOwn()
}

// A record of the log is a line "commit RUN LENGTH CRC", and LENGTH bytes: the lines that were added to the journal of the run. CRC is
// the CRC-32C of the run and these bytes, in 8 hex digits.

func appendRecord(buf []byte, run pawl.RunID, data []byte) []byte {
	buf = fmt.Appendf(buf, "commit %s %d %08x\n", run, len(data), recordSum(run, data))
	return append(buf, data...)
}

func recordSum(run pawl.RunID, data []byte) uint32 {
	return crc32.Update(crc32.Checksum([]byte(run), castagnoli()), castagnoli(), data)
}

// cutRecord splits the first record off. ok is false at the end of the valid records: the rest was never acknowledged.
func cutRecord(text []byte) (run pawl.RunID, data, rest []byte, ok bool) {
	head, rest, found := bytes.Cut(text, []byte("\n"))
	var name string
	var size int
	var sum uint32
	if n, err := fmt.Sscanf(string(head[:min(len(head), 256)]), "commit %s %d %x", &name, &size, &sum); err != nil || n != 3 || !found {
		return "", nil, nil, false
	}
	run, err := pawl.ParseRunID(name)
	if err != nil || size < 0 || size > len(rest) || recordSum(run, rest[:size]) != sum {
		return "", nil, nil, false
	}
	return run, rest[:size], rest[size:], true
}

// createCommits creates an empty log with a durable name, and locks it.
func createCommits(path string) (disk.File, error) {
	for {
		file, err := disk.Create(path)
		if err != nil {
			return disk.File{}, err
		}
		mine, err := lockCommits(file, path, unix.LOCK_EX)
		if err == nil && mine {
			if err = errors.Join(file.Truncate(0), disk.SyncFolder(filepath.Dir(path))); err == nil {
				return file, nil
			}
		}
		if err != nil {
			return disk.File{}, errors.Join(err, file.Close())
		}
		file.Close() // another process replayed and removed it
	}
}

func flock(file *os.File, how int) (err error) {
	for err = unix.EINTR; err == unix.EINTR; {
		err = unix.Flock(int(file.Fd()), how)
	}
	return err
}

// lockCommits locks a log, and reports whether the locked file is still the one at path.
func lockCommits(file disk.File, path string, how int) (mine bool, err error) {
	if err := flock(file.File, how); err != nil {
		return false, err
	}
	ours, err := file.Stat()
	if err != nil {
		return false, err
	}
	named, err := disk.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(ours, named), err
}

// unlockCommits closes a log, and removes it if all that it has is in the journals.
func unlockCommits(file disk.File, remove bool, path string) error {
	var err error
	if remove {
		err = disk.Remove(path)
	}
	return errors.Join(err, unix.Flock(int(file.Fd()), unix.LOCK_UN), file.Close()) // closing alone leaves copies of forks locked
}

// ReplayCommits adds to the journals in folder what the commit log of a dead process has, and they lack. It does nothing while a
// process uses the log, and waits for another process that replays it. Whoever opens a trusted project calls it.
func ReplayCommits(folder string) error {
	path := filepath.Join(folder, CommitsName)
	_, err := disk.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) { // what is wrong with a folder of runs is for those who read it
		return nil
	}
	var within *os.File
	if err == nil {
		within, err = disk.OpenFolder(folder)
	}
	if err != nil {
		return fmt.Errorf("replay commits: %w", err)
	}
	defer within.Close()
	if err := flock(within, unix.LOCK_EX); err != nil { // only processes that replay hold this lock
		return fmt.Errorf("replay commits: lock %s: %w", folder, err)
	}
	file, err := disk.OpenWritable(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("replay commits: %w", err)
	}
	mine, err := lockCommits(file, path, unix.LOCK_EX|unix.LOCK_NB)
	if err == unix.EWOULDBLOCK || err == nil && !mine {
		return file.Close()
	}
	if err == nil {
		err = replay(folder, file)
	}
	if err := errors.Join(err, unlockCommits(file, err == nil, path)); err != nil {
		return fmt.Errorf("replay %s: %w", path, err)
	}
	return nil
}

func replay(folder string, file disk.File) error {
	text, err := io.ReadAll(io.NewSectionReader(file, 0, maxCommitsSize))
	if err != nil {
		return err
	}
	var runs []pawl.RunID
	lines := map[pawl.RunID][]byte{}
	for {
		run, data, rest, ok := cutRecord(text)
		if !ok {
			break
		}
		if lines[run] == nil {
			runs = append(runs, run)
		}
		lines[run], text = append(lines[run], data...), rest
	}
	homes := map[string]struct{}{}
	for _, run := range runs {
		if err := replayRun(folder, run, lines[run]); err != nil {
			return fmt.Errorf("run %s: %w", run, err)
		}
		homes[homeOf(folder, run)] = struct{}{}
	}
	return syncHomes(folder, homes)
}

func replayRun(folder string, run pawl.RunID, data []byte) error {
	l, err := open(folder, run, false)
	if errors.Is(err, pawl.ErrNoRun) {
		if r, ok := splitLine(cutLine(data)); !ok || r.seq != 1 {
			return nil // the run was deleted or archived since
		}
		l, err = Create(folder, run)
	}
	if err != nil {
		return err
	}
	return errors.Join(l.restore(data), l.Close())
}

// cutLine returns the first line of data, with its newline.
func cutLine(data []byte) []byte { return data[:bytes.IndexByte(data, '\n')+1] }

// restore adds the lines that follow the last good one, and writes those again that are there: after a failed sync, their pages may be
// clean and not on disk. Lines that do not continue the journal were never acknowledged, and others were appended in their place.
func (l *Log) restore(data []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	unlock, err := l.lock(unix.LOCK_EX)
	if err != nil {
		return err
	}
	defer unlock()
	if err := l.catchUp(); err != nil && err != l.damage {
		return err
	}
	if l.readOnly != nil {
		return l.readOnly
	}
	next := l.chain
	var again, missing []byte
	from := next.end
	for len(data) > 0 {
		line := cutLine(data)
		data = data[len(line):]
		r, ok := splitLine(line)
		switch {
		case !ok:
			return &pawl.Error{Kind: pawl.KindDamaged, Err: errors.New("the commit log has a record that is not of journal lines; move it away if it is not yours")}
		case r.seq < l.first: // in a sealed segment, which is synced
		case r.seq <= l.chain.seq:
			old, err := l.lineAt(r.seq)
			if err != nil {
				return err
			}
			if bytes.Equal(old, line) {
				from = min(from, l.startOf(r.seq))
			}
		default:
			if _, err := next.follow(line); err != nil {
				data = nil
				break
			}
			missing = append(missing, line...)
		}
	}
	again = make([]byte, l.chain.end-from)
	if _, err := l.file.ReadAt(again, from); err != nil {
		return err
	}
	if l.size > l.chain.end && len(missing) > 0 {
		if err := l.saveTornTail(); err != nil {
			return err
		}
	}
	_, err = l.file.WriteAt(append(again, missing...), from)
	return err
}
