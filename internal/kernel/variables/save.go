package variables

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"pawl/internal/disk"
	"pawl/internal/kernel"
)

// Saving is a checkpoint that a kernel is about to write.
type Saving struct {
	Number int       `json:"number"`
	Folder string    `json:"folder"` // name of the staging folder
	Key    Key       `json:"key"`
	Time   time.Time `json:"time"`
	Code   string    `json:"-"` // the cell
}

// SaveCell returns a cell that writes all variables into a new staging folder. The kernel's variables are those after the cell with key.
func (s *Store) SaveCell(key Key, limits Limits, now time.Time) (Saving, error) {
	number, err := s.newNumber()
	if err != nil {
		return Saving{}, err
	}
	saving := Saving{Number: number, Folder: fmt.Sprintf("%06d-%s", number, disk.RandomHex(8)), Key: key, Time: now.UTC()}
	dir := s.staging(saving.Folder)
	if err := disk.MakeFolders(dir); err != nil {
		return Saving{}, err
	}
	saving.Code, err = callCell(map[string]any{"action": "save", "id": saving.Folder, "key": key, "staging": dir, "objects": s.objects(), "limits": limits.withDefaults().json()})
	return saving, err
}

// report is what the kernel wrote into the staging folder.
type report struct {
	Key         Key
	Variables   []Variable
	Unsaved     []Unsaved
	States      map[string]Place
	Files       []stagedFile
	Notes       []string
	Environment Environment
}

type stagedFile struct {
	Name   string
	SHA256 string
	Bytes  int64
}

// Accept takes over what the kernel wrote: it compares the hashes, syncs all files and writes the manifest. Once it returns nil,
// the checkpoint survives a power failure. After an error or a crash it may be called again, or the folder abandoned with Abandon.
func (s *Store) Accept(ctx context.Context, saving Saving, messages []kernel.Message) (Manifest, error) {
	var result struct{ SHA256 string }
	if err := answer(messages, saving.Folder, &result); err != nil {
		return Manifest{}, fmt.Errorf("save the variables: %w", err)
	}
	r, err := s.report(saving, result.SHA256)
	if errors.Is(err, fs.ErrNotExist) {
		return s.accepted(saving)
	}
	if err != nil {
		return Manifest{}, err
	}
	m := Manifest{Key: saving.Key, Created: saving.Time, Environment: r.Environment, Variables: r.Variables, Unsaved: r.Unsaved, States: r.States, Notes: r.Notes}
	if err := m.check(); err != nil || r.Key != saving.Key {
		return Manifest{}, fmt.Errorf("%w: the kernel's report: %v", ErrDamaged, err)
	}
	err = s.locked(func() error {
		for _, file := range r.Files {
			if err := s.takeOver(ctx, saving.Folder, file); err != nil {
				return err
			}
		}
		if err := s.checkPlaces(m); err != nil {
			return err
		}
		data, err := json.Marshal(m)
		if err != nil {
			return err
		}
		m.SHA256 = sum(data)
		m.ID = newID(saving.Number, m.SHA256)
		return disk.Replace(s.manifestPath(m.ID), data)
	})
	if err != nil {
		return Manifest{}, err
	}
	return m, disk.RemoveTree(s.staging(saving.Folder))
}

// accepted returns the checkpoint of a staging folder that was accepted before a crash.
func (s *Store) accepted(saving Saving) (Manifest, error) {
	list, err := s.List()
	for _, m := range list {
		if strings.HasPrefix(string(m.ID), fmt.Sprintf("%06d-", saving.Number)) && m.Key == saving.Key && m.Created.Equal(saving.Time) {
			return m, disk.RemoveTree(s.staging(saving.Folder))
		}
	}
	return Manifest{}, errors.Join(fmt.Errorf("%w: the staging folder %s has no report", ErrMissing, saving.Folder), err)
}

// Abandon removes what a kernel wrote for a checkpoint that is not wanted any more.
func (s *Store) Abandon(saving Saving) error { return disk.RemoveTree(s.staging(saving.Folder)) }

// report reads the report of the kernel, which has to have the hash that its answer named.
func (s *Store) report(saving Saving, hash string) (r report, err error) {
	data, err := disk.ReadFile(filepath.Join(s.staging(saving.Folder), "report.json"), manifestLimit)
	if err != nil {
		return r, err
	}
	if sum(data) != hash {
		return r, fmt.Errorf("%w: the report changed after the kernel wrote it", ErrDamaged)
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return r, fmt.Errorf("%w: the kernel's report: %v", ErrDamaged, err)
	}
	return r, nil
}

// takeOver makes a staged file durable and an object. An object that exists already is kept.
func (s *Store) takeOver(ctx context.Context, folder string, staged stagedFile) error {
	if filepath.Base(staged.Name) != staged.Name || !isHash(staged.SHA256) {
		return fmt.Errorf("%w: the kernel names the file %q", ErrDamaged, staged.Name)
	}
	path := filepath.Join(s.staging(folder), staged.Name)
	file, err := disk.OpenWritable(path)
	if errors.Is(err, fs.ErrNotExist) && disk.Exists(s.object(staged.SHA256)) {
		return nil // it was taken over before a crash
	}
	if err != nil {
		return err
	}
	defer file.Close()
	hash := sha256.New()
	n, err := io.Copy(hash, &reader{ctx, file})
	if err != nil {
		return err
	}
	if n != staged.Bytes || hex.EncodeToString(hash.Sum(nil)) != staged.SHA256 {
		return fmt.Errorf("%w: %s changed after the kernel wrote it", ErrDamaged, path)
	}
	if err := file.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", path, err)
	}
	return disk.Rename(path, s.object(staged.SHA256))
}

// checkPlaces returns an error unless all objects of a manifest exist and are long enough.
func (s *Store) checkPlaces(m Manifest) error {
	sizes := map[string]int64{}
	for name := range m.objects() {
		info, err := disk.Lstat(s.object(name))
		if err != nil {
			return fmt.Errorf("%w: %v", ErrDamaged, err)
		}
		sizes[name] = info.Size()
	}
	for _, v := range m.Variables {
		if v.Place != nil && v.Place.Offset+v.Place.Length > sizes[v.Place.Object] {
			return fmt.Errorf("%w: variable %s lies behind the end of its file", ErrDamaged, v.Name)
		}
	}
	return nil
}

// reader reads until a context ends.
type reader struct {
	ctx context.Context
	in  io.Reader
}

func (r *reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.in.Read(p)
}
