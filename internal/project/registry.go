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
	Consent consent        `json:"consent,omitempty"`

	Unserved bool `json:"unserved,omitempty"` // `pawl serve` leaves it alone
}

// consent says what the user decided about a project. It is empty in the entry of an older pawl, which knew no trust.
type consent string

const (
	trusted  consent = "trusted"
	declined consent = "declined"
)

// Live reports whether the project still exists at the entry's path.
func (e Entry) Live() bool { return existsAt(e.ID, e.Path) }

func existsAt(id, path string) bool {
	if !filepath.IsAbs(path) {
		return false
	}
	who, err := (&Project{Root: path}).identity()
	return err == nil && who.ID == id
}

// Register updates the project's entry in the user's registry. An empty status keeps the registered one. If the folder has moved,
// Register updates its recorded path. It returns notices for the user, one line each, and no error: problems here never stop the
// work. It changes nothing about an untrusted project.
func (p *Project) Register(status pawl.RunStatus, now time.Time) (notices []string) {
	if !p.Trust.Trusted() {
		return nil
	}
	notice, err := p.updateIdentity()
	if err != nil {
		return []string{fmt.Sprintf("cannot update this project's identity: %v", err)}
	}
	if notice != "" {
		notices = append(notices, notice)
	}
	if err := p.writeEntry(status, now); err != nil {
		notices = append(notices, fmt.Sprintf("cannot register this project: %v", err))
	}
	return notices
}

// MoveNotices returns the notice that Register gives for a project that has moved, and changes nothing.
func (p *Project) MoveNotices() []string {
	if p.Trust.Moved == "" {
		return nil
	}
	return []string{fmt.Sprintf("this project has moved from %s to %s", p.Trust.Moved, p.Root)}
}

// updateIdentity corrects the trust record and project.json after a move, or if project.json names another project.
func (p *Project) updateIdentity() (notice string, err error) {
	if p.Trust.Moved != "" {
		notice = fmt.Sprintf("this project has moved from %s to %s", p.Trust.Moved, p.Root)
	}
	if p.Trust.Replaced {
		if err := p.Trust.Mend(p.Root); err != nil {
			return "", err
		}
	}
	who, err := p.identity()
	if err != nil || who.ID == p.ID && who.Path == p.Root {
		return notice, err
	}
	return notice, p.WithEditLock(p.setIdentity)
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
	if err == nil && old.Status == status && old.Consent == trusted && p.isHere(old.Path) {
		return nil
	}
	if err := disk.MakeFolders(filepath.Dir(path)); err != nil {
		return err
	}
	return writeJSON(path, Entry{ID: p.ID, Path: p.Root, Status: status, Updated: now.UTC(), Consent: trusted, Unserved: old.Unserved})
}

// SetServed records whether `pawl serve` serves a project of the registry.
func SetServed(id string, served bool, now time.Time) error {
	e, err := Lookup(id)
	if err != nil || e.Unserved == !served {
		return err
	}
	path, err := entryPath(id)
	if err != nil {
		return err
	}
	e.Unserved, e.Updated = !served, now.UTC()
	return writeJSON(path, e)
}

// Lookup returns the entry of a project. It is an error of fs.ErrNotExist that there is none.
func Lookup(id string) (Entry, error) {
	if checkID(id) != nil {
		return Entry{}, fmt.Errorf("project %q: %w", id, fs.ErrNotExist)
	}
	return readEntry(id)
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
	return parseEntry(path, id, data)
}

func parseEntry(path, id string, data []byte) (Entry, error) {
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

// Inherited reports whether the user's registry has the project, with this id at this path, from an older pawl, which knew no trust.
// asked reports whether the user was asked about it and declined.
func (p *Project) Inherited() (inherited, asked bool) {
	e, err := readEntry(p.ID)
	return err == nil && e.Path == p.Root && e.Consent != trusted, e.Consent == declined
}

// Decline records that the user was asked about a project of an older pawl and did not trust it.
func (p *Project) Decline(now time.Time) error {
	e, err := readEntry(p.ID)
	if err != nil {
		return err
	}
	path, err := entryPath(p.ID)
	if err != nil {
		return err
	}
	e.Consent, e.Updated = declined, now.UTC()
	return writeJSON(path, e)
}
