package interop

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/interop/format"
	"pawl/internal/interop/tables/sqlite"
	"pawl/internal/project"
)

// maxFileSize limits each file of another system that is read, in bytes.
const maxFileSize = 16 << 20

// maxDumpsSize limits the SQL dumps of a system together, in bytes. They may hold unrelated tables.
const maxDumpsSize = 256 << 20

// readFiles reads the files in dir that match the format's patterns, or the single file dir; of a database its tables, as
// SQL text. It does not follow symbolic links. A link, a file above the size limit and an unreadable file become findings. A
// single file that does not exist is a file without data. With a run, it reads only the rows of databases that are needed to
// write that run.
func readFiles(run *pawl.State, dir string, f format.Format) (format.Files, []pawl.Finding, error) {
	r := folderReader{run: run, dir: dir, format: f, patterns: f.Patterns}
	var err error
	if at := locate(dir, f); at.file != "" {
		err = r.readSingle(at)
	} else {
		err = filepath.WalkDir(dir, r.visit)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the files of %s: %w", f.Name, err)
	}
	return r.files, r.findings, nil
}

// folderReader collects the files in a folder that match the patterns of a format.
type folderReader struct {
	run       *pawl.State // limits what is read of databases; nil: everything
	dir       string
	format    format.Format
	patterns  []string
	files     format.Files
	dumpsSize int64 // bytes read so far
	findings  []pawl.Finding
}

// visit is an fs.WalkDirFunc.
func (r *folderReader) visit(path string, d fs.DirEntry, err error) error {
	rel, relErr := filepath.Rel(r.dir, path)
	name := filepath.ToSlash(rel)
	switch {
	case errors.Is(err, fs.ErrNotExist) && path == r.dir:
		return filepath.SkipAll // writing creates it
	case err != nil && path == r.dir:
		return err
	case err != nil || relErr != nil:
		found := skippedFile(name, errors.Join(err, relErr))
		if !format.Wanted(r.patterns, name) && !format.OnTheWay(r.patterns, name) {
			found.Level = pawl.Warn // the system probably has no files in it
		}
		r.findings = append(r.findings, found)
	case d.IsDir():
		if format.Wanted(r.patterns, name) {
			r.findings = append(r.findings, pawl.Finding{Level: pawl.Warn, Where: name, What: "skipped: it is a folder with the name of a file"})
		}
		return r.skipFolder(name, d.Name())
	case d.Type()&fs.ModeSymlink != 0:
		r.reportLink(path, name)
	case !format.Wanted(r.patterns, name):
	case !d.Type().IsRegular():
		r.findings = append(r.findings, skippedFile(name, errNotRegular))
	default:
		r.add(path, name)
	}
	return nil
}

// skipFolder returns fs.SkipDir for a folder that cannot contain files that match.
func (r *folderReader) skipFolder(name, base string) error {
	if name != "." && (base == ".git" || base == project.Folder || base == "node_modules" || !format.MayHold(r.patterns, name)) {
		return filepath.SkipDir
	}
	return nil
}

// reportLink adds a finding for a symbolic link in place of a file that matches, or of a folder that may contain some.
func (r *folderReader) reportLink(path, name string) {
	_, err := os.Stat(path)
	switch {
	case format.Wanted(r.patterns, name):
		r.findings = append(r.findings, skippedFile(name, errLink))
	case err == nil && format.OnTheWay(r.patterns, name):
		r.findings = append(r.findings, pawl.Finding{Level: pawl.Warn, Where: name, What: "its files are skipped: " + errLink.Error()})
	}
}

var (
	errLink       = errors.New("it is a symbolic link, and pawl does not follow links")
	errNotSQLite  = errors.New("it has a database extension but is not an SQLite file")
	errNoTables   = &pawl.Error{Kind: pawl.KindUsage, Err: errors.New("the database has none of its tables"), Hint: "pawl store move postgres"}
	errNotRegular = errors.New("it is not a regular file")
)

// add reads a file that matches.
func (r *folderReader) add(path, name string) {
	switch file, err := r.read(path, name); {
	case err != nil:
		r.findings = append(r.findings, skippedFile(name, err))
	case file.Was == nil && len(file.Data) > 0 && sqlite.Named(name):
		found := skippedFile(name, errNotSQLite)
		found.Level = pawl.Warn // the file may be unrelated
		r.findings = append(r.findings, found)
	case file.Was == nil || len(file.Was) > 0:
		r.files = append(r.files, file)
	}
}

// readSingle reads the single file of a location.
func (r *folderReader) readSingle(at location) error {
	if at.server {
		return r.readServer(at)
	}
	name := at.file
	path, err := safePath(at.dir, name)
	if err != nil {
		return err
	}
	file := format.File{Path: name}
	switch _, err := os.Lstat(path); {
	case !errors.Is(err, fs.ErrNotExist):
		if file, err = r.read(path, name); err == nil && file.Was == nil && sqlite.Named(name) {
			err = errNotSQLite
		}
		if err != nil {
			r.findings = append(r.findings, skippedFile(name, err))
			return nil
		}
	case sqlite.Named(name):
		file.Was = []byte{}
	}
	file.Named = true
	r.files = append(r.files, file)
	return nil
}

// readServer reads the tables of the format's server.
func (r *folderReader) readServer(at location) error {
	file := format.File{Path: at.file, Named: true, Parts: r.format.Tables(r.run)}
	data, err := r.format.Server.Dump(at.dir, file.Parts)
	if err == nil && len(data) == 0 {
		err = errNoTables
	}
	if err != nil {
		r.findings = append(r.findings, skippedFile(at.file, err))
		return nil
	}
	file.Data, file.Was = data, slices.Clone(data)
	r.files = append(r.files, file)
	return nil
}

func (r *folderReader) read(path, name string) (format.File, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return format.File{}, err
	}
	file := format.File{Path: name, Changed: info.ModTime()}
	if r.format.Tables != nil && sqlite.Is(path) {
		file.Parts, file.Abandoned = r.format.Tables(r.run), sqlite.Abandoned(path)
		file.Data, err = sqlite.Dump(path, file.Parts)
		file.Was = append([]byte{}, file.Data...)
		return file, err
	}
	if err := r.checkSize(info.Size()); err != nil {
		return file, err
	}
	file.Data, err = disk.ReadFile(path, disk.CacheLimit)
	return file, err
}

// checkSize returns an error if a file, or all dumps together, exceed the size limit.
func (r *folderReader) checkSize(size int64) error {
	tabular := r.format.Tables != nil
	if !tabular && size > maxFileSize {
		return fmt.Errorf("it is larger than %d MiB", maxFileSize>>20)
	}
	if !tabular {
		return nil
	}
	if size > maxDumpsSize-r.dumpsSize {
		var names []string
		for _, part := range r.format.Tables(nil) {
			names = append(names, part.Table)
		}
		return &pawl.Error{Kind: pawl.KindDamaged, Err: fmt.Errorf("all dumps together are larger than %d MiB", maxDumpsSize>>20),
			Hint: "dump only these tables: " + strings.Join(names, ", ")}
	}
	r.dumpsSize += size
	return nil
}

// skippedFile returns the finding for a file that could not be read.
func skippedFile(name string, err error) pawl.Finding {
	hint := pawl.HintOf(err)
	if hint == "" && errors.Is(err, fs.ErrPermission) {
		hint = "chmod u+r " + name
	}
	return pawl.Finding{Level: pawl.Bad, Where: name, What: fmt.Sprintf("skipped, cannot be read: %v", err), Hint: hint}
}

// readToWrite is readFiles for a caller that writes the files: an error of KindDamaged replaces findings of unreadable
// files, which would be overwritten as if they were missing, and of files that the format cannot edit.
func readToWrite(run *pawl.State, dir string, f format.Format) (format.Files, error) {
	files, findings, err := readFiles(run, dir, f)
	if f.Refuses != nil && err == nil {
		findings = append(findings, f.Refuses(files, run)...)
	}
	hint := ""
	for _, finding := range findings {
		if finding.Level == pawl.Bad {
			err, hint = errors.Join(err, fmt.Errorf("%s: %s", finding.Where, finding.What)), cmp.Or(hint, finding.Hint)
		}
	}
	if err != nil {
		return nil, &pawl.Error{Kind: pawl.KindDamaged, Err: fmt.Errorf("no files of %s were written: %w", f.Name, err), Hint: hint}
	}
	return files, nil
}
