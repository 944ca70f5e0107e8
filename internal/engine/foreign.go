package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/foreign"
	"pawl/internal/project"
	"pawl/internal/snapshot"
)

// maxForeign is how large a file of another system is that is read, in bytes.
const maxForeign = 16 << 20

// ReadForeign reads the files that a codec wants below a folder. Links are not followed, and what is too large or cannot
// be read is a finding.
func ReadForeign(dir string, codec foreign.Codec) (foreign.Files, []pawl.Finding, error) {
	wants := codec.Wants()
	var files foreign.Files
	var findings []pawl.Finding
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(dir, path)
		name := filepath.ToSlash(rel)
		switch {
		case err != nil && path == dir:
			return err
		case err != nil || relErr != nil:
			findings = append(findings, pawl.Finding{Level: pawl.Warn, Where: name, What: fmt.Sprintf("it cannot be read: %v", errors.Join(err, relErr))})
			return nil
		case d.IsDir() && (d.Name() == ".git" || d.Name() == project.Folder || d.Name() == "node_modules"):
			return filepath.SkipDir
		case !d.Type().IsRegular() || !foreign.Wanted(wants, name):
			return nil
		}
		file, found := readForeign(path, name, d)
		if found != nil {
			findings = append(findings, *found)
			return nil
		}
		files = append(files, file)
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read the files of %s: %w", codec.System(), err)
	}
	return files, findings, nil
}

func readForeign(path, name string, d fs.DirEntry) (foreign.File, *pawl.Finding) {
	info, err := d.Info()
	if err == nil && info.Size() > maxForeign {
		err = fmt.Errorf("it is larger than %d MiB", maxForeign>>20)
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(path)
	}
	if err != nil {
		return foreign.File{}, &pawl.Finding{Level: pawl.Warn, Where: name, What: fmt.Sprintf("it is left out: %v", err)}
	}
	return foreign.File{Path: name, Data: data, Changed: info.ModTime()}, nil
}

// WriteForeign writes files of another system below a folder, each whole and durably; one without data is removed, a
// folder (its path ends in a slash) only where nothing is left in it. A path that leads out of the folder is refused, and so
// is one through a link.
func WriteForeign(dir string, files []foreign.File) error {
	for _, f := range files {
		path, err := inside(dir, f.Path)
		if err != nil {
			return err
		}
		if f.Data == nil && strings.HasSuffix(f.Path, "/") {
			if left, err := os.ReadDir(path); err != nil || len(left) > 0 {
				continue
			}
		}
		if f.Data == nil {
			if err := disk.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			continue
		}
		if err := disk.MakeFolders(filepath.Dir(path)); err != nil {
			return err
		}
		if err := replaceKeepingMode(path, f.Data); err != nil {
			return err
		}
	}
	return nil
}

// inside returns the path of a name below a folder, if nothing on the way is a link.
func inside(dir, name string) (string, error) {
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return "", fmt.Errorf("write %s: it leads out of the folder", name)
	}
	path := dir
	for part := range strings.SplitSeq(name, "/") {
		path = filepath.Join(path, part)
		if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return "", fmt.Errorf("write %s: %s is a symbolic link", name, path)
		}
	}
	return path, nil
}

// replaceKeepingMode replaces a file that others read too: with the mode that it has, or that a new one would have.
func replaceKeepingMode(path string, data []byte) error {
	mode := fs.FileMode(0o644)
	if info, err := os.Lstat(path); err == nil {
		mode = info.Mode().Perm()
	}
	if err := disk.Replace(path, data); err != nil {
		return err
	}
	return os.Chmod(path, mode)
}

// ReadAs reads a folder by a codec, with what git and the disk know of it where the codec asks for that.
func ReadAs(ctx context.Context, codec foreign.Codec, dir string) (foreign.Reading, []pawl.Finding, error) {
	files, findings, err := ReadForeign(dir, codec)
	if err != nil {
		return foreign.Reading{}, nil, err
	}
	commits, err := commitsIn(ctx, dir)
	if err != nil {
		findings = append(findings, pawl.Finding{Level: pawl.Warn, What: "which commits there are could not be found out: " + err.Error()})
	}
	r, found := readBy(codec, files, worldOf(dir, commits), commits)
	return r, append(findings, found...), nil
}

func readBy(codec foreign.Codec, files foreign.Files, w foreign.World, commits []foreign.Commit) (foreign.Reading, []pawl.Finding) {
	switch c := codec.(type) {
	case foreign.Historian:
		return c.ReadHistory(files, commits, w.Now)
	case foreign.Witness:
		return c.ReadIn(files, w)
	}
	return codec.Read(files, w.Now)
}

// manyCommits is how far back the commits are looked at that other systems name.
const manyCommits = 2000

// commitsIn returns the commits that HEAD of the repository that a folder lies in builds on; nil: there is no repository.
func commitsIn(ctx context.Context, dir string) ([]foreign.Commit, error) {
	head, err := snapshot.HeadOf(ctx, dir)
	if err != nil || head == nil {
		return nil, err
	}
	found, err := snapshot.CommitsOf(ctx, dir, time.Time{}, manyCommits)
	commits := []foreign.Commit{}
	for _, c := range found {
		commits = append(commits, foreign.Commit{Hash: c.Hash, Message: c.Subject, Time: c.Time})
	}
	return commits, err
}

// VerifyAs checks a folder by a codec: what cannot be read of it, and that system's own validation.
func VerifyAs(ctx context.Context, codec foreign.Codec, dir string) ([]pawl.Finding, error) {
	_, findings, err := ReadAs(ctx, codec, dir)
	if err != nil {
		return nil, err
	}
	files, _, err := ReadForeign(dir, codec)
	if err != nil {
		return nil, err
	}
	commits, _ := commitsIn(ctx, dir) // that they cannot be found out is among the findings where it matters
	for _, f := range codec.Verify(files, worldOf(dir, commits)) {
		if !slices.Contains(findings, f) { // what is odd in reading is told once
			findings = append(findings, f)
		}
	}
	return findings, nil
}

// worldOf is what a system's validation may ask of a folder and of git.
func worldOf(dir string, commits []foreign.Commit) foreign.World {
	w := foreign.World{
		Now: time.Now().UTC(),
		Exists: func(name string) bool {
			full, err := within(dir, name)
			if err != nil {
				return false
			}
			_, err = os.Lstat(full)
			return err == nil
		},
		Hash: func(name string) (string, int64, error) { return hashIn(dir, name) },
	}
	if commits != nil {
		w.Commit = func(hash string) bool {
			for _, known := range commits {
				if hash != "" && strings.HasPrefix(known.Hash, hash) {
					return true
				}
			}
			return false
		}
	}
	return w
}

// within returns the path of a name below a folder, links above it followed: ErrOutside where they lead out.
func within(dir, name string) (string, error) {
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return "", foreign.ErrOutside
	}
	full := filepath.Join(dir, filepath.FromSlash(name))
	above, err := filepath.EvalSymlinks(filepath.Dir(full))
	if err != nil {
		return "", err
	}
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	if rel, err := filepath.Rel(root, above); err != nil || !filepath.IsLocal(rel) {
		return "", foreign.ErrOutside
	}
	return filepath.Join(above, filepath.Base(full)), nil
}

func hashIn(dir, name string) (string, int64, error) {
	full, err := within(dir, name)
	if err != nil {
		return "", 0, err
	}
	info, err := os.Lstat(full)
	if err != nil {
		return "", 0, err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return "", 0, foreign.ErrLink
	}
	sum, err := contentHash(full, info)
	return sum, info.Size(), err
}
