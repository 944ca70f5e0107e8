package scripted

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Change is what a tool for files does to one of them. Exactly one of Swaps, Content, Gone and To is given; Swaps may go
// with To.
type Change struct {
	Path    string  `json:"path"`
	Swaps   []Swap  `json:"swaps,omitempty"`
	Content *string `json:"content,omitempty"`
	Gone    bool    `json:"gone,omitempty"`
	To      string  `json:"to,omitempty"` // another name
}

// Swap replaces a text, which must be there once, by another.
type Swap struct {
	Old string `json:"old"`
	Now string `json:"now"`
}

// errRefused means that a tool does nothing, because a text or a file is missing.
var errRefused = errors.New("refused")

// text returns the new content of a file, which may not exist.
func (c Change) text(now string, there bool) (string, error) {
	switch {
	case c.Content != nil:
		return *c.Content, nil
	case !there:
		return "", fmt.Errorf("%s is not there: %w", c.Path, errRefused)
	}
	for _, s := range c.Swaps {
		if strings.Count(now, s.Old) != 1 {
			return "", fmt.Errorf("%q is not there once: %w", s.Old, errRefused)
		}
		now = strings.Replace(now, s.Old, s.Now, 1)
	}
	return now, nil
}

// paths returns those that the change touches.
func (c Change) paths() []string {
	if c.To != "" {
		return []string{c.Path, c.To}
	}
	return []string{c.Path}
}

// changing is the part of a call that makes changes: all of them are looked at before the first is made.
func changing(changes ...Change) Part {
	p := Part{}
	for _, c := range changes {
		p.paths = append(p.paths, c.paths()...)
	}
	p.do = func(w World) bool {
		var texts []string
		for _, c := range changes {
			text, err := c.text(w[c.Path].Text, w[c.Path].Kind == File)
			if err != nil {
				return false
			}
			texts = append(texts, text)
		}
		for i, c := range changes {
			if c.Gone || c.To != "" {
				delete(w, c.Path)
			}
			if !c.Gone {
				w[c.paths()[len(c.paths())-1]] = fileOf(texts[i])
			}
		}
		return true
	}
	return p
}

// Style is how a tool writes a file.
type Style string

// The styles: into the file, or into another one that then takes its place.
const (
	InPlace Style = "in place"
	Renamed Style = "renamed"
)

// make makes changes, with a pause in the middle of each and after it. It calls made after each.
func makeChanges(root string, changes []Change, style Style, pause time.Duration, made func(path string) error) error {
	texts := make([]string, len(changes))
	for i, c := range changes {
		data, err := os.ReadFile(filepath.Join(root, c.Path))
		if texts[i], err = c.text(string(data), err == nil); err != nil {
			return err
		}
	}
	for i, c := range changes {
		if err := c.make(root, texts[i], style, pause); err != nil {
			return err
		}
		if err := made(c.Path); err != nil {
			return err
		}
		time.Sleep(pause)
	}
	return nil
}

func (c Change) make(root, text string, style Style, pause time.Duration) error {
	path := filepath.Join(root, c.Path)
	if c.Gone {
		return os.Remove(path)
	}
	to := path
	if c.To != "" {
		to = filepath.Join(root, c.To)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	if err := write(to, text, style, pause); err != nil || to == path {
		return err
	}
	return os.Remove(path)
}

// write writes a file in two pieces.
func write(path, text string, style Style, pause time.Duration) error {
	name := path
	if style == Renamed {
		name = fmt.Sprintf("%s.tmp.%d", path, os.Getpid())
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	half := len(text) / 2
	_, err = file.WriteString(text[:half])
	time.Sleep(pause)
	if err == nil {
		_, err = file.WriteString(text[half:])
	}
	if err = errors.Join(err, file.Close()); err != nil || name == path {
		return err
	}
	return os.Rename(name, path)
}
