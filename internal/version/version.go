// Package version says which build of pawl a program is: this one, or one in a file.
package version

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
)

// release is the version that a release build sets: -ldflags "-X pawl/internal/version.release=v1.2.3".
var release string

// Info identifies a build.
type Info struct {
	Version  string `json:"version"`            // a release, a pseudo-version, or "(devel)"
	Commit   string `json:"commit,omitempty"`   // of the git checkout that it was built from
	Modified bool   `json:"modified,omitempty"` // the checkout had changes that were not committed
	Go       string `json:"go"`
	Platform string `json:"platform"` // system/processor
}

// Read returns the build of this program.
func Read() Info {
	info, _ := debug.ReadBuildInfo()
	return read(info)
}

func read(build *debug.BuildInfo) Info {
	i := Info{Version: release, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if build != nil {
		i.Version = cmp.Or(i.Version, build.Main.Version)
		i.Commit = setting(build, "vcs.revision")
		i.Modified = setting(build, "vcs.modified") == "true"
	}
	i.Version = cmp.Or(i.Version, "unknown")
	return i
}

// setting returns a build setting, such as vcs.time, or "".
func setting(build *debug.BuildInfo, key string) string {
	for _, s := range build.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

// String returns one line for people.
func (i Info) String() string {
	commit := "unknown commit"
	if i.Commit != "" {
		commit = "commit " + i.Commit
	}
	if i.Modified {
		commit += "-dirty"
	}
	return fmt.Sprintf("%s, %s, %s, %s", i.Version, commit, i.Go, i.Platform)
}

// Short returns the version and the commit, as journals record them.
func (i Info) Short() string {
	if i.Commit == "" {
		return i.Version
	}
	return i.Version + " " + i.Commit
}

// The marks that the Go linker puts around a program's build information. They are written in hex so that this program
// does not contain them twice.
const (
	buildBegin = "3077af0c9274080241e1c107e6d618e6"
	buildEnd   = "f932433186182072008242104116d8f2"
)

// maxProgram is how large a file may be that is taken for a program, in bytes.
const maxProgram = 256 << 20

// ReadFile returns the build information in a Go program of any system. It only looks for the linker's marks: package
// debug/buildinfo would add the readers of five file formats to the binary.
func ReadFile(path string) (*debug.BuildInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxProgram {
		return nil, fmt.Errorf("read build information: %s is larger than %d bytes", path, maxProgram)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	begin, err := hex.DecodeString(buildBegin)
	if err != nil {
		return nil, err
	}
	end, err := hex.DecodeString(buildEnd)
	if err != nil {
		return nil, err
	}
	_, after, found := bytes.Cut(data, begin)
	text, _, closed := bytes.Cut(after, end)
	if !found || !closed {
		return nil, errors.New("read build information: not a Go program")
	}
	return debug.ParseBuildInfo(string(text))
}
