package version

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
)

// HookProgram is the name of the small program that starts faster than pawl: it has only the hook and the supervisor.
const HookProgram = "pawl-hook"

// stamp identifies the sources of a build: -ldflags "-X pawl/internal/version.stamp=pawl-sources:…". The Makefile sets it.
var stamp string

// OpenHookProgram opens the hook program in a folder. It is an error if that was built from other sources than this
// program, or if that cannot be determined: the two must agree on what they write to disk.
func OpenHookProgram(folder string) (*os.File, error) {
	f, err := os.Open(filepath.Join(folder, HookProgram))
	if err != nil {
		return nil, err
	}
	if err := sameBuild(f, sources()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// sources returns text that only programs built from the same sources contain; "" if there is none.
func sources() string {
	if stamp != "" {
		return stamp
	}
	build, _ := debug.ReadBuildInfo()
	return committed(build)
}

// committed returns the part of a build's information that identifies its commit, as the linker writes it into the
// program; "" if the checkout was modified or is unknown.
func committed(build *debug.BuildInfo) string {
	if build == nil || setting(build, "vcs.revision") == "" || setting(build, "vcs.modified") != "false" {
		return ""
	}
	text := ""
	for _, key := range []string{"vcs.revision", "vcs.time", "vcs.modified"} {
		text += fmt.Sprintf("build\t%s=%s\n", key, setting(build, key))
	}
	return text
}

func sameBuild(f *os.File, sources string) error {
	if sources == "" {
		return errors.New("this program does not know which sources it was built from")
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Mode()&0o111 == 0 || info.Size() > maxProgram {
		return fmt.Errorf("%s is not a program", f.Name())
	}
	is, err := contains(f, sources)
	if err != nil {
		return err
	}
	if !is {
		return fmt.Errorf("%s was built from other sources", f.Name())
	}
	return nil
}

// pieceSize is the number of bytes that contains reads at once.
const pieceSize = 256 << 10

// contains reports whether a file has the text. A program has megabytes, so it is read in pieces into the same memory.
func contains(f io.Reader, text string) (bool, error) {
	piece, kept := make([]byte, pieceSize+len(text)), 0
	for {
		n, err := io.ReadFull(f, piece[kept:])
		read := piece[:kept+n]
		if bytes.Contains(read, []byte(text)) {
			return true, nil
		}
		if err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				err = nil
			}
			return false, err
		}
		kept = copy(piece, read[len(read)-len(text)+1:]) // the text may begin there
	}
}
