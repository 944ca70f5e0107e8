package project

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"pawl"
	"pawl/internal/disk/disktest"
)

// The test binary is also the other process that the tests need: PROJECT_TEST_DO says what it does, in its folder.
func TestMain(m *testing.M) {
	disktest.Inject()
	do := os.Getenv("PROJECT_TEST_DO")
	if do == "" {
		os.Exit(withHome(m))
	}
	if err := act(strings.Fields(do)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// withHome runs the tests with a home of their own.
func withHome(m *testing.M) int {
	home, err := os.MkdirTemp("", "pawl-project-")
	err = errors.Join(err, os.Setenv("HOME", home))
	for _, name := range []string{"XDG_STATE_HOME", "XDG_CONFIG_HOME", "PAWL_STATE"} {
		err = errors.Join(err, os.Unsetenv(name))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(home)
	return m.Run()
}

func act(words []string) error {
	if words[0] == "init" {
		_, err := Init(".")
		return err
	}
	p, err := Find(".")
	if err != nil {
		return err
	}
	switch words[0] {
	case "learn": // PREFIX N
		return learnMany(p, words[1], words[2])
	case "register":
		if !p.Trust.Trusted() {
			fmt.Println("untrusted:", p.Trust.Reason)
			return nil
		}
		for _, notice := range p.Register("active", time.Now()) {
			fmt.Println(notice)
		}
		fmt.Println("id", p.ID)
	case "hold": // until standard input ends
		if _, err := p.LockEngine(Holder{PID: os.Getpid(), Run: "demo", Since: time.Now(), Command: "pawl run"}); err != nil {
			return err
		}
		fmt.Println("held")
		_, err := bufio.NewReader(os.Stdin).ReadString('\n')
		return err
	}
	return nil
}

func learnMany(p *Project, prefix, count string) error {
	n, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	for i := range n {
		if _, err := p.Learn(pawl.Memory{Kind: pawl.Gotcha, Text: fmt.Sprintf("%s %d", prefix, i)}); err != nil {
			return err
		}
	}
	return nil
}

// another returns the command of another process that does something in folder, for the user at home.
func another(t *testing.T, folder, home, do string, env ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Dir = folder
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "PROJECT_TEST_DO=" + do}, env...)
	return cmd
}

// tell runs another process to its end and returns what it said.
func tell(t *testing.T, folder, home, do string) string {
	t.Helper()
	cmd := another(t, folder, home, do)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s in %s: %v: %s", do, folder, err, &stderr)
	}
	return string(out)
}

// freshAt makes another process initialize a project in a folder named name, for the user at home, and returns its root.
func freshAt(t *testing.T, home, name string) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), name)
	if err := os.Mkdir(root, 0o700); err != nil {
		t.Fatal(err)
	}
	tell(t, root, home, "init")
	return root
}

// fresh returns a new project in a folder named name below a new temporary one.
func fresh(t *testing.T, name string) *Project {
	t.Helper()
	root := filepath.Join(t.TempDir(), name)
	if err := os.Mkdir(root, 0o700); err != nil {
		t.Fatal(err)
	}
	p, err := Init(root)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
