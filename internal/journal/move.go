package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/disk"
)

// A Mover is a Remote that runs can be moved to and from. Each method may be called again after an error or a crash.
type Mover interface {
	// Receive registers a run that is Arriving, unless it is known.
	Receive(ctx context.Context, key string, about About) error
	// Keep makes a run Stored if it ends at end.
	Keep(ctx context.Context, key string, end Head) error
	// Release makes a run Leaving if it ends at end, and reports whether it did.
	Release(ctx context.Context, key string, end Head) (bool, error)
	// Forget deletes the lines and blobs of a run that is not Stored, and remembers that it has Left.
	Forget(ctx context.Context, key string) error
	// Blobs returns the SHA-256 of each of a run's blobs.
	Blobs(ctx context.Context, key string) ([]string, error)
}

// A Deleter is a Remote that can delete runs.
type Deleter interface {
	// Delete deletes a run that came from a folder of a host, unless an engine has its lease. It does nothing if the run came from
	// elsewhere, or is gone.
	Delete(ctx context.Context, key string, from About) error
}

// About is what a store knows of a run besides its lines.
type About struct {
	Run     pawl.RunID
	Project string // ID of the project
	Name    string // of the run
	Host    string
	Path    string // the project's root there
}

// moving is a store to which a run is moved.
type moving interface {
	Remote
	Mover
}

// errNoMove means that runs cannot be moved to or from a store.
var errNoMove = errors.New("runs cannot be moved to this database")

// chunkLines and chunkBytes limit the batches in which a run is sent to a store.
const (
	chunkLines = 500
	chunkBytes = 4 << 20
)

// StoreNew makes new runs in folder start in a store; in files, if store is empty.
func StoreNew(folder, store string) error {
	if store == "" {
		return removeMarker(folder)
	}
	if err := disk.MakeFolders(folder); err != nil {
		return err
	}
	return marker{Store: store, Phase: Stored}.write(folder)
}

// NewRunsIn returns the ID of the store in which new runs in folder start; "" for files.
func NewRunsIn(folder string) (store string, err error) {
	m, err := readMarker(folder)
	return m.Store, err
}

// ToStore moves a run to a store. Its files stay, as a copy. After a crash, the run is in files or in the store, whole, and ToStore
// continues. The caller makes sure that no engine works on the run.
func ToStore(ctx context.Context, folder string, run pawl.RunID, store string) error {
	l, err := Open(folder, run)
	if err != nil {
		return err
	}
	l.mu.Lock()
	err = l.moveToStore(ctx, store)
	l.mu.Unlock()
	return errors.Join(err, l.Close())
}

// Place moves a new run in folder to the store in which new runs start, if that is not in files.
func Place(ctx context.Context, folder string, run pawl.RunID) error {
	m, err := readMarker(folder)
	if err != nil || !m.remote() {
		return err
	}
	return ToStore(ctx, folder, run, m.Store)
}

// storeOfNew returns the ID of the store in which new runs in folder start, if it can be reached; "" for files.
func storeOfNew(folder string) (string, error) {
	m, err := readMarker(folder)
	if err != nil || !m.remote() {
		return "", err
	}
	_, _, cancel, err := forReading(m.Store, folder)
	if err != nil {
		return "", err
	}
	cancel()
	return m.Store, nil
}

// place moves a new run to the store in which it starts. The caller holds l.mu.
func (l *Log) place(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	store := l.placeIn
	l.placeIn = ""
	if err := l.moveToStore(ctx, store); err != nil {
		return fmt.Errorf("the run starts in files: move it to the database: %w", err)
	}
	return nil
}

// moveToStore moves the run to a store. The caller holds l.mu.
func (l *Log) moveToStore(ctx context.Context, id string) error {
	to, err := mover(ctx, id, filepath.Dir(l.home))
	if err != nil {
		return err
	}
	m, err := l.arrive(ctx, to, id)
	if err != nil {
		return err
	}
	if m.remote() {
		return l.restoreStored(ctx, to, m)
	}
	if err := l.send(ctx, to, m.Key); err != nil { // most of it, before others must wait
		return err
	}
	unlock, err := l.lock(unix.LOCK_EX)
	if err != nil {
		return err
	}
	defer unlock()
	if err := l.prepareWrite(); err != nil {
		return err
	}
	if err := l.send(ctx, to, m.Key); err != nil {
		return err
	}
	m.Phase = Stored
	if err := m.write(l.home); err != nil {
		return err
	}
	return to.Keep(ctx, m.Key, l.chain.place())
}

func mover(ctx context.Context, id, folder string) (moving, error) {
	store, err := connect(ctx, id, folder)
	if err != nil {
		return nil, err
	}
	to, ok := store.(moving)
	if !ok {
		return nil, errNoMove
	}
	return to, nil
}

// arriving returns the marker of a run that is to be moved to a store.
func arriving(store string) marker {
	return marker{Store: store, Key: newUUID(), Copy: newUUID(), Phase: Arriving}
}

// arrive returns the marker of a run that is on its way to a store, or is there. It gives the run a key.
func (l *Log) arrive(ctx context.Context, to moving, id string) (marker, error) {
	m, err := readMarker(l.home)
	if err != nil {
		return m, err
	}
	if m.Store != "" && m.Store != id {
		return m, &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("run %s is stored in another database (%s)", l.run, m.Store), Hint: "pawl store move files"}
	}
	if m.Phase == Left {
		if err := to.Forget(ctx, m.Key); err != nil {
			return m, err
		}
		m = marker{}
	}
	if m.Store == "" {
		m = arriving(id)
		if err := m.write(l.home); err != nil {
			return m, err
		}
	}
	if m.Phase == Stored && l.chain.seq == 0 {
		return m, nil
	}
	about, err := l.about()
	if err != nil {
		return m, err
	}
	return m, to.Receive(ctx, m.Key, about)
}

// restoreStored sends what a store has lost, and ends a move to files that was interrupted.
func (l *Log) restoreStored(ctx context.Context, to moving, m marker) error {
	unlock, err := l.lock(unix.LOCK_EX)
	if err != nil {
		return err
	}
	defer unlock()
	if err := l.prepareWrite(); err != nil {
		return err
	}
	page, err := to.Read(ctx, m.Key, l.chain.seq)
	if err != nil {
		return err
	}
	if page.Phase == Leaving {
		if err := to.Keep(ctx, m.Key, page.Head); err != nil {
			return err
		}
	}
	if page.Head.Seq < l.chain.seq {
		if err := l.send(ctx, to, m.Key); err != nil {
			return err
		}
	} else if err := l.pull(ctx, to, m.Key); err != nil {
		return err
	}
	return to.Keep(ctx, m.Key, l.chain.place())
}

// about returns what a store records about the run.
func (l *Log) about() (a About, err error) {
	a = About{Run: l.run, Path: rootOf(l.home)}
	if a.Host, err = os.Hostname(); err != nil {
		return a, err
	}
	for line, err := range l.rawAfter(0) {
		if err != nil {
			return a, err
		}
		r, _ := splitLine(line)
		var created pawl.RunCreated
		err = json.Unmarshal(r.data, &created)
		a.Project, a.Name = created.Project, created.Name
		return a, err
	}
	return a, l.Empty()
}

// send sends the lines that the files have more than a store, and all blobs. What the store has must begin as the files do.
func (l *Log) send(ctx context.Context, to moving, key string) error {
	page, err := to.Read(ctx, key, l.chain.seq)
	if err != nil {
		return err
	}
	at := page.Head
	if at.Seq > l.chain.seq {
		return l.differs(at.Seq, errors.New("the database has more events"))
	}
	if err := l.sendBlobs(ctx, to, key); err != nil {
		return err
	}
	b := Batch{After: at, End: at}
	size := 0
	flush := func() error {
		if len(b.Lines) == 0 {
			return nil
		}
		b.ID = newUUID()
		added, err := to.Append(ctx, key, b)
		if err == nil && !added {
			err = errors.New("another process moves this run")
		}
		b, size = Batch{After: b.End, End: b.End}, 0
		return err
	}
	for line, err := range l.rawAfter(0) {
		if err != nil {
			return err
		}
		r, _ := splitLine(line)
		if r.seq <= at.Seq {
			if r.seq == at.Seq && string(r.sum[:]) != at.Sum {
				return l.differs(at.Seq, fmt.Errorf("checksum of event %d is %s there, and %s in the files", at.Seq, at.Sum, string(r.sum[:])))
			}
			continue
		}
		if err := l.sendPlan(ctx, to, key, r); err != nil {
			return err
		}
		b.Lines = append(b.Lines, BatchLine{Seq: r.seq, Epoch: r.epoch, Type: pawl.EventType(r.kind), Line: line})
		b.End = Head{Seq: r.seq, Epoch: r.epoch, Sum: string(r.sum[:])}
		if size += len(line); len(b.Lines) == chunkLines || size >= chunkBytes {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

func (l *Log) differs(at pawl.Seq, why error) error {
	return &pawl.Error{Kind: pawl.KindDamaged, Err: fmt.Errorf("the database has another journal of run %s, up to event %d: %w", l.run, at, why), Hint: "pawl store move files"}
}

// sendBlobs sends the blobs that a store lacks.
func (l *Log) sendBlobs(ctx context.Context, to moving, key string) error {
	entries, err := disk.ReadDir(filepath.Join(l.home, blobFolder))
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	there, err := to.Blobs(ctx, key)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, name := range there {
		known[name] = true
	}
	for _, entry := range entries {
		if !blobName.MatchString(entry.Name()) || known[entry.Name()] {
			continue
		}
		data, err := l.Blob(entry.Name())
		if err == nil {
			err = to.PutBlob(ctx, key, entry.Name(), data)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// rawAfter yields the lines of the events after seq, verified. The caller holds l.mu.
func (l *Log) rawAfter(after pawl.Seq) func(yield func([]byte, error) bool) {
	return func(yield func([]byte, error) bool) {
		for _, s := range l.sealed {
			if s.last <= after {
				continue
			}
			index, err := s.load(l.run)
			if err != nil {
				yield(nil, err)
				return
			}
			if !yieldLines(newLines(index.file, index.startOf(max(after+1, s.first)), index.chain.end), yield) {
				return
			}
		}
		yieldLines(newLines(l.file, l.startOf(max(after+1, l.first)), l.chain.end), yield)
	}
}

func yieldLines(in *lines, yield func([]byte, error) bool) (more bool) {
	for {
		line, err := in.next()
		if err != nil {
			yield(nil, err)
			return false
		}
		if line == nil {
			return true
		}
		if !yield(append([]byte(nil), line...), nil) {
			return false
		}
	}
}

// ToFiles moves a run from its store to its files. After a crash, the run is in the store or in files, whole, and ToFiles continues.
// The caller makes sure that no engine works on the run.
func ToFiles(ctx context.Context, folder string, run pawl.RunID) error {
	l, err := Open(folder, run)
	if err != nil {
		return err
	}
	l.mu.Lock()
	err = l.moveToFiles(ctx)
	l.mu.Unlock()
	return errors.Join(err, l.Close())
}

// DeleteStored deletes a run from its store, if it came there from this folder. A copy of a run that another project moved there is only
// a copy: its run stays. The caller deletes the files.
func DeleteStored(ctx context.Context, folder string, run pawl.RunID) error {
	home := homeOf(folder, run)
	m, err := readMarker(home)
	if err != nil || !m.remote() {
		return err
	}
	remote, err := connect(ctx, m.Store, folder)
	if err != nil {
		return err
	}
	store, ok := remote.(Deleter)
	if !ok {
		return errNoMove
	}
	from := About{Run: run, Path: rootOf(home)}
	if from.Host, err = os.Hostname(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	return store.Delete(ctx, m.Key, from)
}

// rootOf returns the folder of the project that a run's folder belongs to.
func rootOf(home string) string { return filepath.Dir(filepath.Dir(filepath.Dir(home))) }

// moveToFiles moves the run from its store. The caller holds l.mu.
func (l *Log) moveToFiles(ctx context.Context) error {
	m, err := readMarker(l.home)
	if err != nil || m.Store == "" {
		return err
	}
	from, err := mover(ctx, m.Store, filepath.Dir(l.home))
	if err != nil {
		return err
	}
	if m.remote() {
		if err := l.release(ctx, from, m); err != nil {
			return err
		}
	}
	if err := from.Forget(ctx, m.Key); err != nil {
		return err
	}
	return removeMarker(l.home)
}

// release makes the files the truth.
func (l *Log) release(ctx context.Context, from moving, m marker) error {
	unlock, err := l.lock(unix.LOCK_EX)
	if err != nil {
		return err
	}
	defer unlock()
	if err := l.prepareCopy(ctx, from, m.Key); err != nil {
		return err
	}
	for released := false; !released; {
		if err := l.pullLeaving(ctx, from, m.Key); err != nil {
			return err
		}
		if released, err = from.Release(ctx, m.Key, l.chain.place()); err != nil {
			return err
		}
	}
	if err := l.fetchBlobs(ctx, from, m.Key); err != nil {
		return err
	}
	if err := errors.Join(l.file.Sync(), disk.SyncFolder(l.home)); err != nil {
		return err
	}
	m.Phase = Left
	return m.write(l.home)
}

// pullLeaving is pull for a run that may be Leaving, by an earlier try.
func (l *Log) pullLeaving(ctx context.Context, from moving, key string) error {
	page, err := from.Read(ctx, key, l.chain.seq)
	if err != nil {
		return err
	}
	if page.Phase == Leaving && page.Head == l.chain.place() {
		return nil
	}
	if page.Phase == Leaving {
		if err := from.Keep(ctx, key, page.Head); err != nil {
			return err
		}
	}
	return l.pull(ctx, from, key)
}

// fetchBlobs writes the blobs that the files lack.
func (l *Log) fetchBlobs(ctx context.Context, from moving, key string) error {
	names, err := from.Blobs(ctx, key)
	if err != nil {
		return err
	}
	plans := map[string]bool{} // they have files of their own
	for line, err := range l.rawAfter(0) {
		if err != nil {
			return err
		}
		r, _ := splitLine(line)
		name, _ := l.planOf(r)
		plans[name] = true
	}
	for _, name := range names {
		if !blobName.MatchString(name) || plans[name] || disk.Exists(filepath.Join(l.home, blobFolder, name)) {
			continue
		}
		data, err := from.Blob(ctx, key, name)
		if err == nil {
			_, err = l.putBlobFile(data)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func removeMarker(folder string) error {
	err := disk.Remove(filepath.Join(folder, markerName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Attach makes the run with a key in a store one of folder, with an empty copy. Opening it copies the lines.
func Attach(folder string, run pawl.RunID, store, key string) error {
	if _, err := pawl.ParseRunID(string(run)); err != nil {
		return err
	}
	home := homeOf(folder, run)
	if err := disk.MakeFolders(home); err != nil {
		return fmt.Errorf("attach run %s: %w", run, err)
	}
	return marker{Store: store, Key: key, Copy: newUUID(), Phase: Stored}.write(home)
}
