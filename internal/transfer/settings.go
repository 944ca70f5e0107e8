// Package transfer moves runs between projects, through a remote: push stores what the remote lacks, pull fetches what the project lacks.
//
// Where a project's remotes are is known from the user's state folder alone. Nothing in the project's files makes pawl read or write
// elsewhere. A pulled run comes from elsewhere until the user adopts it.
package transfer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/disk"
	"pawl/internal/lazyregexp"
	"pawl/internal/project"
	"pawl/internal/remote"
	"pawl/internal/remote/address"
	"pawl/internal/runs"
	"pawl/internal/snapshot"
	"pawl/internal/userdir"
)

// Remote is a remote of a project.
type Remote struct {
	Name string `json:"name"`
	URL  string `json:"url"`
	Auto bool   `json:"auto,omitempty"` // engines push their run there while they work
}

// Usual is the name of the remote that is used if none is named and there are several.
const Usual = "origin"

var validName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$`)

// limit is the number of bytes that are read of a setting.
const limit = 64 << 10

// folderOf returns the folder with the settings of a trusted project's remotes.
func folderOf(p *project.Project, names ...string) string {
	return filepath.Join(append([]string{p.Trust.Folder, "remotes"}, names...)...)
}

// Added is the result of Add.
type Added struct {
	Remote
	Unconditional bool `json:"unconditional,omitempty"` // the server ignores conditions: two pushes at the same time are a conflict
}

// Add adds a remote to a project, or changes its Auto.
func Add(ctx context.Context, p *project.Project, name, url string, auto bool) (r Added, err error) {
	if err := p.Trusted(); err != nil {
		return r, err
	}
	if !validName.MatchString(name) {
		return r, usage("", "invalid name %q; expected letters, digits, - and _", name)
	}
	if url, err = address.Parse(url); err != nil {
		return r, err
	}
	if folder, ok := address.Folder(url); ok && userdir.Within(folder, p.Root) {
		return r, usage("", "the folder of a remote must not be in the project: snapshots would contain it")
	}
	r.Remote = Remote{Name: name, URL: url, Auto: auto}
	if old, err := find(p, name); err == nil && old.URL != r.URL {
		return r, usage("pawl remote remove "+name, "remote %s is %s already", name, old.URL)
	}
	c, err := connect(p, r.Remote)
	if err != nil {
		return r, err
	}
	identity, err := remote.Prepare(ctx, c.store)
	if err != nil {
		return r, err
	}
	r.Unconditional = identity.Unconditional
	data, err := json.Marshal(r.Remote)
	if err == nil {
		err = disk.MakeFolders(folderOf(p))
	}
	if err == nil {
		err = disk.Replace(folderOf(p, name+".json"), append(data, '\n'))
	}
	return r, err
}

// Remotes returns the remotes of a project by name.
func Remotes(p *project.Project) ([]Remote, error) {
	if err := p.Trusted(); err != nil {
		return nil, err
	}
	paths, err := disk.Glob(folderOf(p), "*.json")
	list := make([]Remote, 0, len(paths))
	for _, path := range paths {
		r, err := find(p, strings.TrimSuffix(filepath.Base(path), ".json"))
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, err
}

func find(p *project.Project, name string) (r Remote, err error) {
	if !validName.MatchString(name) {
		return r, fs.ErrNotExist
	}
	data, err := disk.ReadFile(folderOf(p, name+".json"), limit)
	if err != nil {
		return r, err
	}
	return parseRemote(data, name)
}

func parseRemote(data []byte, name string) (r Remote, err error) {
	if err := json.Unmarshal(data, &r); err != nil || r.Name != name {
		return r, fmt.Errorf("the record of remote %s is damaged", name)
	}
	return r, nil
}

// Remove removes a remote from a project. What is stored there stays.
func Remove(p *project.Project, name string) error {
	if _, err := Find(p, name); err != nil {
		return err
	}
	return disk.Remove(folderOf(p, name+".json"))
}

// Find returns the remote with a name. Without a name, it returns the only one, or the one named Usual.
func Find(p *project.Project, name string) (Remote, error) {
	all, err := Remotes(p)
	if err != nil {
		return Remote{}, err
	}
	switch {
	case len(all) == 0:
		return Remote{}, usage("pawl remote add "+Usual+" file:///mnt/share/pawl", "this project has no remotes")
	case name == "" && len(all) == 1:
		return all[0], nil
	}
	wanted := name
	if wanted == "" {
		wanted = Usual
	}
	if at := slices.IndexFunc(all, func(r Remote) bool { return r.Name == wanted }); at >= 0 {
		return all[at], nil
	}
	if name == "" {
		return Remote{}, usage("pawl remote list", "this project has several remotes; name one with --remote")
	}
	return Remote{}, usage("pawl remote list", "no remote %q", name)
}

// Connection is an open remote of a project.
type Connection struct {
	Remote
	project  *project.Project
	store    *counter
	identity remote.Identity
}

// counter counts the bytes that go through a store.
type counter struct {
	remote.Store
	sent, received atomic.Int64
}

// Get counts what it receives.
func (c *counter) Get(ctx context.Context, key string, limit int64) ([]byte, error) {
	data, err := c.Store.Get(ctx, key, limit)
	c.received.Add(int64(len(data)))
	return data, err
}

// Create counts what it sends.
func (c *counter) Create(ctx context.Context, key string, content []byte) (bool, error) {
	created, err := c.Store.Create(ctx, key, content)
	if created {
		c.sent.Add(int64(len(content)))
	}
	return created, err
}

func connect(p *project.Project, r Remote) (*Connection, error) {
	root := ""
	if p != nil {
		root = p.Root
	}
	own, err := config.ReadUser(root)
	if err != nil {
		return nil, err
	}
	s, err := address.Open(r.URL, own.Remotes.AllowHTTP)
	if folder, ok := address.Folder(r.URL); ok && errors.Is(err, fs.ErrNotExist) {
		err = usage("mkdir -p "+folder, "the folder of the remote does not exist, or is not mounted: %s", folder)
	}
	return &Connection{Remote: r, project: p, store: &counter{Store: s}}, err
}

// Connect opens a remote of a project.
func Connect(ctx context.Context, p *project.Project, name string) (*Connection, error) {
	r, err := Find(p, name)
	if err != nil {
		return nil, err
	}
	c, err := connect(p, r)
	if err != nil {
		return nil, err
	}
	return c, c.identify(ctx)
}

// Unconditional reports whether the server ignores conditions, so that two pushes at the same time are a conflict.
func (c *Connection) Unconditional() bool { return c.identity.Unconditional }

// With calls do with a remote of a project, and the project's snapshots.
func With(ctx context.Context, p *project.Project, name string, do func(*Connection, *snapshot.Store) error) error {
	c, err := Connect(ctx, p, name)
	if err != nil {
		return err
	}
	cfg, err := config.Of(p)
	if err != nil {
		return err
	}
	store, err := runs.OpenSnapshots(ctx, p, cfg.Snapshots)
	if err != nil {
		return err
	}
	return errors.Join(do(c, store), store.Close())
}

// identify reads the identity of the remote.
func (c *Connection) identify(ctx context.Context) (err error) {
	c.identity, err = remote.Identify(ctx, c.store)
	if errors.Is(err, fs.ErrNotExist) {
		err = &pawl.Error{Kind: pawl.KindDamaged, Err: fmt.Errorf("%s is not a remote of pawl, or was emptied", c.URL), Hint: "pawl remote remove " + c.Name}
	}
	return err
}

// Store returns the remote itself.
func (c *Connection) Store() remote.Store { return c.store }

// ID returns the ID of the remote.
func (c *Connection) ID() string { return c.identity.ID }

// Cache returns the folder with the indexes of packs that were read.
func (c *Connection) Cache() remote.Cache { return c.cache() }

// cache returns the folder with the indexes of packs that were read.
func (c *Connection) cache() remote.Cache {
	return remote.Cache(folderOf(c.project, c.identity.ID, "indexes"))
}

// position is what this project knows of a run on a remote.
type position struct {
	Number int    `json:"number"`           // of the record that was pushed or pulled last
	Sum    string `json:"sha256,omitempty"` // of that record
	Try    string `json:"try,omitempty"`    // SHA-256 of a record with the next number whose push has not ended
	Pulled string `json:"pulled,omitempty"` // name of the remote, if another project pushed that record, and this one has pushed none since
}

func (c *Connection) positionPath(run pawl.RunID) string {
	return folderOf(c.project, c.identity.ID, string(run)+".json")
}

func (c *Connection) position(run pawl.RunID) (at position, err error) {
	return readPosition(c.positionPath(run))
}

func readPosition(path string) (at position, err error) {
	data, err := disk.ReadFile(path, limit)
	if errors.Is(err, fs.ErrNotExist) {
		return at, nil
	}
	if err == nil {
		at, err = parsePosition(data)
	}
	return at, err
}

func parsePosition(data []byte) (at position, err error) {
	if err := json.Unmarshal(data, &at); err != nil || at.Number < 0 {
		return at, errors.New("the record of what was pushed is damaged")
	}
	return at, nil
}

func (c *Connection) setPosition(run pawl.RunID, at position) error {
	data, err := json.Marshal(at)
	if err != nil {
		return err
	}
	path := c.positionPath(run)
	if err := disk.MakeFolders(filepath.Dir(path)); err != nil {
		return err
	}
	return disk.Replace(path, append(data, '\n'))
}

func usage(hint, format string, args ...any) error {
	return &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf(format, args...), Hint: hint}
}

// OnRemote is the newest push of a run on a remote.
type OnRemote struct {
	Run      pawl.RunID   `json:"run"`
	Number   int          `json:"number"`             // of pushes
	Conflict string       `json:"conflict,omitempty"` // names this push if several machines have pushed this number
	Time     time.Time    `json:"time"`               // of the push
	Owner    remote.Owner `json:"owner"`
	Status   string       `json:"status"`
	Seq      pawl.Seq     `json:"seq"`
	Live     []string     `json:"live,omitempty"`
}

// Runs returns the runs on the remote, the one that was pushed last first.
func (c *Connection) Runs(ctx context.Context) ([]OnRemote, error) {
	newest, err := remote.Heads(ctx, c.store, "")
	if err != nil {
		return nil, err
	}
	list := make([]OnRemote, 0, len(newest))
	for run, heads := range newest {
		for _, ref := range heads {
			r, err := remote.Read(ctx, c.store, run, ref)
			if err != nil {
				return nil, err
			}
			on := OnRemote{Run: run, Number: r.Number, Time: r.Time, Owner: r.Owner, Status: r.Status, Seq: r.Seq, Live: r.Live}
			if len(heads) > 1 {
				on.Conflict = r.Sum[:16]
			}
			list = append(list, on)
		}
	}
	slices.SortFunc(list, func(a, b OnRemote) int {
		return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(a.Run, b.Run), cmp.Compare(a.Conflict, b.Conflict))
	})
	return list, nil
}

// Resolve returns the run on the remote whose ID is name, or alone begins with it.
func (c *Connection) Resolve(ctx context.Context, name string) (pawl.RunID, error) {
	newest, err := remote.Heads(ctx, c.store, "")
	if err != nil {
		return "", err
	}
	var found []pawl.RunID
	for run := range newest {
		if string(run) == name {
			return run, nil
		}
		if strings.HasPrefix(string(run), name) {
			found = append(found, run)
		}
	}
	switch len(found) {
	case 0:
		return "", &pawl.Error{Kind: pawl.KindNothing, Err: fmt.Errorf("no run %q on %s", name, c.URL), Hint: "pawl remote runs"}
	case 1:
		return found[0], nil
	}
	return "", usage("pawl remote runs", "%q is ambiguous: %d runs on the remote match", name, len(found))
}

// DeleteRun deletes a run from the remote; of a conflict, only the push whose hash begins so, unless hash is empty. What the project has of
// the run stays, and can be pushed again. It returns how many pushes it has deleted.
func (c *Connection) DeleteRun(ctx context.Context, run pawl.RunID, hash string) (deleted int, err error) {
	if deleted, err = remote.DeleteRun(ctx, c.store, run, hash); err != nil {
		return deleted, err
	}
	if deleted == 0 {
		return 0, &pawl.Error{Kind: pawl.KindNothing, Err: fmt.Errorf("run %s has no push %s on remote %s", run, hash, c.Name), Hint: "pawl remote runs"}
	}
	if hash == "" {
		err = disk.Remove(c.positionPath(run))
	}
	return deleted, err
}

// Verify checks everything on the remote that its runs need.
func (c *Connection) Verify(ctx context.Context) ([]pawl.Finding, error) {
	return remote.Verify(ctx, c.store)
}

// Prune deletes what no run on the remote needs; see remote.Prune.
func (c *Connection) Prune(ctx context.Context, grace time.Duration) (remote.Pruned, error) {
	return remote.Prune(ctx, c.store, grace, time.Now())
}

// At opens a remote that is none of a project, to look for a run.
func At(ctx context.Context, url string) (*Connection, error) {
	c, err := connect(nil, Remote{Name: url, URL: url})
	if err != nil {
		return nil, err
	}
	return c, c.identify(ctx)
}
