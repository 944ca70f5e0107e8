package courier

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"time"

	"pawl/internal/disk"
	"pawl/internal/dispatch/order"
	"pawl/internal/remote"
	"pawl/internal/snapshot"
	"pawl/internal/snapshot/pack"
)

// sent says which packs have the files that the project sent last, or got from a worker. Most of the next files are there, too, so that only
// these indexes are read. An order or a result names the packs, so for sentTime no prune deletes them.
type sent struct {
	Time    time.Time        `json:"time"`
	Tree    pack.ID          `json:"tree"`
	LeftOut pack.ID          `json:"left_out"` // zero: none
	Packs   []remote.PackRef `json:"packs"`
}

const (
	sentFile = "sent.json" // in the folder with the indexes
	sentTime = 24 * time.Hour
)

// of reports whether the packs have all files of a snapshot.
func (s *sent) of(r snapshot.Record) bool { return s.Tree == r.Tree && s.LeftOut == listOf(r) }

func listOf(r snapshot.Record) (id pack.ID) {
	if r.LeftOutList != nil {
		id = *r.LeftOutList
	}
	return id
}

// readSent returns what was sent last; nil if that is not known.
func (c *Courier) readSent(now time.Time) *sent {
	if c.remote.Cache == "" {
		return nil
	}
	data, err := disk.ReadFile(c.sentPath(), disk.RecordLimit)
	if err != nil {
		return nil
	}
	return parseSent(data, now)
}

func parseSent(data []byte, now time.Time) *sent {
	s := &sent{}
	if json.Unmarshal(data, s) != nil || now.Before(s.Time) || now.Sub(s.Time) > sentTime {
		return nil
	}
	return s
}

func (c *Courier) sentPath() string { return filepath.Join(string(c.remote.Cache), sentFile) }

// noteSent notes which packs have the files of a snapshot. Without the note, all indexes of the remote are read the next time.
func (c *Courier) noteSent(r snapshot.Record, packs []remote.PackRef) {
	data, err := json.Marshal(sent{Time: time.Now().UTC(), Tree: r.Tree, LeftOut: listOf(r), Packs: packs})
	if err == nil && c.remote.Cache != "" && disk.MakeFolders(string(c.remote.Cache)) == nil {
		_ = disk.Put(c.sentPath(), data)
	}
}

// send stores the files of a snapshot on the remote, and returns the packs that have them.
func (c *Courier) send(ctx context.Context, record snapshot.Record) (packs []remote.PackRef, err error) {
	var known *remote.Known
	last := c.readSent(time.Now())
	switch {
	case last == nil:
		if known, err = remote.FindKnown(ctx, c.remote.Store, c.remote.Cache); err != nil {
			return nil, err
		}
	case last.of(record):
		return last.Packs, nil
	default:
		if known, err = remote.KnownIn(ctx, c.remote.Store, c.remote.Cache, last.Packs); err != nil {
			return nil, err
		}
	}
	packer := order.NewPacker(c.remote.Store, c.remote.Cache, known)
	if err := packer.Snapshot(ctx, c.Objects, record); err != nil {
		return nil, err
	}
	return packer.Packs(ctx)
}

// checkSent checks that the packs of an order are still there. If one is not, the next attempt reads all indexes.
func (c *Courier) checkSent(ctx context.Context, packs []remote.PackRef) error {
	if len(packs) == 0 {
		return nil
	}
	err := (&remote.Record{Packs: packs}).CheckPresent(ctx, c.remote.Store)
	if err != nil && c.remote.Cache != "" {
		err = errors.Join(err, disk.Remove(c.sentPath()))
	}
	return err
}
