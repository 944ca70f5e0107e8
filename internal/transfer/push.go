package transfer

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"pawl"
	"pawl/internal/history"
	"pawl/internal/project"
	"pawl/internal/remote"
	"pawl/internal/runs"
	"pawl/internal/snapshot"
	"pawl/internal/snapshot/pack"
	"pawl/internal/trust"
)

// Pushed is the result of Push.
type Pushed struct {
	Run       pawl.RunID `json:"run"`
	Number    int        `json:"number"` // of the record
	Seq       pawl.Seq   `json:"seq"`    // of the last event that was pushed
	Snapshots int        `json:"snapshots"`
	Bytes     int64      `json:"bytes"` // that were sent
	UpToDate  bool       `json:"up_to_date,omitempty"`
	Live      []string   `json:"live,omitempty"` // attempts that had not ended
}

const (
	partSize   = 4 << 20 // of large files
	maxParts   = 64      // of a file, before its parts are joined
	maxPacks   = 64      // of a run, before the small ones are joined
	smallPack  = 1 << 20
	partsLimit = 1 << 30 // bytes of a file that is pushed
)

// Push stores a run on the remote: its journal, plans and snapshots, and the records of attempts whose end is unknown. Of a run in a
// database it stores only the snapshots. It sends only what the remote lacks. If it is interrupted, the remote has the run as before, and
// Push can be repeated.
//
// If another machine has pushed the run since, Push fails with a *PushedElsewhereError, the remote stays as it is, and the run gets a
// blocker that says so. For a run in a database it does not fail: the database decides who continues the run.
//
// On a remote that ignores conditions, two pushes at the same time can both be stored: then Push fails with a
// *remote.ConflictError, and the run gets a blocker, too.
func (c *Connection) Push(ctx context.Context, run pawl.RunID, store *snapshot.Store, o PushOptions) (done Pushed, err error) {
	sent := c.store.sent.Load()
	done, err = c.push(ctx, run, store, o)
	done.Bytes = c.store.sent.Load() - sent
	if refused, ok := errors.AsType[*PushedElsewhereError](err); ok {
		err = errors.Join(err, c.block(ctx, run, o.By, pawl.Blocker{
			Text: fmt.Sprintf("another machine or project works on this run: %s pushed it to remote %s (push %d)",
				pushedBy(refused.Record), c.Name, refused.Record.Number),
			Needs: "continue it there; or continue here as another run: pawl fork latest",
		}))
	}
	if conflict, ok := errors.AsType[*remote.ConflictError](err); ok {
		err = errors.Join(err, c.block(ctx, run, o.By, pawl.Blocker{
			Text:  fmt.Sprintf("several machines have pushed this run to remote %s at the same time (push %d)", c.Name, conflict.Records[0].Number),
			Needs: "choose one: " + pawl.HintOf(err),
		}))
	}
	return done, err
}

// PushOptions says who pushes.
type PushOptions struct {
	By      pawl.Author
	Version string // of this program

	take bool // push although nothing is new; see TakeOver
}

// block opens a blocker in a run, unless it is open.
func (c *Connection) block(ctx context.Context, run pawl.RunID, by pawl.Author, blocker pawl.Blocker) error {
	blocker.OfRun = true
	r, err := runs.Perform(ctx, c.project, run, by, func(_ *project.Project, r *runs.Run) ([]pawl.Payload, error) {
		if slices.ContainsFunc(r.State.OpenBlockers(), func(b pawl.Blocker) bool { return b.OfRun && b.Text == blocker.Text }) {
			return nil, nil
		}
		return []pawl.Payload{pawl.BlockerOpened{Blocker: blocker}}, nil
	})
	if err != nil {
		return fmt.Errorf("record that in the run: %w", err)
	}
	return r.Log.Close()
}

func (c *Connection) push(ctx context.Context, run pawl.RunID, store *snapshot.Store, o PushOptions) (done Pushed, err error) {
	if err := runs.RequireOwn(c.project, run); err != nil {
		return Pushed{}, err
	}
	probe := make(chan error, 1) // meanwhile, what is sent is content under its hash
	go func() { probe <- c.probe(ctx) }()
	probed := sync.OnceValue(func() error { return <-probe })
	defer func() {
		if failed := probed(); err == nil {
			err = failed
		}
	}()
	var at position
	var before *remote.Record
	var known *remote.Known
	var source *source
	err = remote.Together(
		func() (err error) { at, before, err = c.agree(ctx, run); return err },
		func() (err error) { source, err = c.read(ctx, run, store); return err },
		func() (err error) { known, err = remote.FindKnown(ctx, c.store, c.cache()); return err },
	)
	if err != nil {
		return Pushed{}, err
	}
	if err := c.requireSnapshots(ctx, before, source); err != nil {
		return Pushed{}, err
	}
	if before != nil {
		known.Prefer(before.Packs)
	}
	w := &packer{known: known, before: before, writer: remote.NewWriter(c.store, c.cache()), used: map[remote.PackRef]bool{}}
	record, err := w.pack(ctx, source, store)
	if err != nil {
		return Pushed{}, errors.Join(err, w.writer.Wait())
	}
	done = Pushed{Run: run, Number: at.Number, Seq: record.Seq, Snapshots: len(source.snapshots), Live: record.Live}
	if before != nil && record.same(before) && !(o.take && at.Pulled != "") {
		done.UpToDate = true
		return done, nil
	}
	record.Run, record.Number, record.Previous = run, at.Number+1, at.Sum
	record.Time, record.Owner = time.Now().UTC(), c.owner(source.state, o.Version)
	if err := probed(); err != nil {
		return done, err
	}
	done.Number = record.Number
	return done, c.commit(ctx, record.Record, at)
}

// probe checks that the remote creates keys as before.
func (c *Connection) probe(ctx context.Context) error {
	if c.identity.Unconditional {
		return nil
	}
	return remote.Probe(ctx, c.store)
}

// requireSnapshots returns an error if another project pushed snapshots of a run in a database that this one lacks. A new record without
// them would let them be pruned.
func (c *Connection) requireSnapshots(ctx context.Context, before *remote.Record, s *source) error {
	if s.database == "" || before == nil {
		return nil
	}
	if at, err := c.position(before.Run); err != nil || at.Sum == before.Sum { // this project knows it
		return err
	}
	there, err := before.Snapshots(ctx, remote.NewReader(c.store, c.cache(), before.Packs))
	if err != nil {
		return err
	}
	for _, id := range there {
		if s.named[id.String()] && !slices.ContainsFunc(s.snapshots, func(r snapshot.Record) bool { return r.ID == id }) {
			return usage("pawl pull "+string(before.Run), "%s pushed snapshots of run %s that this project lacks", before.Owner.Host, before.Run)
		}
	}
	return nil
}

func (c *Connection) owner(s *pawl.State, version string) remote.Owner {
	host, _ := os.Hostname() // it is only shown
	return remote.Owner{Host: host, Machine: machine(), Project: c.project.ID, Epoch: s.Epoch, Pawl: version}
}

// machine returns a value that is the same for all projects of this machine, and from which its ID cannot be derived.
func machine() string {
	sum := sha256.Sum256([]byte("pawl remote\n" + trust.Host()))
	return hex.EncodeToString(sum[:8])
}

// PushedElsewhereError means that the remote has a record of a run that is not the one that this project pushed or pulled last.
type PushedElsewhereError struct {
	Run    pawl.RunID
	Record *remote.Record // the newest one
	Since  int            // number of the record that this project knows; 0 for none
}

func (e *PushedElsewhereError) Error() string {
	since := "this project has neither pushed nor pulled it"
	if e.Since > 0 {
		since = fmt.Sprintf("this project has push %d", e.Since)
	}
	return fmt.Sprintf("run %s was pushed by another machine or project: %s, %s (push %d); %s; nothing was pushed",
		e.Run, e.Record.Owner.Host, e.Record.Time.Local().Format("2006-01-02 15:04 MST"), e.Record.Number, since)
}

// Unwrap gives the error its kind.
func (e *PushedElsewhereError) Unwrap() error {
	return &pawl.Error{Kind: pawl.KindDamaged, Err: remote.ErrPushed, Hint: "pawl pull " + string(e.Run)}
}

// agree returns where the run is on the remote, according to the remote and this project, and the newest record; nil if there is none.
func (c *Connection) agree(ctx context.Context, run pawl.RunID) (at position, newest *remote.Record, err error) {
	if at, err = c.position(run); err != nil {
		return at, nil, err
	}
	if newest, err = remote.Newest(ctx, c.store, run); err != nil {
		return at, nil, err
	}
	switch {
	case newest == nil && at.Number == 0:
		return at, nil, nil
	case newest == nil || newest.Number < at.Number:
		return at, nil, &pawl.Error{Kind: pawl.KindDamaged, Err: fmt.Errorf("the remote has lost push %d of run %s, or it was deleted there", at.Number, run), Hint: "pawl remote verify"}
	case newest.Number == at.Number+1 && newest.Sum == at.Try: // a push that was interrupted at its end
		at = position{Number: newest.Number, Sum: newest.Sum}
		return at, newest, c.setPosition(run, at)
	case newest.Number == at.Number && newest.Sum == at.Sum:
	case newest.Database != "":
		return position{Number: newest.Number, Sum: newest.Sum}, newest, nil
	default:
		return at, nil, &PushedElsewhereError{Run: run, Record: newest, Since: at.Number}
	}
	return at, newest, nil
}

// commit creates the record. Before that, it notes the record's hash, so that a push that dies then knows its own record.
func (c *Connection) commit(ctx context.Context, record *remote.Record, at position) error {
	content, err := record.Encode()
	if err != nil {
		return err
	}
	if err := record.CheckPresent(ctx, c.store); err != nil {
		return err
	}
	at.Try = record.Sum
	if err := c.setPosition(record.Run, at); err != nil {
		return err
	}
	err = record.Commit(ctx, c.store, content, c.identity)
	if errors.Is(err, remote.ErrPushed) {
		_, _, agreed := c.agree(ctx, record.Run)
		return cmp.Or(agreed, err)
	}
	if err == nil {
		err = c.setPosition(record.Run, position{Number: record.Number, Sum: record.Sum})
	}
	if err != nil {
		return err
	}
	if err := record.CheckPresent(ctx, c.store); err != nil { // a prune may have begun before the commit
		return fmt.Errorf("%w; push again", err)
	}
	return nil
}

// packer stores what a record names.
type packer struct {
	known  *remote.Known
	before *remote.Record // nil: the run was never pushed
	writer *remote.Writer
	used   map[remote.PackRef]bool // packs that have what was asked for
}

// packed is a record of a run that is not committed yet.
type packed struct{ *remote.Record }

// same reports whether a record says nothing new.
func (p packed) same(before *remote.Record) bool {
	return p.Seq == before.Seq && slices.Equal(p.Commits, before.Commits) && slices.Equal(p.Packs, before.Packs) &&
		slices.EqualFunc(p.Files, before.Files, func(a, b remote.File) bool { return a.Name == b.Name && slices.Equal(a.Parts, b.Parts) })
}

// pack sends what the remote lacks, and returns the record without its number.
func (w *packer) pack(ctx context.Context, s *source, store *snapshot.Store) (packed, error) {
	r := packed{&remote.Record{Name: s.state.Name, Status: string(s.state.Status), Seq: s.state.Seq, Database: s.database, Live: s.live, Files: []remote.File{}, Packs: []remote.PackRef{}}}
	var ids []byte
	for _, snap := range s.snapshots {
		ids = append(ids, snap.ID[:]...)
	}
	old, oldFiles := w.previous()
	there := 0 // snapshots that the record before has, with all that they name
	if w.isComplete(ids, old) {
		for _, ref := range w.before.Packs {
			w.used[ref] = true
		}
		for _, part := range old {
			there += int(part.Size) / len(pack.ID{})
		}
	}
	var err error
	for _, f := range s.files {
		file := remote.File{Name: f.name}
		if file.Parts, err = w.parts(ctx, oldFiles[f.oldName()], f.data); err != nil {
			return r, err
		}
		r.Files = append(r.Files, file)
	}
	if r.Commits, err = w.parts(ctx, old, ids); err != nil {
		return r, err
	}
	if err := w.writer.End(ctx); err != nil { // snapshots get packs of their own, which go when the snapshots are pruned
		return r, err
	}
	var last *snapshot.Record
	for i, snap := range s.snapshots {
		if i >= there {
			if err := w.writer.AddSnapshot(ctx, store, snap, last, w.has); err != nil {
				return r, fmt.Errorf("push snapshot of checkpoint %s: %w", snap.Checkpoint, err)
			}
		}
		last = &snap
	}
	if err := w.writer.Flush(ctx); err != nil {
		return r, err
	}
	r.Packs = w.packs()
	return r, nil
}

func (w *packer) previous() (commits []remote.Part, files map[string][]remote.Part) {
	files = map[string][]remote.Part{}
	if w.before == nil {
		return nil, files
	}
	for _, f := range w.before.Files {
		files[f.Name] = f.Parts
	}
	return w.before.Commits, files
}

// isComplete reports whether all packs of the record before are needed again: they are there, and no snapshot was removed. So the snapshots
// of that record are there, with all that they name. If the run has
// many small packs, they are not: what they have is stored again, in fewer.
func (w *packer) isComplete(ids []byte, commits []remote.Part) bool {
	if w.before == nil {
		return false
	}
	if len(w.before.Packs) > maxPacks {
		w.known.Forget(smallPack)
		return false
	}
	for _, ref := range w.before.Packs {
		if !w.known.Has(ref) {
			return false
		}
	}
	kept, _ := prefix(commits, ids)
	return len(kept) == len(commits)
}

// prefix returns the parts with which data begins, and the rest of data.
func prefix(parts []remote.Part, data []byte) (kept []remote.Part, rest []byte) {
	for i, p := range parts {
		if int64(len(data)) < p.Size || pack.IDOf(data[:p.Size]) != p.ID {
			return parts[:i], data
		}
		data = data[p.Size:]
	}
	return parts, data
}

// parts returns the parts of a file, and stores those that the remote lacks. It keeps the old ones that are still right.
func (w *packer) parts(ctx context.Context, old []remote.Part, data []byte) ([]remote.Part, error) {
	kept, rest := prefix(old, data)
	if len(kept) >= maxParts {
		kept, rest = nil, data
	}
	parts := slices.Clone(kept)
	for chunk := range slices.Chunk(rest, partSize) {
		parts = append(parts, remote.Part{ID: pack.IDOf(chunk), Size: int64(len(chunk))})
	}
	for _, p := range parts {
		chunk := data[:p.Size]
		data = data[p.Size:]
		if w.has(p.ID) {
			continue
		}
		id, encoded, err := pack.Encode(chunk)
		if err != nil {
			return nil, err
		}
		if err := w.writer.Add(ctx, id, encoded); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// has reports whether the remote has an object, and notes the pack.
func (w *packer) has(id pack.ID) bool {
	ref, ok := w.known.In(id)
	if ok {
		w.used[ref] = true
	}
	return ok
}

// packs returns the packs that the record needs: those of the record before in their order, others, new ones.
func (w *packer) packs() []remote.PackRef {
	list := []remote.PackRef{}
	if w.before != nil {
		for _, ref := range w.before.Packs {
			if w.used[ref] {
				list = append(list, ref)
				delete(w.used, ref)
			}
		}
	}
	var others []remote.PackRef
	for ref := range w.used {
		others = append(others, ref)
	}
	slices.SortFunc(others, func(a, b remote.PackRef) int { return cmp.Compare(a.Pack, b.Pack) })
	for _, ref := range append(others, w.writer.Packs...) {
		if !slices.Contains(list, ref) {
			list = append(list, ref)
		}
	}
	return list
}

// snapshotsOf returns the snapshots that a run's journal names and the store has, oldest first, and the IDs of all that it names.
func (c *Connection) snapshotsOf(ctx context.Context, run pawl.RunID, store *snapshot.Store) (list []snapshot.Record, named map[string]bool, err error) {
	all, err := history.Checkpoints(ctx, c.project, store, run)
	if err != nil {
		return nil, nil, err
	}
	named = map[string]bool{}
	for _, saved := range all {
		if saved.Snapshot != nil && !saved.Pruned {
			named[saved.Snapshot.Record] = true
		}
		if saved.Record != nil && !slices.ContainsFunc(list, func(r snapshot.Record) bool { return r.ID == saved.Record.ID }) {
			list = append(list, *saved.Record)
		}
	}
	return list, named, nil
}
