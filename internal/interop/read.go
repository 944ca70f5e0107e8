package interop

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/tables/sqlite"
	"pawl/internal/project"
)

// maxForeign is how large a file of another system is that is read, in bytes.
const maxForeign = 16 << 20

// maxDumps is how large the dumps of a system whose files hold tables may be together, in bytes: they hold other tables too.
const maxDumps = 256 << 20

// ReadForeign reads the files that a codec wants below a folder, or one of its files alone; of a database its tables, as SQL
// text. Links are not followed; one where a file should be, and what is too large or cannot be read, is a finding. A file
// that is named and not there is one without data.
func ReadForeign(dir string, codec format.Format) (format.Files, []pawl.Finding, error) {
	return readFor(nil, dir, codec)
}

// readFor is ReadForeign; with a run only what is needed of databases to write that.
func readFor(run *pawl.State, dir string, codec format.Format) (format.Files, []pawl.Finding, error) {
	r := foreignReader{run: run, dir: dir, codec: codec, wants: codec.Patterns}
	var err error
	if at := placeOf(dir, codec); at.only != "" {
		err = r.only(at)
	} else {
		err = filepath.WalkDir(dir, r.visit)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the files of %s: %w", codec.Name, err)
	}
	return r.files, r.findings, nil
}

// foreignReader gathers the files that a codec wants below a folder.
type foreignReader struct {
	run      *pawl.State // whose alone is read of databases; nil: all is
	dir      string
	codec    format.Format
	wants    []string
	files    format.Files
	dumps    int64 // bytes of those that were read
	findings []pawl.Finding
}

// visit is a fs.WalkDirFunc.
func (r *foreignReader) visit(path string, d fs.DirEntry, err error) error {
	rel, relErr := filepath.Rel(r.dir, path)
	name := filepath.ToSlash(rel)
	switch {
	case errors.Is(err, fs.ErrNotExist) && path == r.dir:
		return filepath.SkipAll // it is made when something is written
	case err != nil && path == r.dir:
		return err
	case err != nil || relErr != nil:
		found := notRead(name, errors.Join(err, relErr))
		if !format.Wanted(r.wants, name) && !format.OnTheWay(r.wants, name) {
			found.Level = pawl.Warn // it would be by chance that something of the system lay in it
		}
		r.findings = append(r.findings, found)
	case d.IsDir():
		if format.Wanted(r.wants, name) {
			r.findings = append(r.findings, pawl.Finding{Level: pawl.Warn, Where: name, What: "it is left out: it is a folder, and is called as a file is"})
		}
		return r.enter(name, d.Name())
	case d.Type()&fs.ModeSymlink != 0:
		r.link(path, name)
	case !format.Wanted(r.wants, name):
	case !d.Type().IsRegular():
		r.findings = append(r.findings, notRead(name, errNotRegular))
	default:
		r.take(path, name)
	}
	return nil
}

// enter passes over a folder where nothing that is wanted can lie.
func (r *foreignReader) enter(name, base string) error {
	if name != "." && (base == ".git" || base == project.Folder || base == "node_modules" || !format.MayHold(r.wants, name)) {
		return filepath.SkipDir
	}
	return nil
}

// link tells of a link where a file that is wanted should be, or a folder that leads to some.
func (r *foreignReader) link(path, name string) {
	_, err := os.Stat(path)
	switch {
	case format.Wanted(r.wants, name):
		r.findings = append(r.findings, notRead(name, errLinked))
	case err == nil && format.OnTheWay(r.wants, name):
		r.findings = append(r.findings, pawl.Finding{Level: pawl.Warn, Where: name, What: "what lies in it is left out: " + errLinked.Error()})
	}
}

var (
	errLinked     = errors.New("it is a symbolic link, and links are not followed")
	errNoDatabase = errors.New("it is called a database, and does not begin as one of SQLite's does")
	errNotRegular = errors.New("it is no regular file")
)

// take reads a file that is wanted.
func (r *foreignReader) take(path, name string) {
	switch file, err := r.read(path, name); {
	case err != nil:
		r.findings = append(r.findings, notRead(name, err))
	case file.Was == nil && len(file.Data) > 0 && sqlite.Named(name):
		found := notRead(name, errNoDatabase)
		found.Level = pawl.Warn // it may be somebody else's
		r.findings = append(r.findings, found)
	case file.Was == nil || len(file.Was) > 0:
		r.files = append(r.files, file)
	}
}

// only reads one file alone.
func (r *foreignReader) only(at foreignPlace) error {
	name := at.only
	path, err := inside(at.dir, name)
	if err != nil {
		return err
	}
	file := format.File{Path: name}
	switch _, err := os.Lstat(path); {
	case !errors.Is(err, fs.ErrNotExist):
		if file, err = r.read(path, name); err == nil && file.Was == nil && sqlite.Named(name) {
			err = errNoDatabase
		}
		if err != nil {
			r.findings = append(r.findings, notRead(name, err))
			return nil
		}
	case sqlite.Named(name):
		file.Was = []byte{}
	}
	file.Named = true
	r.files = append(r.files, file)
	return nil
}

func (r *foreignReader) read(path, name string) (format.File, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return format.File{}, err
	}
	file := format.File{Path: name, Changed: info.ModTime()}
	if r.codec.Tables != nil && sqlite.Is(path) {
		file.Parts = r.codec.Tables(r.run)
		file.Data, err = sqlite.Dump(path, file.Parts)
		file.Was = append([]byte{}, file.Data...)
		return file, err
	}
	if err := r.fits(info.Size()); err != nil {
		return file, err
	}
	file.Data, err = os.ReadFile(path)
	return file, err
}

// fits says that a file is too large to be read, or that the dumps are together.
func (r *foreignReader) fits(size int64) error {
	tabular := r.codec.Tables != nil
	if !tabular && size > maxForeign {
		return fmt.Errorf("it is larger than %d MiB", maxForeign>>20)
	}
	if !tabular {
		return nil
	}
	if size > maxDumps-r.dumps {
		var names []string
		for _, part := range r.codec.Tables(nil) {
			names = append(names, part.Table)
		}
		return &pawl.Error{Kind: pawl.KindDamaged, Err: fmt.Errorf("the dumps are larger than %d MiB with it", maxDumps>>20),
			Hint: "make a dump of these tables alone: " + strings.Join(names, ", ")}
	}
	r.dumps += size
	return nil
}

// notRead says that a file is left out.
func notRead(name string, err error) pawl.Finding {
	hint := pawl.HintOf(err)
	if hint == "" && errors.Is(err, fs.ErrPermission) {
		hint = "chmod u+r " + name
	}
	return pawl.Finding{Level: pawl.Bad, Where: name, What: fmt.Sprintf("it is left out, for it cannot be read: %v", err), Hint: hint}
}

// readToWrite is ReadForeign for who writes: all must have been read, for what was not would be taken for missing, and made
// anew over what is there; and the codec must be able to write into it. Else it is an error of KindDamaged.
func readToWrite(run *pawl.State, dir string, codec format.Format) (format.Files, error) {
	files, findings, err := readFor(run, dir, codec)
	if codec.Refuses != nil && err == nil {
		findings = append(findings, codec.Refuses(files, run)...)
	}
	hint := ""
	for _, f := range findings {
		if f.Level == pawl.Bad {
			err, hint = errors.Join(err, fmt.Errorf("%s: %s", f.Where, f.What)), cmp.Or(hint, f.Hint)
		}
	}
	if err != nil {
		return nil, &pawl.Error{Kind: pawl.KindDamaged, Err: fmt.Errorf("nothing of %s is written: %w", codec.Name, err), Hint: hint}
	}
	return files, nil
}
