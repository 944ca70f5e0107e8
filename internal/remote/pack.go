package remote

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"pawl/internal/disk"
	"pawl/internal/snapshot/pack"
)

const (
	packSize    = 16 << 20                  // at which a new pack is begun
	maxPackSize = packSize + pack.EntrySize // a pack has at least one object
	indexMagic  = "pawl pack 1\n"
	indexEntry  = len(pack.ID{}) + 8
	maxIndex    = 64 << 20
)

// An index says where the objects of a pack are.
type index struct {
	ref     PackRef
	objects map[pack.ID]span
}

// span is a range of bytes in a pack.
type span struct{ from, size uint32 }

// encodeIndex encodes the places of a pack's objects in their order.
func encodeIndex(ids []pack.ID, places map[pack.ID]span) []byte {
	out := make([]byte, 0, len(indexMagic)+len(ids)*indexEntry)
	out = append(out, indexMagic...)
	for _, id := range ids {
		out = append(out, id[:]...)
		out = binary.LittleEndian.AppendUint32(out, places[id].from)
		out = binary.LittleEndian.AppendUint32(out, places[id].size)
	}
	return out
}

// decodeIndex decodes the index of a pack with this size.
func decodeIndex(data []byte, ref PackRef) (*index, error) {
	rest, ok := bytes.CutPrefix(data, []byte(indexMagic))
	if !ok || len(rest)%indexEntry != 0 {
		return nil, errors.New("not the index of a pack")
	}
	x := &index{ref: ref, objects: make(map[pack.ID]span, len(rest)/indexEntry)}
	for ; len(rest) > 0; rest = rest[indexEntry:] {
		at := span{from: binary.LittleEndian.Uint32(rest[32:]), size: binary.LittleEndian.Uint32(rest[36:])}
		if int64(at.from)+int64(at.size) > ref.Size || at.size > pack.EntrySize {
			return nil, errors.New("the index names bytes that the pack does not have")
		}
		x.objects[pack.ID(rest)] = at
	}
	return x, nil
}

func packKey(ref PackRef) string  { return packPrefix + ref.Pack }
func indexKey(ref PackRef) string { return indexPrefix + ref.Pack + "-" + ref.Index }

// parseIndexKey is the inverse of indexKey.
func parseIndexKey(key string) (ref PackRef, ok bool) {
	name, ok := strings.CutPrefix(key, indexPrefix)
	ref.Pack, ref.Index, _ = strings.Cut(name, "-")
	return ref, ok && validSum.MatchString(ref.Pack) && validSum.MatchString(ref.Index)
}

// Cache is a folder with indexes that were read before; "" for none.
type Cache string

// readIndex returns the index of a pack.
func readIndex(ctx context.Context, s Store, cache Cache, ref PackRef) (*index, error) {
	cached := filepath.Join(string(cache), ref.Index)
	if cache != "" {
		if data, err := disk.ReadFile(cached, maxIndex); err == nil && sumOf(data) == ref.Index {
			return decodeIndex(data, ref)
		}
	}
	data, err := s.Get(ctx, indexKey(ref), maxIndex)
	if err == nil && sumOf(data) != ref.Index {
		err = damaged("content does not match the SHA-256 in its name")
	}
	if err != nil {
		return nil, fmt.Errorf("read %s from the remote: %w", indexKey(ref), err)
	}
	x, err := decodeIndex(data, ref)
	if err != nil {
		return nil, damaged("%s on the remote: %w", indexKey(ref), err)
	}
	if cache != "" && disk.MakeFolders(string(cache)) == nil {
		_ = disk.Put(cached, data) // without it, the index is read again
	}
	return x, nil
}

// maxReading is how many indexes are read at a time.
const maxReading = 8

// readIndexes returns the indexes of packs.
func readIndexes(ctx context.Context, s Store, cache Cache, refs []PackRef) []indexOrError {
	list := make([]indexOrError, len(refs))
	var next atomic.Int64
	var readers sync.WaitGroup
	for range min(len(refs), maxReading) {
		readers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(refs); i = int(next.Add(1)) - 1 {
				list[i].index, list[i].err = readIndex(ctx, s, cache, refs[i])
			}
		})
	}
	readers.Wait()
	return list
}

// indexOrError is an index, or why it cannot be read.
type indexOrError struct {
	*index
	err error
}

// A Reader reads objects from the packs of a record. It is not safe for concurrent use.
type Reader struct {
	store   Store
	cache   Cache
	indexes []*index
	unread  []PackRef // whose indexes have not been read, oldest first
	loaded  []loaded  // the packs read last
}

type loaded struct {
	pack string
	data []byte
}

// maxLoaded is how many packs a Reader keeps in memory.
const maxLoaded = 4

// NewReader returns a reader of objects in packs, oldest first.
func NewReader(s Store, cache Cache, packs []PackRef) *Reader {
	return &Reader{store: s, cache: cache, unread: slices.Clone(packs)}
}

// Get returns an object as pack.Decode accepts it. It reads the newest packs first, because what is missing here is most likely new.
func (r *Reader) Get(ctx context.Context, id pack.ID) ([]byte, error) {
	x, err := r.find(ctx, id)
	if err != nil {
		return nil, err
	}
	data, err := r.load(ctx, x.ref)
	if err != nil {
		return nil, err
	}
	at := x.objects[id]
	return data[at.from : at.from+at.size], nil
}

// Content returns the content of an object of at most limit bytes.
func (r *Reader) Content(ctx context.Context, id pack.ID, limit int64) ([]byte, error) {
	encoded, err := r.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	content, err := pack.Decode(id, encoded)
	if err == nil && int64(len(content)) > limit {
		err = disk.ErrTooLarge
	}
	if err != nil {
		return nil, damaged("object %s on the remote: %w", id, err)
	}
	return content, nil
}

func (r *Reader) find(ctx context.Context, id pack.ID) (*index, error) {
	for _, x := range r.indexes {
		if _, has := x.objects[id]; has {
			return x, nil
		}
	}
	for len(r.unread) > 0 {
		some := r.unread[max(len(r.unread)-maxReading, 0):]
		var found *index
		for _, x := range slices.Backward(readIndexes(ctx, r.store, r.cache, some)) {
			if x.err != nil {
				return nil, x.err
			}
			r.indexes, r.unread = append(r.indexes, x.index), r.unread[:len(r.unread)-1]
			if _, has := x.objects[id]; has && found == nil {
				found = x.index
			}
		}
		if found != nil {
			return found, nil
		}
	}
	return nil, damaged("object %s is missing on the remote", id)
}

// load returns the content of a pack.
func (r *Reader) load(ctx context.Context, ref PackRef) ([]byte, error) {
	for i, l := range r.loaded {
		if l.pack == ref.Pack {
			r.loaded = append(slices.Delete(r.loaded, i, i+1), l)
			return l.data, nil
		}
	}
	data, err := readPack(ctx, r.store, ref)
	if err != nil {
		return nil, err
	}
	if len(r.loaded) == maxLoaded {
		r.loaded = slices.Delete(r.loaded, 0, 1)
	}
	r.loaded = append(r.loaded, loaded{ref.Pack, data})
	return data, nil
}

func readPack(ctx context.Context, s Store, ref PackRef) ([]byte, error) {
	data, err := s.Get(ctx, packKey(ref), maxPackSize)
	if err == nil && (sumOf(data) != ref.Pack || int64(len(data)) != ref.Size) {
		err = damaged("content does not match the SHA-256 in its name")
	}
	if err != nil {
		return nil, fmt.Errorf("read %s from the remote: %w", packKey(ref), err)
	}
	return data, nil
}

// Known says which packs have which objects, so that they are not sent again.
type Known struct {
	packs   map[pack.ID]PackRef
	indexes []*index
	present map[string]int64 // sizes of the packs that are there, and not about to be deleted
}

// FindKnown reads the indexes of the packs on a remote.
func FindKnown(ctx context.Context, s Store, cache Cache) (*Known, error) {
	k := &Known{packs: map[pack.ID]PackRef{}}
	var there []Object
	err := Together(
		func() (err error) { k.present, err = present(ctx, s); return err },
		func() (err error) { there, err = s.List(ctx, indexPrefix); return err },
	)
	if err != nil {
		return nil, err
	}
	var refs []PackRef
	for _, o := range there {
		ref, ok := parseIndexKey(o.Key)
		if ref.Size = k.present[ref.Pack]; ok && ref.Size > 0 {
			refs = append(refs, ref)
		}
	}
	return k, k.read(ctx, s, cache, refs)
}

// KnownIn returns what some packs have. Whether they are still there is for Record.CheckPresent to find out.
func KnownIn(ctx context.Context, s Store, cache Cache, packs []PackRef) (*Known, error) {
	k := &Known{packs: map[pack.ID]PackRef{}}
	return k, k.read(ctx, s, cache, packs)
}

// read reads the indexes of packs. If one cannot be read, its objects are sent again; pawl remote verify reports it.
func (k *Known) read(ctx context.Context, s Store, cache Cache, packs []PackRef) error {
	for _, x := range readIndexes(ctx, s, cache, packs) {
		if x.err == nil {
			k.indexes = append(k.indexes, x.index)
		}
	}
	k.prefer(k.indexes)
	return ctx.Err()
}

func (k *Known) prefer(indexes []*index) {
	for _, x := range indexes {
		for id := range x.objects {
			k.packs[id] = x.ref
		}
	}
}

// Prefer makes Known name one of these packs, if several have an object.
func (k *Known) Prefer(packs []PackRef) {
	k.prefer(slices.DeleteFunc(slices.Clone(k.indexes), func(x *index) bool { return !slices.Contains(packs, x.ref) }))
}

// present returns the sizes of the packs that are there and not marked.
func present(ctx context.Context, s Store) (map[string]int64, error) {
	var there, marks []Object
	err := Together( // a mark that comes meanwhile is too new to count
		func() (err error) { there, err = s.List(ctx, packPrefix); return err },
		func() (err error) { marks, err = s.List(ctx, markPrefix); return err },
	)
	sizes := map[string]int64{}
	for _, o := range there {
		sizes[strings.TrimPrefix(o.Key, packPrefix)] = o.Size
	}
	for _, o := range marks {
		delete(sizes, strings.TrimPrefix(o.Key, markPrefix))
	}
	return sizes, err
}

// Together calls functions concurrently, and returns the first error in their order.
func Together(calls ...func() error) error {
	errs := make([]error, len(calls))
	var all sync.WaitGroup
	for i, call := range calls {
		all.Go(func() { errs[i] = call() })
	}
	all.Wait()
	return cmp.Or(errs...)
}

// Forget makes Known ignore packs that are smaller than size, so that their objects are stored again, together.
func (k *Known) Forget(size int64) {
	for id, ref := range k.packs {
		if ref.Size < size {
			delete(k.packs, id)
		}
	}
}

// In returns the pack that has an object.
func (k *Known) In(id pack.ID) (PackRef, bool) {
	ref, ok := k.packs[id]
	return ref, ok
}

// Has reports whether a pack is there, and not about to be deleted.
func (k *Known) Has(ref PackRef) bool { return ref.Size > 0 && k.present[ref.Pack] == ref.Size }

// CheckPresent returns an error if a pack of the record is missing, because the remote was pruned meanwhile.
func (r *Record) CheckPresent(ctx context.Context, s Store) error {
	sizes, err := present(ctx, s)
	if err != nil {
		return err
	}
	for _, ref := range r.Packs {
		if sizes[ref.Pack] != ref.Size {
			return damaged("pack %s is missing on the remote, or is about to be deleted", ref.Pack)
		}
	}
	return nil
}

// ParseIDs splits the content of Record.Commits into IDs.
func ParseIDs(data []byte) ([]pack.ID, error) {
	var ids []pack.ID
	if len(data)%len(pack.ID{}) != 0 {
		return nil, damaged("%s is not a list of snapshots", hex.EncodeToString(data[:min(8, len(data))]))
	}
	for chunk := range slices.Chunk(data, len(pack.ID{})) {
		ids = append(ids, pack.ID(chunk))
	}
	return ids, nil
}
