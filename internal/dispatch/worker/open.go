package worker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/dispatch"
	"pawl/internal/lazyregexp"
	"pawl/internal/remote"
	"pawl/internal/remote/address"
	"pawl/internal/userdir"
)

// Settings are what a user starts a worker with.
type Settings struct {
	Queue     string
	Folder    string   // absolute. Defaults to one for the queue in the user's state folder.
	Remotes   []string // URLs
	Projects  []string
	Variables []string
	Environ   []string
	Cache     int64 // bytes of files that are kept for the next tasks. Defaults to 10 GiB.
	Log       func(format string, args ...any)
}

const defaultCache = 10 << 30

// Open opens a worker's folder. Its name stays the same, so that the next process with the folder joins what this one leaves. Only one
// process has the folder open; release closes it.
func Open(ctx context.Context, s Settings) (w *Worker, release func() error, err error) {
	if err := dispatch.CheckQueue(s.Queue); err != nil {
		return nil, nil, &pawl.Error{Kind: pawl.KindUsage, Err: err}
	}
	if s.Folder == "" {
		if s.Folder, err = userdir.State("workers", s.Queue); err != nil {
			return nil, nil, err
		}
	}
	w = &Worker{
		Folder: s.Folder, Lock: filepath.Join(s.Folder, "lock"), Projects: s.Projects, Variables: s.Variables, Environ: s.Environ, Log: s.Log,
	}
	for _, url := range s.Remotes {
		r, err := openRemote(ctx, url)
		if err != nil {
			return nil, nil, err
		}
		w.Remotes = append(w.Remotes, r)
	}
	if err := disk.MakeFolders(s.Folder); err != nil {
		return nil, nil, err
	}
	if release, err = lock(w.Lock); err != nil {
		return nil, nil, err
	}
	if w.Name, err = nameOf(s.Folder); err == nil {
		err = w.limitCache(s.Cache)
	}
	if err != nil {
		return nil, nil, errors.Join(err, release())
	}
	return w, release, nil
}

func openRemote(ctx context.Context, url string) (r Remote, err error) {
	if url, err = address.Parse(url); err != nil {
		return r, err
	}
	if r.Store, err = address.Open(url); err != nil {
		return r, err
	}
	r.ID, err = remote.ID(ctx, r.Store)
	if errors.Is(err, fs.ErrNotExist) {
		err = &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("%s is not a remote of pawl", url), Hint: "pawl remote add origin " + url}
	}
	return r, err
}

// lock locks the file of a worker. The system frees it when the process ends.
func lock(path string) (release func() error, err error) {
	f, err := disk.Create(path)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		err = errors.Join(err, f.Close())
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = &pawl.Error{Kind: pawl.KindHeld, Err: fmt.Errorf("a worker with folder %s is running", filepath.Dir(path)), Hint: "pawl worker --folder FOLDER"}
		}
		return nil, err
	}
	return f.Close, nil
}

// validName matches the content of the file with a worker's name.
var validName = lazyregexp.New(`^[A-Za-z0-9._-]{1,80}$`)

// nameOf returns the name of the worker with a folder: that of the host, and random digits.
func nameOf(folder string) (string, error) {
	path := filepath.Join(folder, "name")
	data, err := disk.ReadFile(path, disk.ConfigLimit)
	if name := strings.TrimSpace(string(data)); err == nil && validName.MatchString(name) {
		return name, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	host, _ := os.Hostname() // it is only shown
	host, _, _ = strings.Cut(host, ".")
	name := host + "-" + disk.RandomHex(4)
	if !validName.MatchString(name) {
		name = "worker-" + disk.RandomHex(4)
	}
	return name, disk.Replace(path, []byte(name+"\n"))
}

// limitCache removes the files that are kept for the next tasks, if they are too many and no task is left.
func (w *Worker) limitCache(limit int64) error {
	if limit == 0 {
		limit = defaultCache
	}
	left, err := w.Left()
	if err != nil || len(left) > 0 {
		return err
	}
	objects, size := filepath.Join(w.Folder, "objects"), int64(0)
	entries, err := disk.ReadDir(objects)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil {
			size += info.Size()
		}
	}
	if err == nil && size > limit {
		err = disk.RemoveTree(objects)
	}
	return err
}
