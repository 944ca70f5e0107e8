// Package project knows where things are and who they are: it finds the .pawl folder from where the user stands, names
// every path below it, keeps the project's identity through moves and copies, and lets one engine in at a time.
//
// What it makes is complete or is completed by the next Find or Init, whenever it dies. It never makes a project of
// the file system's root or of the home folder, and never deletes anything.
package project

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/uuid"

	"pawl"
	"pawl/internal/disk"
)

// Folder is the name of the folder that makes a folder a project.
const Folder = ".pawl"

// format is the version of project.json that this pawl writes, and the newest that it reads.
const format = 1

// ignored keeps everything out of git but what people write, so that a clone gets an identity of its own.
const ignored = `# Written by pawl. What was learned and the settings can be committed, the rest belongs to this folder.
/*
!/.gitignore
!/MEMORY.md
!/config.yaml
`

// Project is a folder with .pawl in it.
type Project struct {
	Root string // absolute, symlinks followed
	ID   string // a UUIDv7; Register changes it where the folder turns out to be a copy

	mended string // what was done about a damaged project.json, for people; empty: nothing
}

// identity is the content of project.json. It is written last, so where it is the project is complete.
type identity struct {
	Format int    `json:"format"`
	ID     string `json:"id"`
	Path   string `json:"path"` // where the project was last seen
}

// Find returns the project that start lies in: the nearest folder upwards that has .pawl, as git does.
// ErrNoProject: there is none up to the file system's root.
func Find(start string) (*Project, error) {
	folder, err := physical(start)
	if err != nil {
		return nil, err
	}
	for {
		info, err := os.Stat(filepath.Join(folder, Folder))
		if err == nil && info.IsDir() && refuse(folder) == nil {
			return open(folder)
		}
		above := filepath.Dir(folder)
		if above == folder {
			return nil, pawl.ErrNoProject
		}
		folder = above
	}
}

// Init makes folder a project and returns it; one that is a project already stays as it is.
func Init(folder string) (*Project, error) {
	root, err := physical(folder)
	if err != nil {
		return nil, err
	}
	if err := refuse(root); err != nil {
		return nil, err
	}
	if err := disk.MakeFolders(filepath.Join(root, Folder)); err != nil {
		return nil, fmt.Errorf("make a project of %s: %w", root, err)
	}
	return open(root)
}

// physical returns path as the one name that a folder has.
func physical(path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(absolute)
}

// refuse says why a folder must not be a project.
func refuse(folder string) error {
	why := ""
	if home, err := os.UserHomeDir(); err == nil && samePlace(folder, home) {
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

func samePlace(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

// open reads who the project is, and completes it where its maker died or git left project.json out.
func open(root string) (*Project, error) {
	p := &Project{Root: root}
	who, err := p.identity()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		who, err = p.complete()
	case err != nil && !errors.Is(err, pawl.ErrNewer):
		who, err = p.mend(err)
	}
	if err != nil {
		return nil, err
	}
	p.ID = who.ID
	return p, nil
}

func (p *Project) complete() (identity, error) {
	var who identity
	err := p.Editing(func() error {
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
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return disk.Replace(path, []byte(ignored))
}

// mend writes a damaged project.json anew, where the registry, for a project that lies here, or the project's runs tell who
// it is, and no other project of that name lives. The damaged one is kept. Else the damage stands.
func (p *Project) mend(damage error) (identity, error) {
	ids := p.idsOfRuns()
	entries, _ := List() // what cannot be read tells nothing
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
	err := p.Editing(func() error {
		if now, err := p.identity(); err == nil { // another process was faster
			who = now
			return nil
		}
		aside := "project.json.damaged-" + time.Now().UTC().Format("20060102T150405.000000000Z")
		if err := disk.Rename(p.path("project.json"), p.path(aside)); err != nil {
			return fmt.Errorf("set project.json aside: %w", err)
		}
		p.mended = "project.json was damaged; it is kept as " + aside + ", and was written anew"
		return p.setIdentity(who)
	})
	return who, err
}

// idsOfRuns returns the project's id as its runs' journals begin with it.
func (p *Project) idsOfRuns() []string {
	paths, err := filepath.Glob(filepath.Join(p.Runs(), "*", "journal.jsonl"))
	if err != nil {
		return nil
	}
	var ids []string
	for _, path := range paths {
		var first struct {
			Data struct {
				Project string `json:"project"`
			} `json:"data"`
		}
		file, err := os.Open(path)
		if err != nil {
			continue
		}
		if json.NewDecoder(file).Decode(&first) == nil && checkID(first.Data.Project) == nil {
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

// identity reads project.json. An error that is not fs.ErrNotExist means that it cannot be believed.
func (p *Project) identity() (identity, error) {
	path := p.path("project.json")
	data, err := os.ReadFile(path)
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

// checkID refuses what is no UUID: ids become the names of files.
func checkID(id string) error {
	parsed, err := uuid.Parse(id)
	if err != nil || parsed.String() != id {
		return fmt.Errorf("%q is not a project id", id)
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
