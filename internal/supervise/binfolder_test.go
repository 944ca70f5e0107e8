package supervise

import (
	"os"
	"path/filepath"
	"testing"
)

// TestBinFolder changes the folder in each way. The next one is as it should be.
func TestBinFolder(t *testing.T) {
	t.Setenv("PAWL_STATE", t.TempDir())
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	first, err := BinFolder()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := BinFolder(); err != nil || again != first {
		t.Errorf("%s, then %s, %v", first, again, err)
	}
	for name, change := range map[string]func(folder string) error{
		"another program": func(folder string) error { return os.WriteFile(filepath.Join(folder, "make"), nil, 0o700) },
		"no link":         func(folder string) error { return os.Remove(filepath.Join(folder, programName)) },
		"writable":        func(folder string) error { return os.Chmod(folder, 0o777) },
		"a link": func(folder string) error {
			if err := os.RemoveAll(folder); err != nil {
				return err
			}
			return os.Symlink(t.TempDir(), folder)
		},
	} {
		before, err := BinFolder()
		if err != nil {
			t.Fatal(err)
		}
		if err := change(before); err != nil {
			t.Fatal(err)
		}
		after, err := BinFolder()
		if err != nil || after == before {
			t.Errorf("%s: %s, %v", name, after, err)
			continue
		}
		entries, err := os.ReadDir(after)
		target, linkErr := os.Readlink(filepath.Join(after, programName))
		if err != nil || len(entries) != 1 || linkErr != nil || filepath.Base(target) != filepath.Base(self) {
			t.Errorf("%s: %v, %v, %s, %v", name, entries, err, target, linkErr)
		}
	}
}
