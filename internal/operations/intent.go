// Package operations predicts the effects of an agent's tool call. If the outcome of a call is not known, it judges from
// the files how far the call came.
//
// Both are pure: Intent reads the call and the files that it names, Judge reads the state found afterwards. A verdict never
// exceeds its evidence: "done" if all expected changes are present, "not done" if none is and the call would have left one
// here, "unknown" if nothing on this machine can tell.
package operations

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path"
	"path/filepath"
	"strings"

	"pawl"
)

// Call is a tool call as an agent is about to make it.
type Call struct {
	Tool  string
	Input json.RawMessage
	Dir   string // absolute; where the agent works
	Root  string // absolute; the project's

	Read   func(path string) ([]byte, error) // a file of any absolute path; fs.ErrNotExist: there is none
	There  func(path string) bool            // whether anything is at any absolute path
	Redact func(string) string               // takes secrets out of words
	Real   func(path string) string          // an absolute path without symbolic links, or the path if there is none. Defaults to the path.
}

// Intent returns the expected effects of a call. For an unknown tool the kind is "other". The caller sets ID, Session, Head
// and Clock.
func Intent(c Call) pawl.Operation {
	in := readInput(c.Input)
	t := toolOf(c.Tool).of(c.Tool, in)
	c.Dir = c.workingDir(in, t.kind)
	o := pawl.Operation{Tool: clip(c.Redact(c.Tool), 100), Kind: t.kind, Sub: subagentTools[strings.ToLower(c.Tool)], Digest: Digest(c.Tool, c.Input)}
	var plan []planned
	if t.plan != nil {
		plan = t.plan(in, c)
		o.Expect = c.expect(plan)
	}
	paths := t.paths(in, plan)
	if t.kind == pawl.OperationCommand {
		paths = c.commandPaths(&o, t.summary(in))
	}
	for _, path := range paths[:min(len(paths), maxPaths)] {
		o.Paths = append(o.Paths, c.shown(path))
	}
	summary := t.summary(in)
	summary = summary[:min(len(summary), maxScript)]
	if t.kind == pawl.OperationFiles {
		summary = strings.Join(o.Paths, ", ")
	}
	o.Summary = clip(c.Redact(summary), pawl.MaxSummary)
	if dir := c.shown(c.Dir); dir != "." {
		o.Dir = dir
	}
	return o
}

// workingDir returns the folder in which a call runs. Some tools take one: absolute, or relative to where the agent works.
// Symbolic links are resolved, as they are in Root, because a folder below the project has a name below Root only then.
func (c Call) workingDir(in input, kind pawl.OperationKind) string {
	keys := []string{"workdir", "cwd"}
	if kind == pawl.OperationCommand {
		keys = append(keys, "dirpath", "directory") // of other tools, these are what they work on
	}
	dir := filepath.Clean(c.Dir)
	if named, ok := in.text(keys...); ok && kind != pawl.OperationReads {
		dir = c.absolute(named)
	}
	if c.Real == nil {
		return dir
	}
	return c.Real(dir)
}

// Dir returns the absolute folder in which an operation of the project at root runs.
func Dir(o pawl.Operation, root string) string {
	if filepath.IsAbs(o.Dir) {
		return o.Dir
	}
	return filepath.Join(root, filepath.FromSlash(o.Dir))
}

// maxScript limits the bytes of a shell command that are analyzed before it runs, because the agent waits.
const maxScript = 64 << 10

// commandPaths returns the paths that a shell command changes, and sets Bound, if these are all; otherwise it sets Named to those that are
// known. It sets Gone to the existing paths that it removes.
func (c Call) commandPaths(o *pawl.Operation, command string) []string {
	if len(command) > maxScript {
		return nil
	}
	n := namesIn(command, place{dir: c.Dir})
	if o.Bound = !n.unbounded && !n.git && len(n.prefixes) == 0 && len(n.paths) <= maxPaths; !o.Bound {
		for _, path := range n.paths {
			if len(o.Named) < maxPaths && c.There(path) { // a word of an unknown command may be anything, also a secret
				o.Named = append(o.Named, c.shown(path))
			}
		}
		n.paths = nil
	}
	for _, path := range removedBy(readScript(command), place{dir: c.Dir}, c.There) {
		if c.There(path) && len(o.Gone) < maxPaths {
			o.Gone = append(o.Gone, c.shown(path))
		}
	}
	return n.paths
}

// removedBy returns the paths that a script removes, as far as it can be analyzed.
func removedBy(s script, in place, there func(path string) bool) []string {
	var paths []string
	w := walk{in: in, there: there}
	for _, part := range s.commands {
		in, moved := w.next(part)
		words := unwrapped(part.words)
		if moved || in.lost || s.unclear || len(words) < 2 || !removers[path.Base(words[0])] || words[0] == "git" && words[1] != "rm" && words[1] != "mv" {
			continue
		}
		for _, word := range words[1:] {
			if !strings.HasPrefix(word, "-") {
				paths = append(paths, in.at(word))
			}
		}
	}
	return paths
}

// Changes reports whether a tool may change files.
func Changes(name string) bool { return toolOf(name).kind != pawl.OperationReads }

// maxPaths limits the paths recorded of a call.
const maxPaths = 50

// Digest identifies a call if the agent gives it no id: SHA-256 of the tool's name and its input in compact JSON.
func Digest(tool string, input json.RawMessage) string {
	h := sha256.New()
	h.Write([]byte(tool + "\x00"))
	var v any
	if err := json.Unmarshal(input, &v); err == nil {
		if plain, err := json.Marshal(v); err == nil {
			input = plain
		}
	}
	h.Write(input)
	return hex.EncodeToString(h.Sum(nil))
}

// planned is the expected content of a file. gone: the file is removed. unsure: the content cannot be computed.
type planned struct {
	path    string
	content []byte
	gone    bool
	unsure  bool
}

// expect turns planned contents into hashes to check afterwards. It returns nil if a file cannot be read.
func (c Call) expect(plan []planned) []pawl.Expected {
	var all []pawl.Expected
	for _, p := range plan {
		was, err := c.was(p.path)
		if err != nil {
			return nil
		}
		e := pawl.Expected{Path: c.shown(p.path), Was: was, Open: p.unsure}
		if !p.gone && !p.unsure {
			e.Will = sum(p.content)
		}
		all = append(all, e)
	}
	if len(all) > maxPaths {
		return nil
	}
	return all
}

// was returns the hash of the current content of a path, empty if there is no file.
func (c Call) was(path string) (string, error) {
	data, err := c.Read(c.absolute(path))
	if isMissing(err) {
		return "", nil
	}
	return sum(data), err
}

func sum(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}

func (c Call) absolute(path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(c.Dir, path)
	}
	return filepath.Clean(path)
}

// relative returns a path relative to the project's root, if it is inside.
func (c Call) relative(path string) string {
	path = c.absolute(path)
	if rel, err := filepath.Rel(c.Root, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}

// shown returns a path as it is recorded: relative and redacted. The path is redacted before it is cleaned, too.
func (c Call) shown(path string) string {
	if plain := c.Redact(path); plain != path {
		return plain
	}
	return c.Redact(c.relative(path))
}

// clip shortens a text to n bytes, without splitting a character.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n-len("…")], "") + "…"
}
