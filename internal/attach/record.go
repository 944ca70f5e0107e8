package attach

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/shellwords"
)

// format is the version of the records that this pawl writes, and the newest that it reads.
const format = 1

// record is the original content of an agent's files. It is written before they change.
type record struct {
	Format int          `json:"format"`
	Agent  string       `json:"agent"`
	Scope  Scope        `json:"scope"`
	Pawl   string       `json:"pawl"` // the program in the agent's settings
	Files  []fileRecord `json:"files"`
}

// fileRecord is the record of one file.
type fileRecord struct {
	Path    string   `json:"path"`              // from the project's folder, or absolute
	Was     []byte   `json:"was"`               // the original content; null if there was no file
	Made    []string `json:"made"`              // SHA-256 of the contents that pawl wrote: the latest and the one before
	Folders []string `json:"folders,omitempty"` // folders that pawl made for it
}

// made reports whether pawl wrote this content, so that it has not been edited since.
func (k *fileRecord) made(data []byte) bool {
	return k != nil && data != nil && slices.Contains(k.Made, hash(data))
}

// original is what stood there before, nil where that is not known.
func (k *fileRecord) original() []byte {
	if k == nil {
		return nil
	}
	return k.Was
}

func (r record) find(path string) *fileRecord {
	i := slices.IndexFunc(r.Files, func(k fileRecord) bool { return k.Path == path })
	if i < 0 {
		return nil
	}
	return &r.Files[i]
}

// readRecord returns a record and its bytes; if there is none, the record is empty and the bytes are nil. So it is for an empty path.
func readRecord(path string) (record, []byte, error) {
	var r record
	if path == "" {
		return r, nil, nil
	}
	data, err := disk.ReadFile(path, disk.RecordLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil, nil
	}
	if err == nil {
		r, err = parseRecord(data)
	}
	switch {
	case errors.Is(err, pawl.ErrNewer):
		return record{}, nil, fmt.Errorf("%s: %w", path, err)
	case err != nil:
		return record{}, nil, &pawl.Error{
			Kind: pawl.KindDamaged,
			Err:  fmt.Errorf("read the record of the original settings: %s: %w", path, err),
			Hint: fmt.Sprintf("mv %s %s, then run the command again: pawl recognizes its own entries without the record", shellwords.Word(path), shellwords.Word(path+".damaged")),
		}
	}
	return r, data, nil
}

func parseRecord(data []byte) (r record, err error) {
	if err = json.Unmarshal(data, &r); err == nil && r.Format > format {
		err = pawl.ErrNewer
	}
	return r, err
}

// writeRecord writes the record.
func (d *Edits) writeRecord() error {
	data, err := json.MarshalIndent(d.record, "", "  ")
	if err != nil {
		return err
	}
	return disk.Replace(d.recordFile(), append(data, '\n'))
}

// folder returns the folder of records of this scope.
func (d *Edits) folder() string { return d.setup.folder(d.Scope) }

// folder returns the folder of records of a scope. It lies in the user's state folder: a record in the project, which may
// have arrived with a clone, could name any file.
func (p Setup) folder(scope Scope) string {
	if scope == User {
		return filepath.Join(p.State, "attach")
	}
	if p.Data == "" {
		return ""
	}
	return filepath.Join(p.Data, "attach")
}

// RecordIn sets the user's folder of data about the project, which exists only once the project does.
func (d *Edits) RecordIn(data string) { d.setup.Data = data }

// oldRecordFile is where an older pawl kept the record of an agent that is attached to the project.
func (p Setup) oldRecordFile(agent string) string {
	return filepath.Join(p.Root, ".pawl", "attach", agent+".json")
}

// oldRecord reads the record that an older pawl kept in the project. Whoever wrote it, only the files in the project count
// that this agent's attachment uses; a missing or damaged record is empty, since pawl recognizes its own entries without it.
func (p Setup) oldRecord(a agent) (record, bool) {
	old, data, err := readRecord(p.oldRecordFile(a.name))
	if err != nil || data == nil {
		return record{}, false
	}
	return p.restrict(old, a)
}

// restrict returns what counts of a record that lay in the project.
func (p Setup) restrict(old record, a agent) (record, bool) {
	if old.Agent != a.name || old.Scope != Project {
		return record{}, false
	}
	d := &Edits{Agent: a.name, Scope: Project, setup: p}
	kept := record{Format: old.Format, Agent: a.name, Scope: Project, Pawl: p.Pawl}
	for _, t := range a.targets(p, Project) {
		key := d.key(t.path)
		file := old.find(key)
		if file == nil || !filepath.IsLocal(key) {
			continue
		}
		file.Folders = slices.DeleteFunc(file.Folders, func(folder string) bool {
			return !filepath.IsLocal(folder) || !strings.HasPrefix(key, folder+"/")
		})
		kept.Files = append(kept.Files, *file)
	}
	return kept, true
}

func (d *Edits) recordFile() string { return d.setup.recordFile(d.Scope, d.Agent) }

// recordFile returns the path of an agent's record; empty if there can be none.
func (p Setup) recordFile(scope Scope, agent string) string {
	if folder := p.folder(scope); folder != "" {
		return filepath.Join(folder, agent+".json")
	}
	return ""
}

// key returns a path as it is recorded: relative to the project, because a project can move.
func (d *Edits) key(path string) string {
	if rest, ok := strings.CutPrefix(path, d.setup.Root+"/"); ok && d.Scope == Project {
		return rest
	}
	return path
}

// path returns the path of a key.
func (d *Edits) path(key string) string {
	if filepath.IsAbs(key) {
		return key
	}
	return filepath.Join(d.setup.Root, key)
}

// locked calls do under the lock that attaching and detaching take.
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
