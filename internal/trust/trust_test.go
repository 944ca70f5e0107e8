package trust_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pawl/internal/trust"
)

const id = "0197a3b2-0000-7000-8000-000000000000"

// world is a state folder and a trusted project.
type world struct {
	*testing.T
	state, root string
	granted     trust.Standing
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{T: t, state: filepath.Join(dir, "state"), root: filepath.Join(dir, "work")}
	t.Setenv("PAWL_STATE", w.state)
	w.must(os.MkdirAll(w.home(), 0o700))
	var err error
	w.granted, err = trust.Grant(w.root, id, trust.Created, false, time.Now())
	w.must(err)
	return w
}

func (w *world) home() string  { return filepath.Join(w.root, ".pawl") }
func (w *world) local() string { return filepath.Join(w.home(), trust.File) }

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// untrusted requires that the project is untrusted for a reason that contains text.
func (w *world) untrusted(text string) {
	w.Helper()
	if s := trust.Check(w.home()); s.Trusted() || !strings.Contains(s.Reason, text) {
		w.Errorf("reason %q, want %q", s.Reason, text)
	}
}

// change edits the record in the state folder.
func (w *world) change(edit func(*trust.Record)) {
	w.Helper()
	path := filepath.Join(w.granted.Folder, "record.json")
	data, err := os.ReadFile(path)
	w.must(err)
	var r trust.Record
	w.must(json.Unmarshal(data, &r))
	edit(&r)
	data, err = json.Marshal(r)
	w.must(err)
	w.must(os.WriteFile(path, data, 0o600))
}

// TestGrant trusts a project. The value in the project is random, and its files are for the user only.
func TestGrant(t *testing.T) {
	w := newWorld(t)
	s := trust.Check(w.home())
	if !s.Trusted() || s.Project != id || s.How != trust.Created || s.Folder != w.granted.Folder || s.Moved != "" {
		t.Errorf("%+v", s)
	}
	for _, path := range []string{w.local(), filepath.Join(s.Folder, "record.json")} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	value, err := os.ReadFile(w.local())
	w.must(err)
	if strings.Contains(s.Folder, strings.TrimSpace(string(value))) {
		t.Error("the state folder names the value itself")
	}
	again, err := trust.Grant(w.root, id, trust.Told, false, time.Now())
	if err != nil || again.Folder != w.granted.Folder {
		t.Errorf("granted again: %+v, %v", again, err)
	}
	fresh, err := trust.Grant(w.root, id, trust.Told, true, time.Now())
	if err != nil || fresh.Folder == w.granted.Folder || !trust.Check(w.home()).Trusted() {
		t.Errorf("granted with a fresh value: %+v, %v", fresh, err)
	}
}

// TestReasons makes a trusted project untrusted in each way.
func TestReasons(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(w *world)
		text string
	}{
		"no value":      {func(w *world) { w.must(os.Remove(w.local())) }, "you have not trusted it"},
		"unknown value": {func(w *world) { w.must(os.WriteFile(w.local(), []byte(strings.Repeat("ab", 32)), 0o600)) }, "you have not trusted it on this machine"},
		"no hex":        {func(w *world) { w.must(os.WriteFile(w.local(), []byte("../../x"), 0o600)) }, "does not contain a value"},
		"large value":   {func(w *world) { w.must(os.Truncate(w.local(), 1<<20)) }, "larger than"},
		"pipe":          {func(w *world) { w.must(os.Remove(w.local())); w.must(syscall.Mkfifo(w.local(), 0o600)) }, "not a regular file"},
		"other machine": {func(w *world) { w.change(func(r *trust.Record) { r.Hosts = []string{"other"} }) }, "on another machine"},
		"revoked":       {func(w *world) { w.must(w.granted.Revoke()) }, "you have not trusted it on this machine"},
		"bad record": {func(w *world) {
			w.must(os.WriteFile(filepath.Join(w.granted.Folder, "record.json"), []byte("{"), 0o600))
		}, "record.json"},
		"home is a link": {func(w *world) {
			w.must(os.Rename(w.home(), w.root+"/real"))
			w.must(os.Symlink("real", w.home()))
		}, "not a folder"},
		"no home":      {func(w *world) { w.must(os.RemoveAll(w.home())) }, "no such file"},
		"no state":     {func(w *world) { w.must(os.RemoveAll(w.state)) }, "you have not trusted it on this machine"},
		"other user's": {func(w *world) { w.must(os.Chown(w.home(), 54321, -1)) }, "belongs to another user (id 54321)"},
		"state in project": {func(w *world) {
			inside := filepath.Join(w.root, "state")
			w.must(os.CopyFS(inside, os.DirFS(w.state)))
			w.Setenv("PAWL_STATE", inside)
		}, "is in the project"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if name == "other user's" && os.Geteuid() != 0 {
				w.root = "/"
				t.Setenv("HOME", "/") // only root can give a folder away; the check of an owner is shown by TestOwner
				return
			}
			c.do(w)
			w.untrusted(c.text)
		})
	}
}

// TestOwner checks whose folders may be adopted.
func TestOwner(t *testing.T) {
	me := os.Geteuid()
	t.Setenv("SUDO_UID", "4321")
	for owner, want := range map[int]bool{me: true, me + 1: false, -1: false, 4321: me == 0} {
		if got := trust.OwnerAllowed(owner); got != want {
			t.Errorf("owner %d: %v", owner, got)
		}
	}
}

// TestMoveAndCopy moves a project, and copies it.
func TestMoveAndCopy(t *testing.T) {
	w := newWorld(t)
	old := w.root
	w.root += "-moved"
	w.must(os.Rename(old, w.root))
	s := trust.Check(w.home())
	if !s.Trusted() || s.Moved != old {
		t.Errorf("moved: %+v", s)
	}
	w.must(s.Update(func(r *trust.Record) { r.Path = w.root }))
	if s := trust.Check(w.home()); !s.Trusted() || s.Moved != "" {
		t.Errorf("after the update: %+v", s)
	}
	w.must(os.CopyFS(old, os.DirFS(w.root)))
	w.root = old
	w.untrusted("it is a copy of the project at " + old + "-moved")
	if !trust.Check(w.home()).Copy {
		t.Error("not marked as a copy")
	}
}

// TestBroughtValue trusts a folder that came with a value, which its maker knows. In another folder the value proves nothing.
func TestBroughtValue(t *testing.T) {
	w := newWorld(t)
	w.must(os.WriteFile(w.local(), []byte(strings.Repeat("ab", 32)+"\n"), 0o600))
	trusted := func() {
		if _, err := trust.Grant(w.root, id, trust.Told, false, time.Now()); err != nil || !trust.Check(w.home()).Trusted() {
			t.Errorf("%v, %+v", err, trust.Check(w.home()))
		}
	}
	trusted()
	next := w.root + "-next"
	w.must(os.CopyFS(next, os.DirFS(w.root)))
	w.must(os.Rename(w.root, w.root+"-gone"))
	w.must(os.Remove(filepath.Join(w.root+"-gone", ".pawl", trust.File)))
	w.root = next
	w.untrusted("its .pawl/local was copied from there")
	trusted()
	w.must(os.CopyFS(next+"/.other", os.DirFS(w.home())))
	w.must(os.RemoveAll(w.home()))
	w.must(os.Rename(next+"/.other", w.home()))
	w.untrusted("its .pawl/local was copied from there")
}

// TestList lists records, also of folders that are gone, and reports damaged ones.
func TestList(t *testing.T) {
	w := newWorld(t)
	gone := w.root + "-gone"
	w.must(os.MkdirAll(filepath.Join(gone, ".pawl"), 0o700))
	_, err := trust.Grant(gone, id, trust.Told, false, time.Now())
	w.must(err)
	w.must(os.RemoveAll(gone))
	w.must(os.MkdirAll(filepath.Join(w.state, "trusted", "bad"), 0o700))
	w.must(os.WriteFile(filepath.Join(w.state, "trusted", "bad", "record.json"), []byte("{"), 0o600))
	all, err := trust.List()
	if err == nil || len(all) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	if !all[0].Trusted() || all[0].Path != w.root || all[1].Trusted() || all[1].Path != gone || all[1].Folder == "" {
		t.Errorf("%+v", all)
	}
}

// TestUnwritableState grants nothing if the record cannot be written, so the project stays untrusted.
func TestUnwritableState(t *testing.T) {
	w := newWorld(t)
	file := filepath.Join(t.TempDir(), "file")
	w.must(os.WriteFile(file, nil, 0o600))
	t.Setenv("PAWL_STATE", file)
	before, err := os.ReadFile(w.local())
	w.must(err)
	if _, err := trust.Grant(w.root, id, trust.Told, true, time.Now()); err == nil {
		t.Error("granted without a record")
	}
	if after, err := os.ReadFile(w.local()); err != nil || string(after) != string(before) {
		t.Errorf("the value changed: %v", err)
	}
}
