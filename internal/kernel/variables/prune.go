package variables

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"pawl/internal/disk"
)

// DefaultKeep is how many checkpoints Prune keeps by default.
const DefaultKeep = 5

// Retention says what Prune keeps.
type Retention struct {
	Keep   int   // checkpoints up to the newest verified one. Defaults to DefaultKeep.
	Quota  int64 // bytes of all objects; the newest checkpoint is kept even if it is larger. Defaults to no limit.
	Pinned []ID  // checkpoints that are kept in any case
}

// OverQuota is why Prune removed a checkpoint that the quota has no room for.
const OverQuota = "over the quota"

// Pruned is what Prune removed.
type Pruned struct {
	Manifests []ID
	Objects   int
	Bytes     int64
	Why       map[ID]string // one clause
}

// Prune removes checkpoints older than the newest verified one, and objects that no manifest needs any more. A crash leaves at most objects
// that nobody needs, which the next call removes.
func (s *Store) Prune(r Retention) (p Pruned, err error) {
	if r.Keep <= 0 {
		r.Keep = DefaultKeep
	}
	p.Why = map[ID]string{}
	err = s.locked(func() error { return s.prune(r, &p) })
	return p, err
}

func (s *Store) prune(r Retention, p *Pruned) error {
	all, err := s.List()
	if err != nil {
		return err // an object may belong to the manifest that cannot be read
	}
	old := 0 // how many there are up to the newest verified one
	for i, m := range all {
		if !m.Verified.IsZero() {
			old = i + 1
		}
	}
	sizes, err := s.sizes()
	if err != nil {
		return err
	}
	drop := choose(r, all[:old], all[old:], sizes, p.Why)
	for _, id := range drop {
		if err := disk.Remove(s.manifestPath(id)); err != nil {
			return err
		}
		p.Manifests = append(p.Manifests, id)
	}
	if len(drop) > 0 {
		if err := disk.SyncFolder(s.dir + "/manifests"); err != nil {
			return err
		}
	}
	live := map[string]bool{}
	for _, m := range all {
		if !slices.Contains(drop, m.ID) {
			for name := range m.objects() {
				live[name] = true
			}
		}
	}
	return s.sweep(live, sizes, p)
}

// choose returns which of the old checkpoints to remove, oldest first. The last of them is verified.
func choose(r Retention, old, pending []Manifest, sizes map[string]int64, why map[ID]string) (drop []ID) {
	kept := slices.Clone(old)
	for i := 0; i < len(kept)-1; { // never the last
		over := ""
		if len(kept) > r.Keep {
			over = fmt.Sprintf("only the newest %d are kept", r.Keep)
		} else if r.Quota > 0 && usage(append(slices.Clone(kept), pending...), sizes) > r.Quota {
			over = OverQuota
		}
		if over == "" {
			break
		}
		if slices.Contains(r.Pinned, kept[i].ID) {
			i++
			continue
		}
		drop = append(drop, kept[i].ID)
		why[kept[i].ID] = over
		kept = slices.Delete(kept, i, i+1)
	}
	return drop
}

// usage returns the size of all objects that manifests need. Shared ones count once.
func usage(list []Manifest, sizes map[string]int64) (total int64) {
	met := map[string]bool{}
	for _, m := range list {
		for name := range m.objects() {
			if !met[name] {
				met[name] = true
				total += sizes[name]
			}
		}
	}
	return total
}

// sizes returns the size of each object.
func (s *Store) sizes() (map[string]int64, error) {
	entries, err := disk.ReadDir(s.objects())
	if err != nil {
		return nil, err
	}
	sizes := map[string]int64{}
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && isHash(entry.Name()) {
			sizes[entry.Name()] = info.Size()
		}
	}
	return sizes, nil
}

// sweep removes objects that are not live, records without a manifest, and temporary files of crashed processes.
func (s *Store) sweep(live map[string]bool, sizes map[string]int64, p *Pruned) (err error) {
	for name, size := range sizes {
		if live[name] {
			continue
		}
		if removeErr := disk.Remove(s.object(name)); removeErr != nil {
			err = errors.Join(err, removeErr)
			continue
		}
		p.Objects++
		p.Bytes += size
	}
	for _, folder := range []string{"manifests", "verified"} {
		entries, readErr := disk.ReadDir(s.dir + "/" + folder)
		err = errors.Join(err, readErr)
		for _, entry := range entries {
			if strings.HasPrefix(entry.Name(), ".") || !disk.Exists(s.dir+"/manifests/"+entry.Name()) { // writers hold the lock
				err = errors.Join(err, disk.Remove(s.dir+"/"+folder+"/"+entry.Name()))
			}
		}
	}
	return err
}
