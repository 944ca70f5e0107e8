// Package project finds the .pawl folder from the current folder, names every path in it, maintains the project's
// identity through moves and copies, and lets one engine in at a time.
//
// A crash leaves nothing that the next Find or Init does not complete. The package never makes the file system's root
// or the home folder a project, and never deletes anything.
package project

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/git"
	"pawl/internal/journal"
	"pawl/internal/trust"
)

// Folder is the name of the folder that marks a project.
const Folder = ".pawl"

// format is the version of project.json that this pawl writes, and the newest that it reads.
const format = 1

// maxIdentity is the number of bytes that are read of project.json.
const maxIdentity = 64 << 10

// ignored excludes everything from git except what people write, so that a clone gets an identity of its own.
const ignored = `# Written by pawl. The memory and the settings can be committed; everything else is local to this folder.
/*
!/.gitignore
!/MEMORY.md
!/config.yaml
`

// Project is a folder with a .pawl folder.
type Project struct {
	Root  string // absolute, without symbolic links
	ID    string // a UUIDv7; empty if the project is not trusted and its project.json cannot be read
	Trust trust.Standing

	Linked string // top of the linked worktree, outside of Root, from which FindOrMain came here; empty if it found .pawl itself

	accepted *Lock // from AcceptLock, until LockEngine returns it
}

// Trusted returns an error of pawl.KindDamaged, unless the user trusts the project. Whoever writes below .pawl, or executes or
// believes what it holds, must ask.
func (p *Project) Trusted() error {
	if p.Trust.Trusted() {
		return nil
	}
	return &pawl.Error{Kind: pawl.KindDamaged, Err: fmt.Errorf("%s is not trusted: %s", p.Home(), p.Trust.Reason), Hint: "pawl trust"}
}

// identity is the content of project.json. The file is written last, so if it exists the project is complete.
type identity struct {
	Format int    `json:"format"`
	ID     string `json:"id"`
	Path   string `json:"path"` // last known path of the project
}

// LinkError is the error for a .pawl that is a symbolic link.
type LinkError struct{ Root string } // the folder that has it

func (e LinkError) Error() string {
	return filepath.Join(e.Root, Folder) + " is a symbolic link, which pawl does not follow"
}

// Find returns the project that contains start: the nearest parent folder with .pawl, as git does. An untrusted .pawl without content
// does not count. It returns pawl.ErrNoProject if there is none.
func Find(start string) (*Project, error) {
	folder, err := realPath(start)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("folder %s does not exist", start)}
	}
	if err != nil {
		return nil, err
	}
	for {
		info, err := os.Lstat(filepath.Join(folder, Folder))
		if err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return nil, &pawl.Error{Kind: pawl.KindDamaged, Err: LinkError{folder}}
		}
		if err == nil && info.IsDir() && checkAllowed(folder) == nil {
			p, err := open(folder)
			if err != nil || p.Trust.Trusted() {
				return p, err
			}
			if empty, err := p.isEmpty(); err != nil || !empty { // the creator of an empty one died; an unreadable one is untrusted
				return open(folder) // another process may just have created it
			}
		}
		above := filepath.Dir(folder)
		if above == folder {
			return nil, pawl.ErrNoProject
		}
		folder = above
	}
}

// Init makes folder a trusted project and returns it. An existing project is unchanged, and may be untrusted.
func Init(folder string) (*Project, error) {
	root, err := realPath(folder)
	if err != nil {
		return nil, err
	}
	if err := checkAllowed(root); err != nil {
		return nil, err
	}
	p := &Project{Root: root}
	if empty, err := p.isEmpty(); err != nil || !empty {
		return p, cmp.Or(err, p.open())
	}
	if err := disk.MakeFolders(p.Home()); err != nil {
		return nil, fmt.Errorf("initialize a project in %s: %w", root, err)
	}
	if err := p.withEditLock(p.create); err != nil {
		return nil, fmt.Errorf("initialize a project in %s: %w", root, err)
	}
	return p, p.open()
}

// create trusts a new project, unless another process was faster.
func (p *Project) create() error {
	if empty, err := p.isEmpty(); err != nil || !empty || trust.Check(p.Home()).Trusted() {
		return err
	}
	id, err := newID()
	if err != nil {
		return err
	}
	_, err = trust.Grant(p.Root, id, trust.Created, true, time.Now())
	return err
}

// isEmpty reports whether the project does not exist, or holds nothing, because its creator died before it was trusted.
func (p *Project) isEmpty() (bool, error) {
	entries, err := disk.ReadDir(p.Home())
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	for _, e := range entries {
		if e.Name() != editLock && !strings.HasPrefix(e.Name(), "."+trust.File) { // a temporary file of disk.Replace
			return false, err
		}
	}
	return err == nil, err
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

// open reads the project's standing and identity. It completes a trusted project whose creator crashed, or whose project.json is
// missing or damaged. It changes nothing in an untrusted one.
func open(root string) (*Project, error) {
	p := &Project{Root: root}
	if err := p.open(); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *Project) open() error {
	p.Trust = trust.Check(p.Home())
	if p.Trust.Trusted() && p.Trust.Replaced {
		p.Trust.Reason = sharedValue(p.Root)
	}
	who, err := p.identity()
	if !p.Trust.Trusted() {
		p.ID = who.ID
		return nil
	}
	p.ID = p.Trust.Project
	if errors.Is(err, pawl.ErrNewer) {
		return err
	}
	if err != nil {
		err = p.complete()
	}
	return cmp.Or(err, journal.ReplayCommits(p.Runs()))
}

// sharedValue returns why the value that ties a folder to its user proves nothing, "" if it does: if git tracks it, a clone has it too.
func sharedValue(root string) string {
	const value = Folder + "/" + trust.File
	tracked, err := git.Tracks(root, value)
	switch {
	case err != nil:
		return fmt.Sprintf("it was moved or replaced, and git does not say whether it tracks %s: %v", value, err)
	case tracked:
		return fmt.Sprintf("it was moved or replaced, and git tracks %s, so every clone has this project's secret value", value)
	}
	return ""
}

// complete writes the files of a new project that are missing. It keeps a damaged project.json under another name.
func (p *Project) complete() error {
	return p.WithEditLock(func() error {
		_, err := p.identity()
		if err == nil { // another process was faster
			return nil
		}
		if err := p.writeGitignore(); err != nil {
			return err
		}
		if !errors.Is(err, fs.ErrNotExist) {
			aside := "project.json.damaged-" + time.Now().UTC().Format("20060102T150405.000000000Z")
			if err := disk.Rename(p.path("project.json"), p.path(aside)); err != nil {
				return fmt.Errorf("rename the damaged project.json: %w", err)
			}
		}
		return p.setIdentity()
	})
}

func (p *Project) writeGitignore() error {
	path := p.path(".gitignore")
	if _, err := disk.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return disk.Replace(path, []byte(ignored))
}

// Grant trusts the project on the word of its user. A copy of another project gets an id and a value of its own.
func (p *Project) Grant(now time.Time) error {
	if p.Trust.Trusted() {
		return nil
	}
	err := p.withEditLock(func() error {
		id, err := p.ID, error(nil)
		if id == "" || p.Trust.Copy {
			id, err = newID()
		}
		if err == nil {
			err = p.grant(id, now)
		}
		return err
	})
	if err != nil {
		return err
	}
	return p.open()
}

// grant writes the trust record. A copy of another project of this user on this machine gets that one's key too, so that the secrets
// of its runs can be compared.
func (p *Project) grant(id string, now time.Time) error {
	granted, err := trust.Grant(p.Root, id, trust.Told, p.Trust.Copy, now)
	if err != nil || !p.Trust.Copy {
		return err
	}
	key, err := disk.ReadFile(filepath.Join(p.Trust.Folder, secretKey), secretKeySize)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return disk.Replace(filepath.Join(granted.Folder, secretKey), key)
}

// secretKey is the name of the file with the key, in the user's folder of the project.
const secretKey = "secrets.key"

// secretKeySize is the size of the key in bytes.
const secretKeySize = 32

// SecretKey returns the key for the hashes of secrets, by which pawl recognizes a value without storing it. It lies outside the
// project, so whoever has only the project cannot guess values. The first call creates it.
func (p *Project) SecretKey() ([]byte, error) {
	if err := p.Trusted(); err != nil {
		return nil, err
	}
	path := filepath.Join(p.Trust.Folder, secretKey)
	var key []byte
	err := p.withEditLock(func() (err error) {
		key, err = disk.ReadFile(path, secretKeySize)
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		key = make([]byte, secretKeySize)
		rand.Read(key) // never fails
		return disk.Replace(path, key)
	})
	if err == nil && len(key) != secretKeySize {
		err = damaged(path, fmt.Errorf("it has %d bytes, not %d", len(key), secretKeySize))
	}
	return key, err
}

// UseSecretKeyOf makes a new project use another one's key, so that hashes which that one recorded can be compared.
func (p *Project) UseSecretKeyOf(other *Project) error {
	key, err := other.SecretKey()
	if err == nil {
		err = p.Trusted()
	}
	if err != nil {
		return err
	}
	return disk.Replace(filepath.Join(p.Trust.Folder, secretKey), key)
}

// Revoke makes the project untrusted, and removes it from the user's registry.
func (p *Project) Revoke() error { return Revoke(p.Trust) }

// Revoke makes a project untrusted, which may be gone, and removes it from the user's registry.
func Revoke(s trust.Standing) error {
	if err := s.Revoke(); err != nil {
		return err
	}
	if checkID(s.Project) != nil {
		return nil
	}
	path, err := entryPath(s.Project)
	if err != nil {
		return err
	}
	return disk.Remove(path)
}

func newID() (string, error) {
	id, err := uuid.NewV7()
	return id.String(), err
}

// identity reads project.json. An error other than fs.ErrNotExist means that the file is damaged or too new.
func (p *Project) identity() (identity, error) {
	path := p.path("project.json")
	data, err := disk.ReadFile(path, maxIdentity)
	if err != nil {
		return identity{}, err
	}
	return parseIdentity(path, data)
}

func parseIdentity(path string, data []byte) (identity, error) {
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

func (p *Project) setIdentity() error {
	return writeJSON(p.path("project.json"), identity{Format: format, ID: p.ID, Path: p.Root})
}

func writeJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return disk.Replace(path, append(data, '\n'))
}
