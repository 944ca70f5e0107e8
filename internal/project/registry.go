package project

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"pawl"
	"pawl/internal/disk"
)

// Entry is what this user's registry knows of one project.
type Entry struct {
	ID      string         `json:"id"`
	Path    string         `json:"path"`
	Status  pawl.RunStatus `json:"status,omitempty"` // of its current run, as last registered
	Updated time.Time      `json:"updated"`          // when the entry last changed
}

// Live reports whether the project still lies at the entry's path.
func (e Entry) Live() bool { return lives(e.ID, e.Path) }

func lives(id, path string) bool {
	if !filepath.IsAbs(path) {
		return false
	}
	who, err := (&Project{Root: path}).identity()
	return err == nil && who.ID == id
}

// Register settles who the project is and enters it in the user's registry. An empty status keeps the one that is
// there. A moved folder is mended; a copy of a living project becomes a project of its own, with a new ID. What a
// person should know comes back as notices, one line each: trouble here never stops the work.
func (p *Project) Register(status pawl.RunStatus, now time.Time) (notices []string) {
	notice, err := p.settle()
	if err != nil {
		return []string{fmt.Sprintf("cannot settle this project's identity: %v", err)}
	}
	for _, said := range []string{p.mended, notice} {
		if said != "" {
			notices = append(notices, said)
		}
	}
	if err := p.enter(status, now); err != nil {
		notices = append(notices, fmt.Sprintf("cannot enter this project in the registry: %v", err))
	}
	return notices
}

// settle makes project.json true again after a move or a copy.
func (p *Project) settle() (notice string, err error) {
	if _, notice, err := p.judge(); err != nil || notice == "" {
		return "", err
	}
	err = p.Editing(func() error {
		var who identity
		who, notice, err = p.judge() // another process may have been faster
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

// judge returns the identity that this folder should have, with a notice where it is not the one that it has.
func (p *Project) judge() (who identity, notice string, err error) {
	who, err = p.identity()
	if err != nil {
		return who, "", err
	}
	p.ID = who.ID
	registered, _ := readEntry(who.ID) // what cannot be read tells nothing
	for _, other := range []string{who.Path, registered.Path} {
		if p.isHere(other) || !lives(who.ID, other) {
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

// isHere reports whether path is this project's root, perhaps by another name.
func (p *Project) isHere(path string) bool { return path == p.Root || samePlace(path, p.Root) }

func (p *Project) enter(status pawl.RunStatus, now time.Time) error {
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

// List returns the registry's entries, ordered by id and so by age. The error tells of those that cannot be read.
func List() ([]Entry, error) {
	folder, err := registry()
	if err != nil {
		return nil, err
	}
	files, err := os.ReadDir(folder)
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
	data, err := os.ReadFile(path)
	if err != nil {
		return Entry{}, err
	}
	var entry Entry
	if err := json.Unmarshal(data, &entry); err != nil {
		return Entry{}, fmt.Errorf("read %s: %w", path, err)
	}
	if entry.ID != id {
		return Entry{}, fmt.Errorf("read %s: it is about project %q", path, entry.ID)
	}
	return entry, nil
}

func entryPath(id string) (string, error) {
	folder, err := registry()
	return filepath.Join(folder, id+".json"), err
}

func registry() (string, error) { return StateFolder("projects") }

// StateFolder returns a folder in which pawl keeps what it knows of this user, beyond any project. It need not be there.
func StateFolder(names ...string) (string, error) {
	return userFolder("XDG_STATE_HOME", ".local/state", names...)
}

// userFolder returns pawl's folder of this user that variable places, or the one in its usual place below the home.
func userFolder(variable, usual string, names ...string) (string, error) {
	base := os.Getenv(variable)
	if !filepath.IsAbs(base) { // the XDG rules: ignore relative ones
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("neither $%s nor $HOME is set", variable)
		}
		base = filepath.Join(home, usual)
	}
	return filepath.Join(append([]string{base, "pawl"}, names...)...), nil
}
