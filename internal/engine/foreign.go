package engine

import (
	"bytes"
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
	"pawl/internal/doubt"
	"pawl/internal/foreign"
	"pawl/internal/project"
	"pawl/internal/snapshot"
	"pawl/internal/sqlitefile"
)

// maxForeign is how large a file of another system is that is read, in bytes.
const maxForeign = 16 << 20

// ReadForeign reads the files that a codec wants below a folder, or one of its files alone; of a database its tables, as SQL
// text. Links are not followed, and what is too large or cannot be read is a finding. A file that is named and not there is
// one without data.
func ReadForeign(dir string, codec foreign.Codec) (foreign.Files, []pawl.Finding, error) {
	if root, only := placeOf(dir, codec); only != "" {
		return readOnly(root, only, codec)
	}
	wants := codec.Wants()
	var files foreign.Files
	var findings []pawl.Finding
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(dir, path)
		name := filepath.ToSlash(rel)
		switch {
		case errors.Is(err, fs.ErrNotExist) && path == dir:
			return filepath.SkipAll // it is made when something is written
		case err != nil && path == dir:
			return err
		case err != nil || relErr != nil:
			findings = append(findings, notRead(name, errors.Join(err, relErr)))
			return nil
		case d.IsDir() && (d.Name() == ".git" || d.Name() == project.Folder || d.Name() == "node_modules"):
			return filepath.SkipDir
		case d.IsDir() && name != "." && !foreign.MayHold(wants, name):
			return filepath.SkipDir
		case !d.Type().IsRegular() || !foreign.Wanted(wants, name):
			return nil
		}
		file, found := readForeign(path, name, codec)
		if found != nil {
			findings = append(findings, *found)
		}
		if found == nil && (file.Was == nil || len(file.Was) > 0) {
			files = append(files, file)
		}
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read the files of %s: %w", codec.System(), err)
	}
	return files, findings, nil
}

// placeOf returns the folder that a path means, and the one file in it, where it means one: only systems whose files hold
// tables are given single files, there or not.
func placeOf(path string, codec foreign.Codec) (dir, only string) {
	if _, tabular := codec.(foreign.Tabular); !tabular {
		return path, ""
	}
	info, err := os.Stat(path)
	if err == nil && info.Mode().IsRegular() || errors.Is(err, fs.ErrNotExist) && foreign.Wanted(codec.Wants(), filepath.Base(path)) {
		return filepath.Dir(path), filepath.Base(path)
	}
	return path, ""
}

func readOnly(root, only string, codec foreign.Codec) (foreign.Files, []pawl.Finding, error) {
	path, err := inside(root, only)
	if err != nil {
		return nil, nil, err
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		file := foreign.File{Path: only}
		if sqlitefile.Named(only) {
			file.Was = []byte{}
		}
		return foreign.Files{file}, nil, nil
	}
	file, found := readForeign(path, only, codec)
	if found != nil {
		return nil, []pawl.Finding{*found}, nil
	}
	return foreign.Files{file}, nil, nil
}

func readForeign(path, name string, codec foreign.Codec) (foreign.File, *pawl.Finding) {
	leave := func(err error) (foreign.File, *pawl.Finding) {
		found := notRead(name, err)
		return foreign.File{}, &found
	}
	info, err := os.Lstat(path)
	if err != nil {
		return leave(err)
	}
	file := foreign.File{Path: name, Changed: info.ModTime()}
	if t, tabular := codec.(foreign.Tabular); tabular && sqlitefile.Is(path) {
		if file.Data, err = sqlitefile.Dump(path, t.Tables()); err != nil {
			return leave(err)
		}
		file.Was = append([]byte{}, file.Data...)
		return file, nil
	}
	if info.Size() > maxForeign {
		return leave(fmt.Errorf("it is larger than %d MiB", maxForeign>>20))
	}
	if file.Data, err = os.ReadFile(path); err != nil {
		return leave(err)
	}
	return file, nil
}

// notRead says that a file is left out.
func notRead(name string, err error) pawl.Finding {
	return pawl.Finding{Level: pawl.Bad, Where: name, What: fmt.Sprintf("it is left out, for it cannot be read: %v", err)}
}

// readToWrite is ReadForeign for who writes: all must have been read, for what was not would be taken for missing, and made
// anew over what is there.
func readToWrite(dir string, codec foreign.Codec) (foreign.Files, error) {
	files, findings, err := ReadForeign(dir, codec)
	for _, f := range findings {
		err = errors.Join(err, fmt.Errorf("%s: %s", f.Where, f.What))
	}
	if err != nil {
		return nil, fmt.Errorf("nothing of %s is written: %w", codec.System(), err)
	}
	return files, nil
}

// WriteForeign writes files of a codec's system where ReadForeign read them, each whole and durably; one without data is
// removed, a folder (its path ends in a slash) only where nothing is left in it. In a database what differs is changed, all
// at once. A path that leads out of the folder is refused, and so is one through a link. What somebody else has changed
// since it was read ends it with ErrChanged, and stays as it is; where read is nil nobody asks that.
func WriteForeign(dir string, codec foreign.Codec, read foreign.Files, files []foreign.File) error {
	dir, _ = placeOf(dir, codec)
	for i, f := range files {
		path, err := inside(dir, f.Path)
		if err == nil && read != nil && f.Was == nil && !strings.HasSuffix(f.Path, "/") {
			err = unchanged(path, expected(read, files[:i], f.Path))
		}
		if err == nil {
			err = writeForeign(path, f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ErrChanged means that somebody else has changed a file since it was read.
var ErrChanged = errors.New("somebody else has changed it meanwhile")

// expected returns how a file is to be found, after it was read and some were written; nil: it is not to be there.
func expected(read foreign.Files, written []foreign.File, name string) []byte {
	for _, f := range slices.Backward(written) {
		if f.Path == name {
			return f.Data
		}
	}
	if f := read.Find(name); f != nil {
		return append([]byte{}, f.Data...)
	}
	return nil
}

// unchanged looks whether a file is as it is to be found; nil: it is not to be there.
func unchanged(path string, want []byte) error {
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && want == nil, err == nil && want != nil && bytes.Equal(data, want):
		return nil
	case err == nil || errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("write %s: %w", path, ErrChanged)
	}
	return err
}

func writeForeign(path string, f foreign.File) error {
	if f.Data == nil {
		return removeForeign(path, strings.HasSuffix(f.Path, "/"))
	}
	if err := disk.MakeFoldersAs(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	if f.Was == nil {
		return disk.ReplaceOthers(path, f.Data, 0o666)
	}
	if err := sqlitefile.Apply(path, f.Was, f.Data); err != nil {
		return fmt.Errorf("write %s: %w", f.Path, err)
	}
	return nil
}

func removeForeign(path string, folder bool) error {
	if folder {
		if left, err := os.ReadDir(path); err != nil || len(left) > 0 {
			return nil
		}
	}
	return disk.Remove(path)
}

// inside returns the path of a name below a folder, if nothing on the way is a link.
func inside(dir, name string) (string, error) {
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return "", fmt.Errorf("write %s: it leads out of the folder", name)
	}
	path := dir
	for part := range strings.SplitSeq(strings.TrimSuffix(name, "/"), "/") {
		if part == "" || part == "." || part == ".." || part == ".git" || part == project.Folder {
			return "", fmt.Errorf("write %s: %q has no place in the name of such a file", name, part)
		}
		path = filepath.Join(path, part)
		if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return "", fmt.Errorf("write %s: %s is a symbolic link", name, path)
		}
	}
	return path, nil
}

// ForeignFolder is a folder with another system's files, as they were read, with what git and the disk know of it.
type ForeignFolder struct {
	codec    foreign.Codec
	files    foreign.Files
	world    foreign.World
	commits  []foreign.Commit
	findings []pawl.Finding // what could not be read
}

// OpenForeign reads a folder's files for a codec.
func OpenForeign(ctx context.Context, codec foreign.Codec, dir string) (*ForeignFolder, error) {
	files, findings, err := ReadForeign(dir, codec)
	if err != nil {
		return nil, err
	}
	dir = worldAt(dir, codec)
	commits, err := commitsIn(ctx, dir)
	if err != nil {
		findings = append(findings, pawl.Finding{Level: pawl.Warn, What: "which commits there are could not be found out: " + err.Error()})
	}
	return &ForeignFolder{codec: codec, files: files, world: worldOf(ctx, dir, commits), commits: commits, findings: findings}, nil
}

// Places returns where runs are in the folder, the one first that Read reads; nil where the system knows but one.
func (f *ForeignFolder) Places() []string {
	if p, ok := f.codec.(foreign.Plural); ok {
		return p.Places(f.files, f.world.Now)
	}
	return nil
}

// Read says what the files say of the run at one of the places, without one of the first.
func (f *ForeignFolder) Read(place string) (foreign.Reading, []pawl.Finding) {
	codec := f.codec
	if p, ok := codec.(foreign.Plural); ok && place != "" {
		codec = p.At(place)
	}
	r, found := readBy(codec, f.files, f.world, f.commits)
	return r, slices.Concat(f.findings, found)
}

// Verify is the system's own validation, with what cannot be read.
func (f *ForeignFolder) Verify() []pawl.Finding {
	_, findings := f.Read("")
	for _, found := range f.codec.Verify(f.files, f.world) {
		if !slices.Contains(findings, found) {
			findings = append(findings, found)
		}
	}
	return findings
}

// Meets says whether a step in the folder meets a criterion of its own, and by what that is known.
func (f *ForeignFolder) Meets(step pawl.StepID, criterion string) (bool, string, error) {
	prover, ok := f.codec.(foreign.Prover)
	if !ok {
		return false, "", &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("the steps of %s have no criteria of their own", f.codec.System())}
	}
	met, why := prover.Meets(f.files, f.world, step, criterion)
	return met, why, nil
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

// worldAt returns the folder that files speak of: the one that they lie in, or the project that a single file lies in.
func worldAt(path string, codec foreign.Codec) string {
	dir, only := placeOf(path, codec)
	for above := dir; only != "" && filepath.Dir(above) != above; above = filepath.Dir(above) {
		if info, err := os.Stat(filepath.Join(above, project.Folder)); err == nil && info.IsDir() {
			return above
		}
	}
	return dir
}

// worldOf is what a system's validation may ask of a folder and of git.
func worldOf(ctx context.Context, dir string, commits []foreign.Commit) foreign.World {
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
		Hash: hashedOnce(dir),
		Scan: func(since time.Time) doubt.Census { return census(ctx, dir, since) },
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

// hashedOnce looks at each file once, however often it is asked for: what several checkpoints name is the same to all.
func hashedOnce(dir string) func(string) (string, int64, error) {
	type found struct {
		sum  string
		size int64
		err  error
	}
	known := map[string]found{}
	return func(name string) (string, int64, error) {
		f, ok := known[name]
		if !ok {
			f.sum, f.size, f.err = hashIn(dir, name)
			known[name] = f
		}
		return f.sum, f.size, f.err
	}
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
