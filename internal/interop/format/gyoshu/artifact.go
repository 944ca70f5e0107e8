package gyoshu

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"pawl/internal/interop/format"
)

// Issues returns, in Gyoshu's words, the faults of a manifest that it loads: of its own hash, its names, and each artifact.
// A checkpoint without issues is valid.
func (m *Manifest) Issues(trust Trust, env format.Env) []string {
	issues := []string{}
	if !m.Intact() {
		issues = append(issues, fmt.Sprintf("Manifest SHA256 mismatch: expected %s, got %s", m.sum, m.SHA256))
	}
	for _, n := range []struct{ name, text string }{{"reportTitle", m.Title}, {"runId", m.Run}, {"checkpointId", m.CheckpointID}} {
		if issue := CheckSegment(n.name, n.text); issue != "" {
			issues = append(issues, issue)
		}
	}
	for _, a := range m.Artifacts {
		if issue := a.issue(trust, env); issue != "" {
			issues = append(issues, issue)
		}
	}
	return issues
}

// issue returns the fault of an artifact. Without Env.Hash it only checks the path.
func (a Artifact) issue(trust Trust, env format.Env) string {
	if issue := CheckPath(a.Path); issue != "" {
		return issue
	}
	if env.Hash == nil {
		return ""
	}
	if trust != Local {
		if folder := linkAbove(a.Path, env); folder != "" {
			return "Parent directory is a symlink: " + folder
		}
	}
	sum, size, err := env.Hash(a.Path)
	switch {
	case errors.Is(err, errNotChecked):
		return ""
	case errors.Is(err, fs.ErrNotExist):
		return "Artifact not found: " + a.Path
	case errors.Is(err, format.ErrLink):
		return "Artifact is a symlink (not allowed): " + a.Path
	case errors.Is(err, format.ErrOutside):
		return "Security: artifact escapes project root via symlinked parent: " + a.Path
	case err != nil:
		return fmt.Sprintf("Cannot validate artifact: %s: %v", a.Path, err)
	case size != a.Size:
		return fmt.Sprintf("Size mismatch for %s: expected %d, got %d", a.Path, a.Size, size)
	case !strings.EqualFold(sum, a.SHA256):
		return fmt.Sprintf("SHA256 mismatch for %s: expected %s, got %s", a.Path, a.SHA256, sum)
	}
	return ""
}

// linkAbove returns the first parent folder that is a symbolic link, "" if none is.
func linkAbove(file string, env format.Env) string {
	for i, c := range file {
		if c != '/' {
			continue
		}
		if _, _, err := env.Hash(file[:i]); errors.Is(err, format.ErrLink) {
			return file[:i]
		}
	}
	return ""
}

// errNotChecked means that a file's content is unknown, which is not a fault.
var errNotChecked = errors.New("not checked")

// hashAmong returns an Env.Hash that only knows the given files.
func hashAmong(files format.Files) func(string) (string, int64, error) {
	known := make(map[string][]byte, len(files))
	for _, f := range files {
		known[f.Path] = f.Data
	}
	return func(name string) (string, int64, error) {
		data, there := known[name]
		if !there {
			return "", 0, errNotChecked
		}
		sum := sha256.Sum256(data)
		return hex.EncodeToString(sum[:]), int64(len(data)), nil
	}
}
