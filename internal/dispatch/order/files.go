package order

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pawl"
	"pawl/internal/remote"
	"pawl/internal/snapshot"
	"pawl/internal/snapshot/pack"
)

// A Packer stores objects that the remote lacks, and notes which packs have those that it was asked for.
type Packer struct {
	known  *remote.Known
	writer *remote.Writer
	used   map[remote.PackRef]bool
	last   *snapshot.Record // that was stored
}

// NewPacker returns a Packer for a remote, of which something is known.
func NewPacker(s remote.Store, cache remote.Cache, known *remote.Known) *Packer {
	return &Packer{known: known, writer: remote.NewWriter(s, cache), used: map[remote.PackRef]bool{}}
}

func (p *Packer) has(id pack.ID) bool {
	ref, ok := p.known.In(id)
	if ok {
		p.used[ref] = true
	}
	return ok
}

// Snapshot stores the files of a snapshot. Its commit record is in the order or the result.
func (p *Packer) Snapshot(ctx context.Context, store *snapshot.Store, r snapshot.Record) error {
	if err := p.writer.AddFiles(ctx, store, r, p.last, p.has); err != nil {
		return errors.Join(err, p.writer.Wait())
	}
	p.last = &r
	return nil
}

// partSize is the size of the parts of large files.
const partSize = 4 << 20

// inline is the largest size of a file that is in the result itself.
const inline = 16 << 10

// File returns a file of the attempt's folder, and stores the content of a large one.
func (p *Packer) File(ctx context.Context, name string, data []byte) (File, error) {
	f := File{File: remote.File{Name: name, Parts: []remote.Part{}}}
	if len(data) <= inline {
		f.Data = data
		return f, nil
	}
	for chunk := range slices.Chunk(data, partSize) {
		id, encoded, err := pack.Encode(chunk)
		if err != nil {
			return f, err
		}
		f.Parts = append(f.Parts, remote.Part{ID: id, Size: int64(len(chunk))})
		if p.has(id) {
			continue
		}
		if err := p.writer.Add(ctx, id, encoded); err != nil {
			return f, err
		}
	}
	return f, nil
}

// Content returns the content of a file of the attempt's folder.
func (f File) Content(ctx context.Context, from *remote.Reader) ([]byte, error) {
	if len(f.Parts) == 0 {
		return f.Data, nil
	}
	return from.File(ctx, f.File)
}

// Packs stores what is left, and returns the packs that have what was asked for.
func (p *Packer) Packs(ctx context.Context) ([]remote.PackRef, error) {
	if err := p.writer.Flush(ctx); err != nil {
		return nil, err
	}
	var refs []remote.PackRef
	for ref := range p.used {
		refs = append(refs, ref)
	}
	slices.SortFunc(refs, func(a, b remote.PackRef) int { return strings.Compare(a.Pack, b.Pack) })
	return append(refs, p.writer.Packs...), nil
}

// Receive returns a snapshot whose files the packs of a remote have, and stores it first if the store lacks it.
func Receive(ctx context.Context, from *remote.Reader, store *snapshot.Store, record []byte, run pawl.RunID) (snapshot.Record, error) {
	r, err := snapshot.ParseRecord(record, run)
	if err != nil {
		return r, err
	}
	if has, err := store.Has(r.ID); has || err != nil {
		return r, err
	}
	return store.Receive(ctx, record, run, func(id pack.ID) ([]byte, error) { return from.Get(ctx, id) })
}

// The files of an attempt that come back.
var Returned = []string{pawl.OutFile, pawl.ErrFile, pawl.EventsFile, pawl.ResultFile}

// OutputPrefix begins the keys of what a step has written so far.
func OutputPrefix(token pawl.Token) string { return remote.OutputPrefix + string(token) + "/" }

// OutputKey is the key of a part of a file that a step writes.
func OutputKey(token pawl.Token, file string, offset int64) string {
	return fmt.Sprintf("%s%s-%015d", OutputPrefix(token), file, offset)
}

// ParseOutputKey is the inverse of OutputKey.
func ParseOutputKey(key string, token pawl.Token) (file string, offset int64, ok bool) {
	name, ok := strings.CutPrefix(key, OutputPrefix(token))
	file, digits, found := strings.Cut(name, "-")
	offset, err := strconv.ParseInt(digits, 10, 64)
	return file, offset, ok && found && err == nil && offset >= 0 && slices.Contains(Returned, file) && OutputKey(token, file, offset) == key
}
