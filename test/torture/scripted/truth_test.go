package scripted

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pawl"
)

// rehearsal is an author with a project, and an agent that makes single calls.
func rehearsal(t *testing.T, seed uint64, d *Dialect) (*Author, *agent) {
	t.Helper()
	root := filepath.Join(t.TempDir(), "project")
	a := &Author{Dice: rand.New(rand.NewPCG(seed, 1)), Root: root, Git: true, dialect: d, native: "s", busy: map[string]bool{}, cwd: root}
	a.Bases = Bases(root, true)
	if err := a.Furnish(); err != nil {
		t.Fatal(err)
	}
	ledger, err := os.Create(filepath.Join(t.TempDir(), "ledger"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ledger.Close() })
	s := &Session{Dialect: d.Name, Root: root, Dir: root, Ledger: ledger.Name(), Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}}
	return a, &agent{Session: s, dialect: d, ledger: ledger, doomed: make(chan struct{})}
}

func mustObserve(t *testing.T, root string, c *Call) map[string]Seen {
	t.Helper()
	seen, err := Observe(root, c.Paths)
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

// TestTruthOfWholeCalls carries calls of every sort out to their ends: what they were to do is there, and before it nothing
// of it is.
func TestTruthOfWholeCalls(t *testing.T) {
	t.Parallel()
	for i, d := range Dialects {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			author, agent := rehearsal(t, uint64(i), d)
			sorts := map[Sort]int{}
			for range 40 {
				if err := author.look(); err != nil {
					t.Fatal(err)
				}
				author.cwd = pick(author.Dice, append(author.Bases, author.Root)...)
				c := author.call("")
				if c.Sub != nil || c.Serves {
					continue
				}
				sorts[c.Sort]++
				wholeCall(t, agent, c)
			}
			t.Log(sorts)
		})
	}
}

func wholeCall(t *testing.T, a *agent, c *Call) {
	before := mustObserve(t, a.Root, c)
	if truth := c.Truth(before, before); truth != Nothing && truth != AsBefore && truth != Traceless {
		t.Errorf("%s %q: untouched, %s", c.Sort, c.Command, truth)
	}
	if slices.Contains(c.Right(Traceless, false), pawl.OperationDone) {
		t.Error("what leaves no trace is not known to be done")
	}
	_, failed, err := a.tool(c)
	if err != nil {
		t.Fatal(err)
	}
	after := mustObserve(t, a.Root, c)
	for end := time.Now().Add(time.Minute); c.Sort == Background && c.Truth(before, after) != Everything && time.Now().Before(end); {
		after = mustObserve(t, a.Root, c)
	}
	switch truth := c.Truth(before, after); {
	case failed == nil && truth != Everything && truth != AsBefore && truth != Traceless,
		failed != nil && truth == Something:
		t.Errorf("%s %s %q %+v: %v, and the truth is %s\nbefore %v\nafter %v\nwant %v", c.Tool, c.Sort, c.Command, c.Changes, failed, truth, before, after, c.after(before))
	}
}

// TestTruthOfParts: a call that was cut off is neither there nor not.
func TestTruthOfParts(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	c := (&Call{}).does(chain("&&", echo("one", "a", false), touch("b")))
	before := mustObserve(t, root, c)
	for _, step := range []struct {
		do   string
		want Truth
	}{{"true", Nothing}, {"printf o > a", Something}, {"echo one > a", Something}, {"touch b", Everything}, {"rm a", Something}} {
		sh := exec.Command("sh", "-c", step.do)
		sh.Dir = root
		if err := sh.Run(); err != nil {
			t.Fatal(err)
		}
		if truth := c.Truth(before, mustObserve(t, root, c)); truth != step.want {
			t.Errorf("after %s: %s, want %s", step.do, truth, step.want)
		}
	}
}
