// Package project finds the .pawl folder from the current folder, names every path in it, maintains the project's
// identity through moves and copies, and lets one engine in at a time.
//
// A crash leaves nothing that the next Find or Init does not complete. The package never makes the file system's root
// or the home folder a project, and never deletes anything.
package project

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/uuid"

	"pawl"
	"pawl/internal/disk"
)

// Folder is the name of the folder that marks a project.
const Folder = ".pawl"

// format is the version of project.json that this pawl writes, and the newest that it reads.
const format = 1

// ignored excludes everything from git except what people write, so that a clone gets an identity of its own.
const ignored = `# Written by pawl. The memory and the settings can be committed; everything else is local to this folder.
/*
!/.gitignore
!/MEMORY.md
!/config.yaml
`

// Project is a folder with a .pawl folder.
type Project struct {
	Root string // absolute, without symbolic links
	ID   string // a UUIDv7; Register changes it if the folder is a copy

	repairNotice string // notice about a repaired project.json; usually empty
}

// identity is the content of project.json. The file is written last, so if it exists the project is complete.
type identity struct {
	Format int    `json:"format"`
	ID     string `json:"id"`
	Path   string `json:"path"` // last known path of the project
}

// Find returns the project that contains start: the nearest parent folder with .pawl, as git does. It returns
// pawl.ErrNoProject if there is none.
func Find(start string) (*Project, error) {
	folder, err := realPath(start)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("folder %s does not exist", start)
	}
	if err != nil {
		return nil, err
	}
	for {
		info, err := os.Lstat(filepath.Join(folder, Folder))
		if err == nil && info.IsDir() && checkAllowed(folder) == nil {
			return open(folder)
		}
		above := filepath.Dir(folder)
		if above == folder {
			return nil, pawl.ErrNoProject
		}
		folder = above
	}
}

// Init makes folder a project and returns it. An existing project is unchanged.
func Init(folder string) (*Project, error) {
	root, err := realPath(folder)
	if err != nil {
		return nil, err
	}
	if err := checkAllowed(root); err != nil {
		return nil, err
	}
	if err := disk.MakeFolders(filepath.Join(root, Folder)); err != nil {
		return nil, fmt.Errorf("initialise a project in %s: %w", root, err)
	}
	return open(root)
}

// realPath returns the canonical path of a folder.
func realPath(path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(absolute)
}

// checkAllowed returns an error if a folder must not be a project.
func checkAllowed(folder string) error {
	why := ""
	if home, err := os.UserHomeDir(); err == nil && sameFile(folder, home) {
		why = "your home folder"
	}
	if filepath.Dir(folder) == folder {
		why = "the root of the file system"
	}
	if why == "" {
		return nil
	}
	return &pawl.Error{
		Kind: pawl.KindUsage,
		Err:  fmt.Errorf("%s is %s: a project needs a folder of its own", folder, why),
		Hint: "pawl -C FOLDER init",
	}
}

func sameFile(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

// open reads the project's identity. It completes a project whose creator crashed, or whose project.json is not in git.
func open(root string) (*Project, error) {
	p := &Project{Root: root}
	who, err := p.identity()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		who, err = p.complete()
	case err != nil && !errors.Is(err, pawl.ErrNewer):
		who, err = p.repairIdentity(err)
	}
	if err != nil {
		return nil, err
	}
	p.ID = who.ID
	return p, nil
}

func (p *Project) complete() (identity, error) {
	var who identity
	err := p.WithEditLock(func() error {
		var err error
		who, err = p.identity() // another process may have been faster
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := p.writeGitignore(); err != nil {
			return err
		}
		who, err = p.newIdentity()
		if err != nil {
			return err
		}
		return p.setIdentity(who)
	})
	return who, err
}

func (p *Project) writeGitignore() error {
	path := p.path(".gitignore")
	if _, err := disk.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return disk.Replace(path, []byte(ignored))
}

// repairIdentity rewrites a damaged project.json and keeps the damaged file. It finds the ID in the registry or in the
// project's runs. If they do not name exactly one ID, or a project with that ID exists elsewhere, it returns the
// damage.
func (p *Project) repairIdentity(damage error) (identity, error) {
	ids := p.idsInRuns()
	entries, _ := List() // unreadable entries are no evidence
	for _, e := range entries {
		if e.Path == p.Root {
			ids = append(ids, e.ID)
		}
	}
	slices.Sort(ids)
	if ids = slices.Compact(ids); len(ids) != 1 {
		return identity{}, damage
	}
	who := identity{Format: format, ID: ids[0], Path: p.Root}
	if e, err := readEntry(who.ID); err == nil && !p.isHere(e.Path) && e.Live() {
		return identity{}, damage
	}
	err := p.WithEditLock(func() error {
		if now, err := p.identity(); err == nil { // another process was faster
			who = now
			return nil
		}
		aside := "project.json.damaged-" + time.Now().UTC().Format("20060102T150405.000000000Z")
		if err := disk.Rename(p.path("project.json"), p.path(aside)); err != nil {
			return fmt.Errorf("rename the damaged project.json: %w", err)
		}
		p.repairNotice = "project.json was damaged; it is kept as " + aside + ", and was written anew"
		return p.setIdentity(who)
	})
	return who, err
}

// idsInRuns returns the project IDs in the first events of the project's runs.
func (p *Project) idsInRuns() []string {
	folders, err := disk.Glob(p.Runs(), "*")
	if err != nil {
		return nil
	}
	var ids []string
	for _, folder := range folders {
		var first struct {
			Data struct {
				Project string `json:"project"`
			} `json:"data"`
		}
		file, err := disk.Open(filepath.Join(folder, "journal.jsonl"))
		if err != nil {
			continue
		}
		if json.NewDecoder(io.LimitReader(file, disk.ConfigLimit)).Decode(&first) == nil && checkID(first.Data.Project) == nil {
			ids = append(ids, first.Data.Project)
		}
		file.Close()
	}
	return ids
}

func (p *Project) newIdentity() (identity, error) {
	id, err := uuid.NewV7()
	return identity{Format: format, ID: id.String(), Path: p.Root}, err
}

// identity reads project.json. An error other than fs.ErrNotExist means that the file is damaged or too new.
func (p *Project) identity() (identity, error) {
	path := p.path("project.json")
	data, err := disk.ReadFile(path, disk.IdentityLimit)
	if err != nil {
		return identity{}, err
	}
	var who identity
	if err := json.Unmarshal(data, &who); err != nil {
		return identity{}, damaged(path, err)
	}
	if who.Format > format {
		return identity{}, fmt.Errorf("%s: %w", path, pawl.ErrNewer)
	}
	if err := checkID(who.ID); err != nil {
		return identity{}, damaged(path, err)
	}
	return who, nil
}

func damaged(path string, err error) error {
	return &pawl.Error{
		Kind: pawl.KindDamaged,
		Err:  fmt.Errorf("read %s: %w", path, err),
		Hint: fmt.Sprintf("mv '%s' '%s.damaged' && pawl init", path, path),
	}
}

// checkID rejects anything but a UUID, since IDs become file names.
func checkID(id string) error {
	parsed, err := uuid.Parse(id)
	if err != nil || parsed.String() != id {
		return fmt.Errorf("invalid project id %q", id)
	}
	return nil
}

func (p *Project) setIdentity(who identity) error { return writeJSON(p.path("project.json"), who) }

func writeJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return disk.Replace(path, append(data, '\n'))
}
