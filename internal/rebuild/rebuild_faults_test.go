package rebuild

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/disk/disktest"
	"pawl/test/stories/storytest"
)

// recoverPlan's steps write a ledger outside the project.
const recoverPlan = `name: demo
steps:
  - {id: one, run: "echo one >> ../ledger; echo 1 > one.txt", outputs: [one.txt]}
  - {id: two, run: "echo two >> ../ledger", idempotent: false}
  - {id: look, gate: {type: human_verify, ask: "Is it good?"}}
  - {id: three, run: "echo three >> ../ledger"}
`

// sweep is a damaged project. Each fault gets a copy of it at the same path, because a copy elsewhere is untrusted.
type sweep struct {
	binary  string
	world   string // folder of the project and of the user's state
	master  string // copy of world before any fault
	damaged []byte // the damaged journal; nil if it is gone
}

// TestRecoverDiesAnywhere kills `pawl recover --accept`, or makes a call fail, at the calls that change the disk. Afterwards there is
// either the damaged journal or the accepted one, and the damaged one is never lost. Recovering and resuming then succeed, and nothing
// is done twice.
func TestRecoverDiesAnywhere(t *testing.T) {
	t.Parallel()
	for i, damage := range []struct {
		name string
		do   func(t *testing.T, journal string)
	}{
		{"scrambled", func(t *testing.T, journal string) {
			data := readFile(t, journal)
			lines := bytes.SplitAfter(data, []byte("\n"))
			lines[5][20]++
			writeFile(t, journal, bytes.Join(lines, nil))
		}},
		{"truncated", func(t *testing.T, journal string) {
			lines := bytes.SplitAfter(readFile(t, journal), []byte("\n"))
			writeFile(t, journal, bytes.Join(lines[:4], nil))
		}},
		{"missing, and its plan", func(t *testing.T, journal string) {
			for _, path := range []string{journal, filepath.Join(filepath.Dir(journal), "plan.yaml")} {
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
			}
		}},
	} {
		t.Run(damage.name, func(t *testing.T) {
			t.Parallel()
			s := newSweep(t, damage.do)
			for kind, fault := range []string{"die", "ENOSPC", "EIO"} {
				last := 0
				for n := range disktest.FaultPoints(3*kind+i, 9, math.MaxInt) {
					if !s.suffer(t, fmt.Sprintf("%s:%d", fault, n)) {
						break
					}
					last = n
				}
				if last < 5 {
					t.Errorf("%s: the last call that was hit is %d", fault, last)
				}
			}
		})
	}
}

func newSweep(t *testing.T, damage func(*testing.T, string)) *sweep {
	s := &sweep{binary: storytest.Build(t, "faults"), world: t.TempDir()}
	root := filepath.Join(s.world, "project")
	if err := os.Mkdir(root, 0o700); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(root, "plan.yaml"), []byte(recoverPlan))
	if out, err := s.pawl(s.world, nil, "run", "plan.yaml"); err == nil {
		t.Fatalf("it should wait at its gate: %s", out)
	}
	journal := theJournal(t, s.world)
	damage(t, journal)
	s.damaged, _ = os.ReadFile(journal) // nil where it is gone
	s.master = filepath.Join(t.TempDir(), "master")
	if err := os.Rename(s.world, s.master); err != nil {
		t.Fatal(err)
	}
	return s
}

// pawl runs the program in a world's project.
func (s *sweep) pawl(world string, env []string, args ...string) (string, error) {
	cmd := exec.Command(s.binary, args...)
	cmd.Dir = filepath.Join(world, "project")
	cmd.Env = append(os.Environ(), append([]string{"HOME=" + world, "XDG_STATE_HOME=" + world}, env...)...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// suffer has one fault hit a recovery in a copy of the world. It is false when the recovery got through without.
func (s *sweep) suffer(t *testing.T, fault string) (hit bool) {
	t.Helper()
	world := s.world
	if err := os.RemoveAll(world); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cp", "-a", s.master, world).CombinedOutput(); err != nil {
		t.Fatalf("copy: %v\n%s", err, out)
	}
	calls := filepath.Join(world, "calls")
	_, err := s.pawl(world, []string{disktest.FaultVar + "=" + fault, disktest.FaultLog + "=" + calls}, "recover", "--accept")
	var at int
	if _, scanErr := fmt.Sscanf(fault[strings.Index(fault, ":")+1:], "%d", &at); scanErr != nil {
		t.Fatal(scanErr)
	}
	s.neitherLostNorHalf(t, world, fault)
	if out, err := s.pawl(world, nil, "recover", "--accept"); err != nil {
		t.Errorf("%s: recover again: %v\n%s", fault, err, out)
	}
	s.neitherLostNorHalf(t, world, fault+", recovered")
	s.finish(t, world, fault)
	return err != nil || bytes.Count(readFile(t, calls), []byte("\n")) >= at
}

// neitherLostNorHalf checks that the journal is the damaged one or one that is whole, and that the damaged one is there.
func (s *sweep) neitherLostNorHalf(t *testing.T, world, when string) {
	t.Helper()
	home := filepath.Dir(theJournal(t, world))
	now, err := os.ReadFile(filepath.Join(home, "journal.jsonl"))
	old := err != nil && s.damaged == nil || err == nil && s.damaged != nil && bytes.Equal(now, s.damaged)
	if !old {
		if err != nil {
			t.Fatalf("%s: there is neither the old journal nor a new one: %v", when, err)
		}
		if out, err := s.pawl(world, nil, "log", "--json"); err != nil || !strings.Contains(out, "run.recovered") {
			t.Errorf("%s: the new journal: %v\n%s", when, err, out)
		}
	}
	if old || s.damaged == nil {
		return
	}
	aside, err := filepath.Glob(filepath.Join(home, "journal.damaged-*"))
	if err != nil || len(aside) != 1 {
		t.Fatalf("%s: set aside: %v %v", when, aside, err)
	}
	if !bytes.Equal(readFile(t, aside[0]), s.damaged) {
		t.Errorf("%s: what was set aside is not the damaged journal", when)
	}
}

// finish carries the run on to its end, and looks into the ledger.
func (s *sweep) finish(t *testing.T, world, fault string) {
	t.Helper()
	for _, args := range [][]string{{"resume"}, {"approve", "look", "--yes"}, {"resume"}} {
		if out, err := s.pawl(world, nil, args...); err != nil && args[0] == "approve" || strings.Contains(out, "damaged") {
			t.Errorf("%s: %v: %v\n%s", fault, args, err, out)
		}
	}
	if got := string(readFile(t, filepath.Join(world, "ledger"))); got != "one\ntwo\nthree\n" {
		t.Errorf("%s: done: %q", fault, got)
	}
}

// theJournal returns the path of a world's only journal, be it gone.
func theJournal(t *testing.T, world string) string {
	t.Helper()
	homes, err := filepath.Glob(filepath.Join(world, "project/.pawl/runs/demo-*"))
	if err != nil || len(homes) != 1 {
		t.Fatalf("runs: %v %v", homes, err)
	}
	return filepath.Join(homes[0], "journal.jsonl")
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func writeFile(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
