package project

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/userdir"
)

// Entry is a project in the user's registry.
type Entry struct {
	ID      string         `json:"id"`
	Path    string         `json:"path"`
	Status  pawl.RunStatus `json:"status,omitempty"` // of the project's current run when last registered
	Updated time.Time      `json:"updated"`          // time of the entry's last change
}

// Live reports whether the project still exists at the entry's path.
func (e Entry) Live() bool { return existsAt(e.ID, e.Path) }

func existsAt(id, path string) bool {
	if !filepath.IsAbs(path) {
		return false
	}
	who, err := (&Project{Root: path}).identity()
	return err == nil && who.ID == id
}

// Register updates the project's identity and its entry in the user's registry. An empty status keeps the registered
// one. If the folder was moved, Register updates its path; if it is a copy of an existing project, it gets a new ID.
// Register returns notices for the user, one line each, and no error: problems here never stop the work.
func (p *Project) Register(status pawl.RunStatus, now time.Time) (notices []string) {
	notice, err := p.updateIdentity()
	if err != nil {
		return []string{fmt.Sprintf("cannot update this project's identity: %v", err)}
	}
	for _, said := range []string{p.repairNotice, notice} {
		if said != "" {
			notices = append(notices, said)
		}
	}
	if err := p.writeEntry(status, now); err != nil {
		notices = append(notices, fmt.Sprintf("cannot register this project: %v", err))
	}
	return notices
}

// updateIdentity corrects project.json after a move or a copy.
func (p *Project) updateIdentity() (notice string, err error) {
	if _, notice, err := p.expectedIdentity(); err != nil || notice == "" {
		return "", err
	}
	err = p.WithEditLock(func() error {
		var who identity
		who, notice, err = p.expectedIdentity() // another process may have been faster
		if err != nil || notice == "" {
			return err
		}
		if err := p.setIdentity(who); err != nil {
			return err
		}
		p.ID = who.ID
		return nil
	})
	if err != nil {
		return "", err
	}
	return notice, nil
}

// expectedIdentity returns the identity that this folder should have, with a notice if it differs from the current one.
func (p *Project) expectedIdentity() (who identity, notice string, err error) {
	who, err = p.identity()
	if err != nil {
		return who, "", err
	}
	p.ID = who.ID
	registered, _ := readEntry(who.ID) // an unreadable entry is no evidence
	for _, other := range []string{who.Path, registered.Path} {
		if p.isHere(other) || !existsAt(who.ID, other) {
			continue
		}
		who, err = p.newIdentity()
		return who, fmt.Sprintf("%s is a copy of the project at %s: it is a project of its own from now on", p.Root, other), err
	}
	if p.isHere(who.Path) {
		return who, "", nil
	}
	notice = fmt.Sprintf("this project has moved from %s to %s", who.Path, p.Root)
	who.Path = p.Root
	return who, notice, nil
}

// isHere reports whether path is this project's root, perhaps under another name.
func (p *Project) isHere(path string) bool { return path == p.Root || sameFile(path, p.Root) }

func (p *Project) writeEntry(status pawl.RunStatus, now time.Time) error {
	path, err := entryPath(p.ID)
	if err != nil {
		return err
	}
	old, err := readEntry(p.ID)
	if status == "" {
		status = old.Status
	}
	if err == nil && old.Status == status && p.isHere(old.Path) {
		return nil
	}
	if err := disk.MakeFolders(filepath.Dir(path)); err != nil {
		return err
	}
	return writeJSON(path, Entry{ID: p.ID, Path: p.Root, Status: status, Updated: now.UTC()})
}

// List returns the registry's entries, ordered by ID and thus by age. The error reports unreadable entries.
func List() ([]Entry, error) {
	folder, err := registry()
	if err != nil {
		return nil, err
	}
	files, err := disk.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var entries []Entry
	var faults []error
	for _, file := range files {
		id, isEntry := strings.CutSuffix(file.Name(), ".json")
		if !isEntry || checkID(id) != nil {
			continue
		}
		entry, err := readEntry(id)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		entries = append(entries, entry)
	}
	return entries, errors.Join(faults...)
}

func readEntry(id string) (Entry, error) {
	path, err := entryPath(id)
	if err != nil {
		return Entry{}, err
	}
	data, err := disk.ReadFile(path, disk.IdentityLimit)
	if err != nil {
		return Entry{}, err
	}
	var entry Entry
	if err := json.Unmarshal(data, &entry); err != nil {
		return Entry{}, fmt.Errorf("read %s: %w", path, err)
	}
	if entry.ID != id {
		return Entry{}, fmt.Errorf("read %s: the entry is for project %q", path, entry.ID)
	}
	return entry, nil
}

func entryPath(id string) (string, error) {
	folder, err := registry()
	return filepath.Join(folder, id+".json"), err
}

func registry() (string, error) { return userdir.State("projects") }
