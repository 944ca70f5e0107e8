package remote

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"strings"
	"time"
)

// mark is the content of a key below markPrefix.
type mark struct {
	Since time.Time `json:"since"` // when Prune first found that no record needs the pack
}

// Pruned is the result of Prune.
type Pruned struct {
	Deleted int   `json:"deleted"` // packs
	Freed   int64 `json:"freed_bytes"`
	Marked  int   `json:"marked"` // packs that a later Prune deletes, unless a push needs them
	Kept    int   `json:"kept"`
}

// taskTime is how long records of steps on workers are kept.
const taskTime = 30 * 24 * time.Hour

// Prune deletes the packs that no newest record of a run and no task needs, in two phases: it marks them, and deletes those that were marked longer
// than grace ago. No push may take longer than grace. After a crash, Prune can be called again.
func Prune(ctx context.Context, s Store, grace time.Duration, now time.Time) (out Pruned, err error) {
	p := pruner{store: s, oldest: now.Add(-grace), now: now}
	if p.marks, err = p.readMarks(ctx); err != nil {
		return out, err
	}
	there, err := s.List(ctx, "")
	if err != nil {
		return out, err
	}
	if p.needed, err = needed(ctx, s); err != nil { // last: a record that is newer than the marks saves its packs
		return out, err
	}
	for _, o := range there {
		if err := p.object(ctx, o, &out); err != nil {
			return out, err
		}
	}
	return out, p.dropMarks(ctx)
}

type pruner struct {
	store       Store
	oldest, now time.Time
	marks       map[string]time.Time // by pack
	needed      map[string]bool      // packs
}

func (p *pruner) readMarks(ctx context.Context) (map[string]time.Time, error) {
	there, err := p.store.List(ctx, markPrefix)
	if err != nil {
		return nil, err
	}
	marks := map[string]time.Time{}
	for _, o := range there {
		data, err := p.store.Get(ctx, o.Key, maxIDSize)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		marks[path.Base(o.Key)] = parseMark(data, p.now)
	}
	return marks, nil
}

// parseMark returns the time of a mark; now for an unreadable one.
func parseMark(data []byte, now time.Time) time.Time {
	var m mark
	if json.Unmarshal(data, &m) != nil || m.Since.IsZero() {
		return now
	}
	return m.Since
}

// needed returns the packs that the newest record of a run names. It fails if a record cannot be read: nothing is deleted then.
func needed(ctx context.Context, s Store) (map[string]bool, error) {
	newest, err := Numbers(ctx, s, "")
	if err != nil {
		return nil, err
	}
	packs := map[string]bool{}
	for run, number := range newest {
		r, err := Read(ctx, s, run, number)
		if err != nil {
			return nil, err
		}
		for _, ref := range r.Packs {
			packs[ref.Pack] = true
		}
	}
	return packs, addTasks(ctx, s, packs)
}

// addTasks adds the packs that the records of steps on workers name.
func addTasks(ctx context.Context, s Store, packs map[string]bool) error {
	there, err := s.List(ctx, TaskPrefix)
	if err != nil {
		return err
	}
	for _, o := range there {
		data, err := s.Get(ctx, o.Key, maxRecord)
		if errors.Is(err, fs.ErrNotExist) || isPartial(o.Key) {
			continue
		}
		if err != nil {
			return err
		}
		var record struct {
			Packs []PackRef `json:"packs"`
		}
		if err := json.Unmarshal(data, &record); err != nil {
			return damaged("%s on the remote: %w", o.Key, err)
		}
		for _, ref := range record.Packs {
			packs[ref.Pack] = true
		}
	}
	return nil
}

func (p *pruner) object(ctx context.Context, o Object, out *Pruned) error {
	switch name := path.Base(o.Key); {
	case isPartial(o.Key) || strings.HasPrefix(o.Key, probePrefix): // left by a crash
		if o.Modified.After(p.oldest) {
			return nil
		}
		out.Freed += o.Size
		return p.store.Delete(ctx, o.Key)
	case strings.HasPrefix(o.Key, TaskPrefix), strings.HasPrefix(o.Key, OutputPrefix):
		if o.Modified.After(p.now.Add(-taskTime)) {
			return nil
		}
		out.Freed += o.Size
		return p.store.Delete(ctx, o.Key)
	case strings.HasPrefix(o.Key, packPrefix) && validSum.MatchString(name):
		return p.pack(ctx, o, name, out)
	case strings.HasPrefix(o.Key, indexPrefix):
		ref, ok := parseIndexKey(o.Key)
		if since, marked := p.marks[ref.Pack]; !ok || p.needed[ref.Pack] || !marked || since.After(p.oldest) {
			return nil
		}
		out.Freed += o.Size
		return p.store.Delete(ctx, o.Key)
	}
	return nil
}

func (p *pruner) pack(ctx context.Context, o Object, name string, out *Pruned) error {
	since, marked := p.marks[name]
	switch {
	case p.needed[name]:
		out.Kept++
		return nil
	case !marked:
		out.Marked++
		content, err := json.Marshal(mark{Since: p.now.UTC()})
		if err == nil {
			_, err = p.store.Create(ctx, markPrefix+name, content)
		}
		return err
	case since.After(p.oldest):
		out.Marked++
		return nil
	}
	out.Deleted++
	out.Freed += o.Size
	return p.store.Delete(ctx, o.Key)
}

// dropMarks removes the marks of packs that are needed again, or gone.
func (p *pruner) dropMarks(ctx context.Context) error {
	for name, since := range p.marks {
		if p.needed[name] || !since.After(p.oldest) {
			if err := p.store.Delete(ctx, markPrefix+name); err != nil {
				return err
			}
		}
	}
	return nil
}
