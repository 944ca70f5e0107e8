package variables_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pawl/internal/disk/disktest"
	"pawl/internal/kernel"
	"pawl/internal/kernel/variables"
	"pawl/internal/kernel/variablestest"
)

// The test binary is also the process that dies: VARIABLES_TEST_DO names the folder of its store.
func TestMain(m *testing.M) {
	disktest.Inject()
	dir := os.Getenv("VARIABLES_TEST_DO")
	if dir == "" {
		os.Exit(m.Run())
	}
	if err := commit(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// saved is what a runner journals of a checkpoint that its kernel wrote.
type saved struct {
	Saving   variables.Saving
	Messages []kernel.Message
}

// commit accepts and verifies the checkpoint in a store's staging folder, and prunes all others.
func commit(dir string) error {
	var one saved
	data, err := os.ReadFile(filepath.Join(dir, "saved.json"))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, &one); err != nil {
		return err
	}
	s, err := variables.Open(dir)
	if err != nil {
		return err
	}
	ctx := context.Background()
	m, err := s.Accept(ctx, one.Saving, one.Messages)
	if err != nil {
		return err
	}
	v := &variables.Verifier{Python: variablestest.Python()}
	defer v.Close()
	if _, err := s.Verify(ctx, m.ID, v, time.Now()); err != nil {
		return err
	}
	_, err = s.Prune(variables.Retention{Keep: 1})
	return err
}

// A process dies, or a call fails, at every call that changes the disk while a checkpoint is accepted, verified and older ones are
// pruned. Whatever is left loads, and the same calls again complete it.
func TestCommitDiesAnywhere(t *testing.T) {
	t.Parallel()
	master := prepareCommit(t)
	for kind, fault := range []string{"die", "ENOSPC", "EIO"} {
		last := 0
		for n := range disktest.FaultPoints(kind, 3, math.MaxInt) {
			dir := copyOf(t, master)
			out, err := commitIn(dir, fmt.Sprintf("%s=%s:%d", disktest.FaultVar, fault, n)).CombinedOutput()
			if err == nil {
				break
			}
			if fault != "die" && !strings.Contains(string(out), map[string]string{"ENOSPC": "no space left", "EIO": "input/output error"}[fault]) {
				t.Errorf("%s at call %d: %v: %s", fault, n, err, out)
			}
			checkStore(t, dir, fmt.Sprintf("%s at call %d", fault, n), false)
			if out, err := commitIn(dir).CombinedOutput(); err != nil {
				t.Errorf("%s at call %d, again: %v: %s", fault, n, err, out)
			}
			checkStore(t, dir, fmt.Sprintf("%s at call %d, again", fault, n), true)
			last = n
		}
		if last < 20 {
			t.Errorf("%s: the last call that was hit is %d", fault, last)
		}
	}
}

// The calls are in an order in which a power failure loses nothing that counts: each object is synced before it gets its name, and its
// name before the manifest is written.
func TestOrderOfSyncs(t *testing.T) {
	t.Parallel()
	dir := copyOf(t, prepareCommit(t))
	calls := filepath.Join(t.TempDir(), "calls")
	if out, err := commitIn(dir, disktest.FaultVar+"=count", disktest.FaultLog+"="+calls).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	data, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for line := range strings.Lines(string(data)) {
		words = append(words, strings.Fields(line)[2])
	}
	const object, manifest = "sync rename sync", "write sync rename sync"
	if got, want := strings.Join(words, " "), object+" "+object+" "+manifest+" unlink"; !strings.HasPrefix(got, want) {
		t.Errorf("calls: %s; want %s first", got, want)
	}
}

// prepareCommit returns a store with two verified checkpoints, and a third one in the staging folder.
func prepareCommit(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), ".pawl", "v")
	s, err := variables.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	k := variablestest.Start(t)
	k.Run("same = b's' * 100000; x = b'1' * 100000")
	k.Save(s, "one")
	k.Run("x = b'2' * 100000; y = [1]")
	k.Save(s, "two")
	k.Run("x = b'3' * 100000; y.append(2)")
	saving, err := s.SaveCell("three", variables.Limits{}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(saved{saving, k.Run(saving.Code)})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "saved.json"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func copyOf(t *testing.T, master string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), ".pawl", "v")
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cp", "-a", master, dir).CombinedOutput(); err != nil {
		t.Fatalf("copy: %v: %s", err, out)
	}
	return dir
}

func commitIn(dir string, env ...string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(append(os.Environ(), "VARIABLES_TEST_DO="+dir), env...)
	return cmd
}

// checkStore checks that the content of every checkpoint is whole, and that there is one. A complete store has only the newest, and no
// file that it does not need.
func checkStore(t *testing.T, dir, when string, complete bool) {
	t.Helper()
	s, err := variables.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	list, err := s.List()
	verified := 0
	for _, m := range list {
		if !m.Verified.IsZero() {
			verified++
		}
	}
	if err != nil || verified == 0 {
		t.Errorf("%s: %d of %d checkpoints are verified, %v", when, verified, len(list), err)
	}
	for _, m := range list {
		if err := variablestest.CheckContent(dir, m); err != nil {
			t.Errorf("%s: checkpoint %s: %v", when, m.ID, err)
		}
	}
	if !complete {
		return
	}
	if len(list) != 1 || list[0].Key != "three" || len(list[0].Variables) != 3 {
		t.Errorf("%s: %+v", when, list)
	}
	for folder, want := range map[string]int{"objects": 3, "manifests": 1, "verified": 1, "staging": 0} {
		entries, err := os.ReadDir(filepath.Join(dir, folder))
		if err != nil || len(entries) != want {
			t.Errorf("%s: %s has %d files, %v; want %d", when, folder, len(entries), err, want)
		}
	}
}
