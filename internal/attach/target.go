package attach

import (
	"bytes"
	"reflect"

	"pawl/internal/textedit/jsonedit"
)

// target is a file that gets entries of pawl.
type target struct {
	path  string // absolute
	seed  string // the content of a new file
	edits []edit
}

// edit is one entry in a file. It works on contents, not on files.
type edit interface {
	// add returns the text with the entry. It replaces a different entry of pawl.
	add(text []byte) ([]byte, error)
	// remove returns the text without the entry, or the same bytes if it has none. before, if not nil, is the text from
	// before the entry was added; containers that were empty then are restored.
	remove(text, before []byte) ([]byte, error)
	// inspect returns what of the entry is present.
	inspect(text []byte) (presence, error)
}

// presence is what a file has of pawl.
type presence struct {
	complete bool     // all entries are present and equal, and there are no others of pawl
	any      bool     // an entry of pawl is present
	missing  []string // the missing entries, for display
	programs []string // programs that pawl's hooks start
	trusts   []trust  // the hooks that Codex asks its user to trust
}

// isBlank reports whether a text has only white space.
func isBlank(text []byte) bool {
	return len(bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\ufeff")))) == 0
}

// with returns the content with pawl's entries; text is nil if there is no file.
func (t target) with(text []byte) ([]byte, error) {
	if isBlank(text) && t.seed != "" {
		text = []byte(t.seed)
	}
	for _, e := range t.edits {
		var err error
		if text, err = e.add(text); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// without returns the content without pawl's entries, nil if the file is to be removed.
func (t target) without(text, before []byte) ([]byte, error) {
	if isBlank(text) {
		return text, nil
	}
	for i := len(t.edits) - 1; i >= 0; i-- {
		var err error
		if text, err = t.edits[i].remove(text, before); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// inspect returns what the file has of pawl.
func (t target) inspect(text []byte) (presence, error) {
	all := presence{complete: true}
	for _, e := range t.edits {
		var seen presence
		if !isBlank(text) {
			var err error
			if seen, err = e.inspect(text); err != nil {
				return presence{}, err
			}
		}
		all.complete = all.complete && seen.complete
		all.any = all.any || seen.any
		all.missing = append(all.missing, seen.missing...)
		all.programs = append(all.programs, seen.programs...)
		all.trusts = append(all.trusts, seen.trusts...)
	}
	return all, nil
}

// editedWhole reports whether pawl wrote the whole file and the user edited it.
func (t target) editedWhole(text []byte) bool {
	if len(t.edits) != 1 {
		return false
	}
	w, ok := t.edits[0].(whole)
	return ok && w.ours(text) && !bytes.Equal(text, w.content)
}

// isSeed reports whether a file has no more content than a new one.
func (t target) isSeed(text []byte) bool {
	if isBlank(text) {
		return true
	}
	doc, err := jsonedit.ReadJSONC(text)
	if err != nil {
		return false
	}
	seed, err := jsonedit.ReadJSONC([]byte(t.seed))
	return err == nil && bytes.IndexByte(text, '/') < 0 && reflect.DeepEqual(doc.Root.Decode(), seed.Root.Decode())
}
