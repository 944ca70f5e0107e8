package transfer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/journal"
	"pawl/internal/project"
	"pawl/internal/remote"
	"pawl/internal/runs"
	"pawl/internal/snapshot"
	"pawl/internal/snapshot/pack"
)

// Pulled is the result of Pull.
type Pulled struct {
	Run       pawl.RunID   `json:"run"`
	Number    int          `json:"number"` // of the record
	Seq       pawl.Seq     `json:"seq"`    // of the last event
	Snapshots int          `json:"snapshots"`
	Bytes     int64        `json:"bytes"` // that were received
	UpToDate  bool         `json:"up_to_date,omitempty"`
	Owner     remote.Owner `json:"owner"`
	Time      time.Time    `json:"time"`           // of the push
	Live      []string     `json:"live,omitempty"` // attempts that had not ended then
}

// Pull makes the project have a run as it is on the remote. Of a run in a database, which the project must have, it receives the snapshots
// that the journal names, and nothing else. A run that the project has must be one that the remote continues; else nothing
// is changed. The pulled run comes from elsewhere: the user must adopt it before anything continues it. If Pull is interrupted, the
// project has the run as before, and Pull can be repeated.
func (c *Connection) Pull(ctx context.Context, run pawl.RunID, store *snapshot.Store) (done Pulled, err error) {
	lock, err := c.project.LockEngine(project.Holder{PID: os.Getpid(), Run: run, Since: time.Now().UTC(), Command: "pawl pull"})
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	if disk.Exists(c.project.ArchivedDir(run)) {
		return done, usage("pawl archive --help", "run %s is in the archive of this project", run)
	}
	record, err := remote.Newest(ctx, c.store, run)
	if err != nil {
		return done, err
	}
	if record == nil {
		return done, &pawl.Error{Kind: pawl.KindNothing, Err: fmt.Errorf("no run %s on remote %s", run, c.Name), Hint: "pawl remote runs"}
	}
	done = Pulled{Run: run, Number: record.Number, Seq: record.Seq, Owner: record.Owner, Time: record.Time, Live: record.Live}
	received := c.store.received.Load()
	defer func() { done.Bytes = c.store.received.Load() - received }()
	at := position{Number: record.Number, Sum: record.Sum}
	if record.Owner.Project != c.project.ID && record.Database == "" {
		at.Pulled = c.Name
	}
	p := puller{connection: c, record: record, reader: remote.NewReader(c.store, c.cache(), record.Packs), store: store, done: &done}
	p.arrives = func() error { return c.noteArriving(run, at.Pulled) }
	if err = p.pull(ctx); err == nil {
		err = c.setPosition(run, at)
	}
	return done, errors.Join(err, disk.RemoveTree(c.project.Staging()))
}

type puller struct {
	connection *Connection
	record     *remote.Record
	reader     *remote.Reader
	store      *snapshot.Store
	done       *Pulled
	arrives    func() error // called before the project has something new of the run
}

// noteArriving notes from where a run is about to be pulled, so that a run whose pull is interrupted after it arrived is not continued as this
// project's own.
func (c *Connection) noteArriving(run pawl.RunID, pulled string) error {
	at, err := c.position(run)
	if err != nil || at.Pulled == pulled {
		return err
	}
	at.Pulled = pulled
	return c.setPosition(run, at)
}

func (p *puller) pull(ctx context.Context) error {
	home, run := p.connection.project, p.record.Run
	if p.record.Database != "" {
		return p.pullStored(ctx)
	}
	if err := p.stage(ctx); err != nil {
		return err
	}
	relation := journal.Behind
	_, err := disk.Lstat(filepath.Join(home.RunDir(run), journal.FileName))
	there := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if there {
		if relation, err = p.compare(); err != nil {
			return err
		}
	}
	switch relation {
	case journal.Ahead:
		p.done.UpToDate = true
		return nil
	case journal.Diverged:
		return p.diverged()
	}
	if err := p.snapshots(ctx, func(pack.ID) bool { return true }); err != nil {
		return err
	}
	if relation == journal.Same {
		p.done.UpToDate = p.done.Snapshots == 0
		return nil
	}
	if err := p.arrives(); err != nil {
		return err
	}
	if err := runs.Disown(home, run); err != nil { // first: from here on its events are those of others
		return err
	}
	if !there {
		return p.install()
	}
	return p.extend()
}

// pullStored receives the snapshots of a run in a database. Their IDs come from the journal there, so the remote can add nothing to the run.
func (p *puller) pullStored(ctx context.Context) error {
	home, run := p.connection.project, p.record.Run
	stored, err := journal.StoredIn(home.Runs(), run)
	if err != nil {
		return err
	}
	if stored != p.record.Database {
		return usage("pawl store pull "+string(run), "run %s is stored in a database; fetch it from there first", run)
	}
	_, named, err := p.connection.snapshotsOf(ctx, run, p.store)
	if err != nil {
		return err
	}
	err = p.snapshots(ctx, func(id pack.ID) bool { return named[id.String()] })
	p.done.UpToDate = p.done.Snapshots == 0
	return err
}

func (p *puller) compare() (journal.Relation, error) {
	home, run := p.connection.project, p.record.Run
	if stored, err := journal.StoredIn(home.Runs(), run); err != nil || stored != "" {
		return journal.Same, errors.Join(err, usage("pawl store move files", "run %s is stored in a database", run))
	}
	return journal.Compare(home.Runs(), home.Staging(), run)
}

func (p *puller) diverged() error {
	return &pawl.Error{
		Kind: pawl.KindDamaged, Hint: "pawl fork latest",
		Err: fmt.Errorf("run %s has events here that push %d of %s does not have; nothing was pulled: fork the run here, then archive it, then pull it",
			p.record.Run, p.record.Number, p.record.Owner.Host),
	}
}

// stage writes the run's folder as it is on the remote, and checks it.
func (p *puller) stage(ctx context.Context) error {
	staging := p.connection.project.Staging()
	if err := disk.RemoveTree(staging); err != nil { // left by an interrupted command; nobody else uses it now
		return err
	}
	folder := filepath.Join(staging, string(p.record.Run))
	for _, f := range p.record.Files {
		data, err := p.reader.File(ctx, f)
		if err != nil {
			return err
		}
		path := filepath.Join(folder, filepath.FromSlash(f.Name))
		if err := disk.MakeFolders(filepath.Dir(path)); err != nil {
			return err
		}
		if err := disk.Replace(path, data); err != nil {
			return err
		}
	}
	return checkStaged(ctx, staging, p.record)
}

// checkStaged verifies the journal of a run in a folder.
func checkStaged(ctx context.Context, folder string, record *remote.Record) (err error) {
	for _, f := range journal.Check(filepath.Join(folder, string(record.Run))) {
		if f.Level == pawl.Bad {
			return &pawl.Error{Kind: pawl.KindDamaged, Err: fmt.Errorf("run %s is damaged on the remote: %s: %s", record.Run, filepath.Base(f.Where), f.What)}
		}
	}
	log, err := journal.Open(folder, record.Run)
	if err != nil {
		return fmt.Errorf("run %s on the remote: %w", record.Run, err)
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	state, err := log.State(ctx)
	if err != nil {
		return fmt.Errorf("run %s on the remote: %w", record.Run, err)
	}
	if state.Run != record.Run || state.Seq != record.Seq {
		return &pawl.Error{Kind: pawl.KindDamaged, Err: fmt.Errorf("run %s on the remote has the journal of run %s up to event %d, not %d", record.Run, state.Run, state.Seq, record.Seq)}
	}
	return nil
}

// snapshots receives the wanted snapshots that the store lacks, oldest first.
func (p *puller) snapshots(ctx context.Context, wanted func(pack.ID) bool) error {
	ids, err := p.record.Snapshots(ctx, p.reader)
	if err != nil {
		return err
	}
	records, err := p.store.Records()
	if err != nil {
		return err
	}
	has := map[pack.ID]bool{}
	for _, r := range records {
		has[r.ID] = true
	}
	for _, id := range ids {
		if !wanted(id) || has[id] {
			continue
		}
		content, err := p.reader.Content(ctx, id, pack.MaxRecord)
		if err != nil {
			return err
		}
		_, err = p.store.Receive(ctx, content, p.record.Run, func(id pack.ID) ([]byte, error) { return p.reader.Get(ctx, id) })
		if errors.Is(err, snapshot.ErrQuota) {
			err = usage("pawl prune", "%w: raise snapshots.quota in .pawl/config.yaml, or prune; nothing was pulled", err)
		}
		if err != nil {
			return err
		}
		has[id] = true
		p.done.Snapshots++
	}
	return nil
}

// install moves the staged run to its place.
func (p *puller) install() error {
	home := p.connection.project
	to := home.RunDir(p.record.Run)
	if disk.Exists(to) { // without a journal: its creation was interrupted, or its journal was lost
		return &pawl.Error{Kind: pawl.KindDamaged, Err: fmt.Errorf("%s exists and has no journal", to), Hint: "pawl recover " + string(p.record.Run)}
	}
	if err := disk.MakeFolders(home.Runs()); err != nil {
		return err
	}
	return disk.Rename(filepath.Join(home.Staging(), string(p.record.Run)), to)
}

// extend adds what is staged to the run. The journal comes last: until then, no event names the other files.
func (p *puller) extend() error {
	home, run := p.connection.project, p.record.Run
	for _, f := range p.record.Files {
		if strings.HasPrefix(f.Name, "journal.") {
			continue
		}
		from := filepath.Join(home.Staging(), string(run), filepath.FromSlash(f.Name))
		to := filepath.Join(home.RunDir(run), filepath.FromSlash(f.Name))
		if err := disk.MakeFolders(filepath.Dir(to)); err != nil {
			return err
		}
		if err := disk.Rename(from, to); err != nil {
			return err
		}
	}
	return journal.Extend(home.Runs(), home.Staging(), run)
}
