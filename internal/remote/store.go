// Package remote stores runs where several machines reach them: their journals, and the objects of their snapshots.
//
//	pawl-remote.json              the remote's ID
//	packs/<sha256>                objects, as pack.Store encodes them, one after another
//	indexes/<pack>-<sha256>       where each object of a pack is
//	runs/<run>/<number>.json      a Record: what a push stored, and who pushed. The highest number counts
//	runs/<run>/<number>-<sum>.json  the same on a remote that ignores conditions; the SHA-256 of the Record begins with sum
//	tasks/<run>/<name>.json       a record of a step on a worker, with the packs that it needs
//	output/<token>/<name>         what such a step has written so far
//	marks/<pack>                  since when no Record needs a pack
//
// Keys are created once and never change. A push writes its Record last, under the number after the highest one, and only if that is
// free. So of two machines that push the same run, one is refused, and nothing is merged. Only Prune and DeleteRun delete.
//
// Some servers overwrite keys that exist. There, the name of a Record has a part of its hash, so that nothing is overwritten. If two machines
// push the same number, both Records stay, and the run has a conflict that a person resolves: until then nobody can push or pull it.
//
// A remote can be written by others. Everything but a Record is named by its hash, which is checked before the content is used. A Record
// is parsed strictly; whoever uses it must not trust what it says.
package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/lazyregexp"
)

// A Store has contents under keys. Its methods may be called concurrently, also by other processes.
type Store interface {
	// Get returns the content of a key. The error wraps fs.ErrNotExist if there is none, and disk.ErrTooLarge if it is larger than limit.
	Get(ctx context.Context, key string, limit int64) ([]byte, error)
	// Create stores content under a key, unless the key exists, and reports whether it did. When it returns nil, the content under the
	// key survives a power failure; after an error, all of it or nothing is there. Of two concurrent calls one creates the key. On a server
	// that ignores conditions, each of them does, and the last one counts; Probe finds that.
	Create(ctx context.Context, key string, content []byte) (created bool, err error)
	// List returns what has a key that starts with a prefix, ordered by key. A prefix is empty, or ends with a slash. Keys below runs/ may
	// have no size and no time.
	List(ctx context.Context, prefix string) ([]Object, error)
	// Delete removes a key. A missing one is not an error.
	Delete(ctx context.Context, key string) error
}

// ErrUnreachable means that a Store does not answer now. What was asked for may have been done, and asking again is always right.
var ErrUnreachable = errors.New("the remote does not answer")

// An Object is a key of a Store.
type Object struct {
	Key      string
	Size     int64
	Modified time.Time
}

// validKey matches the keys of a Store: one to three names, none of which starts with a dot.
var validKey = lazyregexp.New(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,139}(/[A-Za-z0-9_-][A-Za-z0-9._-]{0,139}){0,2}$`)

// ValidKey reports whether a Store accepts a key.
func ValidKey(key string) bool { return validKey.MatchString(key) }

// The names of keys and their folders.
const (
	idKey        = "pawl-remote.json"
	packPrefix   = "packs/"
	indexPrefix  = "indexes/"
	runPrefix    = "runs/"
	markPrefix   = "marks/"
	probePrefix  = "probes/"
	TaskPrefix   = "tasks/"
	OutputPrefix = "output/"
	maxIDSize    = 4 << 10
	remoteFormat = 1
)

// An Identity is what a remote says of itself.
type Identity struct {
	Format int    `json:"format"`
	ID     string `json:"id"`

	// Unconditional says that the store overwrites keys that exist.
	Unconditional bool `json:"unconditional,omitempty"`
}

// validID matches the ID of a remote.
var validID = lazyregexp.New(`^[0-9a-f]{32}$`)

// Identify returns the identity of a remote. The error wraps fs.ErrNotExist if nothing was pushed there.
func Identify(ctx context.Context, s Store) (Identity, error) {
	data, err := s.Get(ctx, idKey, maxIDSize)
	if err != nil {
		return Identity{}, err
	}
	return parseIdentity(data)
}

func parseIdentity(data []byte) (id Identity, err error) {
	if err := json.Unmarshal(data, &id); err != nil || !validID.MatchString(id.ID) {
		return Identity{}, damaged("%s is damaged", idKey)
	}
	if id.Format != remoteFormat {
		return Identity{}, damaged("the remote has format %d, and this pawl reads format %d", id.Format, remoteFormat)
	}
	return id, nil
}

// Prepare makes an empty store a remote, and returns its identity. It fails if the store has other data, or has begun to ignore the
// condition of Create.
func Prepare(ctx context.Context, s Store) (Identity, error) {
	id, err := Identify(ctx, s)
	if err == nil && id.Unconditional {
		return id, nil
	}
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return id, err
	}
	err = Probe(ctx, s)
	if !missing {
		return id, err
	}
	unconditional := errors.Is(err, ErrIgnoresConditions)
	if err != nil && !unconditional {
		return id, err
	}
	if err := requireEmpty(ctx, s); err != nil {
		return id, err
	}
	content, err := json.Marshal(Identity{Format: remoteFormat, ID: disk.RandomHex(16), Unconditional: unconditional})
	if err != nil {
		return id, err
	}
	if _, err := s.Create(ctx, idKey, append(content, '\n')); err != nil {
		return id, err
	}
	return Identify(ctx, s) // another machine may have been faster
}

func requireEmpty(ctx context.Context, s Store) error {
	there, err := s.List(ctx, "")
	for _, o := range there {
		if !strings.HasPrefix(o.Key, probePrefix) && !isPartial(o.Key) && o.Key != idKey {
			return &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("the remote is neither empty nor one of pawl: it has %s", o.Key)}
		}
	}
	return err
}

// ErrIgnoresConditions means that a store overwrites keys that exist.
var ErrIgnoresConditions = errors.New("the remote overwrites what exists, so it cannot tell two machines apart that push the same run")

// Probe checks that a store creates keys as Store promises. The error wraps ErrIgnoresConditions if it overwrites them.
func Probe(ctx context.Context, s Store) (err error) {
	key := probePrefix + disk.RandomHex(16)
	if _, err := s.Create(ctx, key, []byte("first")); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Delete(ctx, key)) }()
	created, err := s.Create(ctx, key, []byte("second"))
	if err != nil {
		return err
	}
	data, err := s.Get(ctx, key, maxIDSize)
	if err == nil && (created || string(data) != "first") {
		err = ErrIgnoresConditions
	}
	return err
}

// Has reports whether a key has this content. Stores ask after a Create whose answer was lost.
func Has(ctx context.Context, s Store, key string, content []byte) (bool, error) {
	there, err := s.Get(ctx, key, int64(len(content)))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, disk.ErrTooLarge) {
		return false, nil
	}
	return err == nil && bytes.Equal(there, content), err
}

// isPartial reports whether a key is a temporary one that a crash left.
func isPartial(key string) bool { return disk.IsPartial(path.Base(key)) }

func damaged(format string, args ...any) error {
	return &pawl.Error{Kind: pawl.KindDamaged, Err: fmt.Errorf(format, args...)}
}
