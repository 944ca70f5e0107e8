package account_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/account"
)

// nobody is a user that every system has, with a group more.
var nobody = &pawl.Account{Name: "nobody", UID: 65534, GID: 65534, Groups: []uint32{65534, 54321}, Home: "/nonexistent"}

func TestEnviron(t *testing.T) {
	t.Parallel()
	environ := []string{"PATH=/bin", "HOME=/root", "USER=root", "XDG_STATE_HOME=/root/s", "SUDO_UID=1", "PAWL_STATE=/s", "PAWL_STEP=a", "LOGNAME=x"}
	got := account.Environ(nobody, environ, []string{"USER=planned"})
	if want := []string{"PATH=/bin", "USER=root", "PAWL_STEP=a", "HOME=/nonexistent", "LOGNAME=nobody"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := account.Environ(nil, environ, nil); !slices.Equal(got, environ) {
		t.Errorf("without a user: %q", got)
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	if a, err := account.Find(""); a != nil || err != nil {
		t.Error(a, err)
	}
	for name, why := range map[string]string{"root": "is root", "no such user": "unknown user"} {
		if os.Geteuid() != 0 {
			why = "only root"
		}
		if _, err := account.Find(name); pawl.KindOf(err) != pawl.KindUsage || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestExposed gives another user access to a file in each way.
func TestExposed(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	t.Parallel()
	for name, c := range map[string]struct {
		change  func(folder string) error // which has "a" with the file "b"
		finding string
	}{
		"none":                {func(string) error { return nil }, ""},
		"writable":            {func(f string) error { return os.Chmod(filepath.Join(f, "a/b"), 0o602) }, "can write"},
		"writable by a group": {func(f string) error { return chownAnd(filepath.Join(f, "a/b"), 0, 54321, 0o620) }, "can write"},
		"readable":            {func(f string) error { return os.Chmod(filepath.Join(f, "a/b"), 0o604) }, "can read"},
		"folder writable":     {func(f string) error { return os.Chmod(filepath.Join(f, "a"), 0o777) }, "can replace"},
		"folder sticky":       {func(f string) error { return os.Chmod(filepath.Join(f, "a"), 0o777|os.ModeSticky) }, ""},
		"folder owned":        {func(f string) error { return chownAnd(filepath.Join(f, "a"), 65534, 0, 0o555) }, "can replace"},
		"file owned":          {func(f string) error { return chownAnd(filepath.Join(f, "a/b"), 65534, 0, 0o400) }, "can"},
		"folder above":        {func(f string) error { return os.Chmod(f, 0o777) }, "can replace"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base, err := os.MkdirTemp("", "pawl-account-") // t.TempDir is below folders that nobody can pass
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(base) })
			folder := filepath.Join(base, "x")
			for _, dir := range []string{folder, filepath.Join(folder, "a")} {
				if err := os.Mkdir(dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			file := filepath.Join(folder, "a/b")
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(base, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := c.change(folder); err != nil {
				t.Fatal(err)
			}
			got, err := account.Exposed(nobody, []string{file}, []string{file})
			if err != nil || !strings.Contains(got, c.finding) || (got == "") != (c.finding == "") {
				t.Errorf("%q, %v; want %q", got, err, c.finding)
			}
		})
	}
	if err := os.WriteFile(filepath.Join(t.TempDir(), "mine"), nil, 0o600); err != nil || os.Geteuid() != 0 {
		t.Errorf("this process is another user now: %v", err)
	}
}

func chownAnd(path string, uid, gid int, mode os.FileMode) error {
	if err := os.Chown(path, uid, gid); err != nil {
		return err
	}
	return os.Chmod(path, mode)
}
