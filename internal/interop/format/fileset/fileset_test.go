package fileset_test

import (
	"strings"
	"testing"

	"pawl/internal/interop/format"
	"pawl/internal/interop/format/fileset"
)

// told returns paths with data, in order; a path without "=" is removed.
func told(files []format.File) string {
	var all []string
	for _, f := range files {
		switch {
		case f.Data == nil:
			all = append(all, f.Path)
		case f.Broken != "":
			all = append(all, f.Path+"="+string(f.Data)+" of "+f.Broken)
		default:
			all = append(all, f.Path+"="+string(f.Data))
		}
	}
	return strings.Join(all, ", ")
}

func TestSet(t *testing.T) {
	t.Parallel()
	s := fileset.New(format.Files{{Path: "a", Data: []byte("1")}, {Path: "b", Data: []byte("1")}, {Path: "c", Data: []byte("1")}})
	s.Put("a", []byte("1"))
	s.Put("b", []byte("2"))
	s.Put("new", []byte("1"))
	s.PutBroken("c.kept", s.Data("c"), "c")
	s.Remove("c")
	s.Remove("never")
	s.Remove("folder/")
	s.Put("gone again", []byte("1"))
	s.Remove("gone again")
	s.Put("a", []byte("2"))
	s.Put("a", []byte("1")) // as it was read
	s.Put("b", []byte("3"))
	if got, want := told(s.ByFirstChange()), "b=3, new=1, c.kept=1 of c, c, folder/"; got != want {
		t.Errorf("by first change: %s, want %s", got, want)
	}
	if got, want := told(s.ByLastChange()), "new=1, c.kept=1 of c, c, folder/, b=3"; got != want {
		t.Errorf("by last change: %s, want %s", got, want)
	}
	if s.File("c") != nil || s.Data("c") != nil || string(s.Data("b")) != "3" {
		t.Errorf("c %v, b %s", s.File("c"), s.Data("b"))
	}
	if got, want := told(s.Files()), "a=1, b=3, c.kept=1 of c, new=1"; got != want {
		t.Errorf("files: %s, want %s", got, want)
	}
	s.Flush()
	if left := s.ByLastChange(); len(left) > 0 {
		t.Errorf("after Flush: %s", told(left))
	}
	s.Put("b", []byte("1"))
	if got := told(s.Flush()); got != "b=1" {
		t.Errorf("after Flush: %s", got)
	}
}
