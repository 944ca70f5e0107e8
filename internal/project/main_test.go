package project

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"pawl"
)

// The test binary is also the other process that the tests need: PROJECT_TEST_DO says what it does, in its folder.
func TestMain(m *testing.M) {
	do := os.Getenv("PROJECT_TEST_DO")
	if do == "" {
		os.Exit(m.Run())
	}
	if err := act(strings.Fields(do)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
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
