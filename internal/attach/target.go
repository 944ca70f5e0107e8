package attach

import (
	"bytes"
	"reflect"

	"pawl/internal/textedit/jsonedit"
)

// target is a file in which something of ours is to stand.
type target struct {
	path  string // absolute
	seed  string // what the file is made of where there is none
	edits []edit
}

// edit is one thing that is to stand in a file. It works on contents and knows no files.
type edit interface {
	// add returns the text with it. What of ours is there already, but otherwise, is replaced.
	add(text []byte) ([]byte, error)
	// remove returns the text without it; the same bytes where it is not there. Before, if not nil, is what the text was
	// before it came in: what was empty then may be so again.
	remove(text, before []byte) ([]byte, error)
	// look says what of it is there.
	look(text []byte) (sight, error)
}

// sight is what of ours was seen in a file.
type sight struct {
	complete bool     // all is there, as it should be, and nothing else of ours
	any      bool     // something is there
	missing  []string // what is not, in words
	programs []string // that hooks of ours start
	trusts   []trust  // what Codex asks its user to trust
}

// isBlank reports whether a text says nothing.
func isBlank(text []byte) bool {
	return len(bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\ufeff")))) == 0
}

// with returns what the file is to say, from what it says, nil where there is none.
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

// without returns what the file says without us, nil where nothing is left of it.
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

// look says what of ours is in the file.
func (t target) look(text []byte) (sight, error) {
	all := sight{complete: true}
	for _, e := range t.edits {
		var seen sight
		if !isBlank(text) {
			var err error
			if seen, err = e.look(text); err != nil {
				return sight{}, err
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

// editedWhole reports whether the file is one that is ours as a whole, but says something else than it should.
func (t target) editedWhole(text []byte) bool {
	if len(t.edits) != 1 {
		return false
	}
	w, ok := t.edits[0].(whole)
	return ok && w.ours(text) && !bytes.Equal(text, w.content)
}

// isSeed reports whether a file says no more than one that is just made.
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
