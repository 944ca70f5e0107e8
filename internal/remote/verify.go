package remote

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"pawl"
	"pawl/internal/snapshot"
	"pawl/internal/snapshot/pack"
)

// Verify reads the newest record of each run, and every byte of the packs that it names, and checks that all objects are there. It
// changes nothing.
func Verify(ctx context.Context, s Store) ([]pawl.Finding, error) {
	if _, err := Identify(ctx, s); err != nil {
		return nil, err
	}
	newest, err := Heads(ctx, s, "")
	if err != nil {
		return nil, err
	}
	v := verifier{store: s, packs: map[PackRef]*checked{}}
	for _, run := range runsOf(newest) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for _, ref := range newest[run] {
			v.run(ctx, run, ref)
		}
		if len(newest[run]) > 1 {
			v.report(pawl.Warn, runPrefix+string(run), "run %s has a conflict: %d pushes with number %d", run, len(newest[run]), newest[run][0].Number)
		}
	}
	return v.findings, nil
}

func runsOf(heads map[pawl.RunID][]Ref) []pawl.RunID {
	var ids []pawl.RunID
	for run := range heads {
		ids = append(ids, run)
	}
	slices.Sort(ids)
	return ids
}

type verifier struct {
	store    Store
	packs    map[PackRef]*checked
	findings []pawl.Finding
}

// checked is a pack whose bytes were read.
type checked struct {
	objects map[pack.ID]span
	err     error
}

func (v *verifier) report(level pawl.Level, where, format string, args ...any) {
	v.findings = append(v.findings, pawl.Finding{Level: level, Where: where, What: fmt.Sprintf(format, args...)})
}

func (v *verifier) run(ctx context.Context, run pawl.RunID, ref Ref) {
	where, before := recordKey(run, ref), len(v.findings)
	r, err := Read(ctx, v.store, run, ref)
	if err != nil {
		v.report(pawl.Bad, where, "%v", err)
		return
	}
	has := map[pack.ID]bool{}
	for _, ref := range r.Packs {
		c := v.packs[ref]
		if c == nil {
			c = checkPack(ctx, v.store, ref)
			v.packs[ref] = c
		}
		if c.err != nil {
			v.report(pawl.Bad, packKey(ref), "run %s: %v", run, c.err)
		}
		for id := range c.objects {
			has[id] = true
		}
	}
	for _, f := range r.Files {
		for _, part := range f.Parts {
			if !has[part.ID] {
				v.report(pawl.Bad, where, "missing: a part of %s, object %s", f.Name, part.ID)
			}
		}
	}
	snapshots := v.snapshots(ctx, r, where)
	if len(v.findings) == before {
		v.report(pawl.OK, where, "run %s: journal up to event %d, %s", run, r.Seq, count(snapshots, "snapshot"))
	}
}

func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// checkPack reads a pack and its index, and each object.
func checkPack(ctx context.Context, s Store, ref PackRef) *checked {
	x, err := readIndex(ctx, s, "", ref)
	if err != nil {
		return &checked{err: err}
	}
	data, err := readPack(ctx, s, ref)
	if err != nil {
		return &checked{err: err}
	}
	for id, at := range x.objects {
		if _, err := pack.Decode(id, data[at.from:at.from+at.size]); err != nil {
			return &checked{err: fmt.Errorf("object %s: %w", id, err)}
		}
	}
	return &checked{objects: x.objects}
}

// snapshots checks that all objects of a record's snapshots are there, and returns how many snapshots there are.
func (v *verifier) snapshots(ctx context.Context, r *Record, where string) int {
	reader := NewReader(v.store, "", r.Packs)
	ids, err := r.Snapshots(ctx, reader)
	seen := map[snapshot.Object]bool{}
	for _, id := range ids {
		if err == nil {
			err = checkSnapshot(ctx, reader, id, r.Run, seen)
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		v.report(pawl.Bad, where, "%v", err)
	}
	return len(ids)
}

func checkSnapshot(ctx context.Context, reader *Reader, id pack.ID, run pawl.RunID, seen map[snapshot.Object]bool) error {
	content, err := reader.Content(ctx, id, pack.MaxRecord)
	if err != nil {
		return err
	}
	record, err := snapshot.ParseRecord(content, run)
	if err != nil {
		return err
	}
	return snapshot.CheckObjects(ctx, record, seen, func(id pack.ID, decode bool) ([]byte, error) {
		if !decode {
			_, err := reader.find(ctx, id)
			return nil, err
		}
		return reader.Content(ctx, id, pack.MaxObject)
	})
}

// Snapshots returns the IDs of the commit records of the record's snapshots, oldest first.
func (r *Record) Snapshots(ctx context.Context, reader *Reader) ([]pack.ID, error) {
	data, err := reader.File(ctx, File{Name: "snapshots", Parts: r.Commits})
	if err != nil {
		return nil, err
	}
	return ParseIDs(data)
}

// File returns the content of a file of a record.
func (r *Reader) File(ctx context.Context, f File) ([]byte, error) {
	data := make([]byte, 0, f.Size())
	for _, part := range f.Parts {
		content, err := r.Content(ctx, part.ID, part.Size)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		if int64(len(content)) != part.Size {
			return nil, damaged("%s on the remote: a part has %d bytes, not %d", f.Name, len(content), part.Size)
		}
		data = append(data, content...)
	}
	return data, nil
}
