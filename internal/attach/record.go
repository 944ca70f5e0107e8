package attach

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/disk"
)

// format is the version of the records that this pawl writes, and the newest that it reads.
const format = 1

// record is what stood in an agent's files before it was attached. It is written before they change.
type record struct {
	Format int    `json:"format"`
	Agent  string `json:"agent"`
	Scope  Scope  `json:"scope"`
	Pawl   string `json:"pawl"` // the program that the agent was told to start
	Files  []kept `json:"files"`
}

// kept is what is recorded of one file.
type kept struct {
	Path    string   `json:"path"`              // from the project's folder, or absolute
	Was     []byte   `json:"was"`               // null: there was none
	Made    []string `json:"made"`              // SHA-256 of what attaching made of it: the last, and the one before
	Folders []string `json:"folders,omitempty"` // that were made for it
}

// made reports whether attaching made this content, so that nobody has edited it since.
func (k *kept) made(data []byte) bool {
	return k != nil && data != nil && slices.Contains(k.Made, hash(data))
}

// was is what stood there before, nil where that is not known.
func (k *kept) was() []byte {
	if k == nil {
		return nil
	}
	return k.Was
}

func (r record) find(path string) *kept {
	i := slices.IndexFunc(r.Files, func(k kept) bool { return k.Path == path })
	if i < 0 {
		return nil
	}
	return &r.Files[i]
}

// readRecord reads a record and returns its bytes too; without one it is empty, and they are nil.
func readRecord(path string) (record, []byte, error) {
	var r record
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	switch {
	case err != nil:
		return record{}, nil, &pawl.Error{
			Kind: pawl.KindDamaged,
			Err:  fmt.Errorf("read what stood in the agent's files before: %s: %w", path, err),
			Hint: fmt.Sprintf("mv '%s' '%s.damaged', then say it again: what is ours is taken out by what it looks like", path, path),
		}
	case r.Format > format:
		return record{}, nil, fmt.Errorf("%s: %w", path, pawl.ErrNewer)
	}
	return r, data, nil
}

// keep writes the record.
func (d *Deed) keep() error {
	data, err := json.MarshalIndent(d.record, "", "  ")
	if err != nil {
		return err
	}
	return disk.Replace(d.recordFile(), append(data, '\n'))
}

// folder is where records of this scope lie.
func (d *Deed) folder() string { return d.place.folder(d.Scope) }

func (p Place) folder(scope Scope) string {
	if scope == User {
		return filepath.Join(p.State, "attach")
	}
	return filepath.Join(p.Root, ".pawl", "attach")
}

func (d *Deed) recordFile() string { return filepath.Join(d.folder(), d.Agent+".json") }

// key is a path as it is recorded: a project can move, and its files with it.
func (d *Deed) key(path string) string {
	if rest, ok := strings.CutPrefix(path, d.place.Root+"/"); ok && d.Scope == Project {
		return rest
	}
	return path
}

// path is the path that a key stands for.
func (d *Deed) path(key string) string {
	if filepath.IsAbs(key) {
		return key
	}
	return filepath.Join(d.place.Root, key)
}

// locked does something while no other process attaches or detaches there.
func locked(path string, do func() error) error {
	file, err := disk.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	for {
		if err = unix.Flock(int(file.Fd()), unix.LOCK_EX); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("lock %s: %w", path, err)
	}
	return do()
}
