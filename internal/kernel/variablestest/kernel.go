// Package variablestest executes cells of tests in Python, in a plain interpreter or in an ipykernel, and has the values that checkpoints
// of variables have to restore exactly or to name.
package variablestest

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pawl/internal/kernel"
	"pawl/internal/kernel/variables"
)

// Python is an interpreter that needs no libraries, but has numpy and pandas on machines that run `make test-kernels`.
func Python() string {
	if path := os.Getenv("PAWL_TEST_PYTHON"); path != "" {
		return path
	}
	return "/usr/bin/python3"
}

//go:embed kernel.py
var program string

// Kernel executes cells.
type Kernel struct {
	t   testing.TB
	in  io.Writer
	out *bufio.Reader
	cmd *exec.Cmd
}

// Start starts a kernel that has executed the set-up cell. args are those of kernel.py.
func Start(t testing.TB, args ...string) *Kernel {
	t.Helper()
	k := StartBare(t, args...)
	k.Run(variables.SetupCell())
	return k
}

// StartBare starts a kernel that has executed nothing.
func StartBare(t testing.TB, args ...string) *Kernel {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), Python(), append([]string{"-c", program}, args...)...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Wait()
		if t.Failed() {
			t.Logf("the kernel's standard error: %s", &stderr)
		}
	})
	return &Kernel{t: t, in: in, out: bufio.NewReader(out), cmd: cmd}
}

// Try executes a cell. It returns its displays, standard output and error.
func (k *Kernel) Try(code string) (messages []kernel.Message, stdout, failure string) {
	k.t.Helper()
	line, err := json.Marshal(code)
	if err != nil {
		k.t.Fatal(err)
	}
	if _, err := k.in.Write(append(line, '\n')); err != nil {
		k.t.Fatal(err)
	}
	answer, err := k.out.ReadBytes('\n')
	if err != nil {
		k.t.Fatalf("the kernel died in %.200s: %v", code, err)
	}
	var found struct {
		Displays      []map[string]json.RawMessage
		Error, Stdout string
	}
	if err := json.Unmarshal(answer, &found); err != nil {
		k.t.Fatal(err)
	}
	for _, data := range found.Displays {
		messages = append(messages, kernel.Message{Kind: kernel.KindDisplay, Data: data})
	}
	return messages, found.Stdout, found.Error
}

// Run executes a cell that succeeds.
func (k *Kernel) Run(code string) []kernel.Message {
	k.t.Helper()
	messages, _, failure := k.Try(code)
	if failure != "" {
		k.t.Fatalf("%.200s: %s", code, failure)
	}
	return messages
}

// Print executes a cell and returns what it prints.
func (k *Kernel) Print(code string) string {
	k.t.Helper()
	_, out, failure := k.Try(code)
	if failure != "" {
		k.t.Fatalf("%.200s: %s", code, failure)
	}
	return strings.TrimSpace(out)
}

// Save saves the variables of a kernel, and verifies and commits the checkpoint.
func (k *Kernel) Save(s *variables.Store, key variables.Key) variables.Manifest {
	k.t.Helper()
	return Verified(k.t, s, k.Accept(s, key, variables.Limits{}))
}

// Accept saves the variables of a kernel.
func (k *Kernel) Accept(s *variables.Store, key variables.Key, limits variables.Limits) variables.Manifest {
	k.t.Helper()
	saving, err := s.SaveCell(key, limits, time.Now())
	if err != nil {
		k.t.Fatal(err)
	}
	m, err := s.Accept(k.t.Context(), saving, k.Run(saving.Code))
	if err != nil {
		k.t.Fatal(err)
	}
	return m
}

// Verified verifies and commits a checkpoint.
func Verified(t testing.TB, s *variables.Store, pending variables.Manifest) variables.Manifest {
	t.Helper()
	m, err := s.Verify(t.Context(), pending.ID, verifier(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Load loads a checkpoint and returns the names of its variables.
func (k *Kernel) Load(s *variables.Store, m variables.Manifest) []string {
	k.t.Helper()
	loading, err := s.LoadCell(m.ID, true)
	if err != nil {
		k.t.Fatal(err)
	}
	loaded, warnings, err := loading.Result(k.Run(loading.Code))
	if err != nil || len(warnings) > 0 {
		k.t.Fatalf("load: %v, %q", err, warnings)
	}
	return loaded
}

// NewStore returns an empty store.
func NewStore(t testing.TB) *variables.Store {
	t.Helper()
	s, err := variables.Open(filepath.Join(t.TempDir(), ".pawl", "variables"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// verifier is shared by tests. Its process ends with the test's.
var verifier = sync.OnceValue(func() *variables.Verifier { return &variables.Verifier{Python: Python(), Environ: os.Environ()} })

// Lost returns the reason for each variable that is not saved.
func Lost(m variables.Manifest) map[string]string {
	found := map[string]string{}
	for _, u := range m.Unsaved {
		found[u.Name] = u.Why
	}
	return found
}

// Variable returns a saved variable.
func Variable(t testing.TB, m variables.Manifest, name string) variables.Variable {
	t.Helper()
	i := slices.IndexFunc(m.Variables, func(v variables.Variable) bool { return v.Name == name })
	if i < 0 {
		t.Fatalf("%s is not saved: %q", name, Lost(m)[name])
	}
	return m.Variables[i]
}

// CheckContent returns an error unless every object that a manifest in the store at dir names has the content that its name says.
func CheckContent(dir string, m variables.Manifest) error {
	places := slices.Collect(maps.Values(m.States))
	for _, v := range m.Variables {
		if v.Place != nil {
			places = append(places, *v.Place)
		}
	}
	for _, place := range places {
		data, err := os.ReadFile(filepath.Join(dir, "objects", place.Object))
		if err != nil {
			return err
		}
		if sum := fmt.Sprintf("%x", sha256.Sum256(data)); sum != place.Object || place.Offset+place.Length > int64(len(data)) {
			return fmt.Errorf("object %s has the SHA-256 %s and %d bytes", place.Object, sum, len(data))
		}
	}
	return nil
}
