package journal_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"pawl"
	"pawl/internal/disk/disktest"
	"pawl/internal/journal"
)

// commitsVar makes an actor append to that many journals at once through a commit log, which is checkpointed at a small size. With 0
// batches it only replays the log.
const commitsVar = "PAWL_TEST_COMMITS"

func commitAll(folder, name string, batches int) int {
	journal.SetCommitsSize(2000)
	runs, err := strconv.Atoi(os.Getenv(commitsVar))
	if err != nil {
		return 2
	}
	c, err := journal.OpenCommits(folder)
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	var all sync.WaitGroup
	for i := range runs {
		all.Go(func() {
			if err := commitBatches(c, folder, fmt.Sprint(name, i), batches); err != nil {
				fmt.Println("error", err)
			}
		})
	}
	all.Wait()
	if err := c.Close(); err != nil {
		fmt.Println("error", err)
	}
	return 0
}

// commitBatches creates a run, or continues it, and says which batches were acknowledged.
func commitBatches(c *journal.Commits, folder, name string, batches int) error {
	if batches == 0 {
		return nil
	}
	id := pawl.RunID(name + "-20260101-000000-abcd")
	log, err := c.Open(id)
	if err != nil {
		log, err = c.Create(id)
	}
	if err != nil {
		return err
	}
	defer log.Close()
	if log.Seq() == 0 {
		created, err := pawl.NewEvent(pawl.Author{Kind: pawl.ByHook}, pawl.RunCreated{Format: pawl.Format, Run: id, Project: "p", Kind: pawl.DurableRun, Name: name})
		if err != nil {
			return err
		}
		if _, err := log.Append(context.Background(), 0, created); err != nil {
			return err
		}
		fmt.Println("done", 1, name)
	}
	for b := range batches {
		text := fmt.Sprint(name, ".", b)
		seq, err := log.Append(context.Background(), 0, textEvent(text))
		if err != nil {
			return err
		}
		fmt.Println("done", seq, text)
	}
	return nil
}

// committer is an actor that appends to six journals at once.
func committer(t *testing.T, folder string, batches int, env ...string) report {
	return runActor(t, actor(t, folder, "w", batches, append(env, commitsVar+"=6")...))
}

// logCalls returns an environment that counts an actor's calls, and what returns their number.
func logCalls(t *testing.T) (env []string, count func() int) {
	path := filepath.Join(t.TempDir(), "calls")
	return []string{disktest.FaultVar + "=count", disktest.FaultLog + "=" + path}, func() int {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(data), "\n")
	}
}

// TestEveryFaultOfCommits kills a process that appends to several journals at once, or makes its calls fail, at the calls that change
// the disk. Then the power fails: what no sync of a journal covered is lost. Then the process that replays the commit log is killed at a
// random call. After the next replay, nothing acknowledged is lost or there twice.
func TestEveryFaultOfCommits(t *testing.T) {
	t.Parallel()
	const batches = 6
	env, count := logCalls(t)
	if said := committer(t, filepath.Join(t.TempDir(), "runs"), batches, env...); len(said.errors) > 0 || len(said.done) != 6*(batches+1) {
		t.Fatalf("undisturbed: %v", said)
	}
	faults := []string{"die:%d", "EIO:%d", "ENOSPC:%d-"}
	for kind, fault := range faults {
		t.Run(strings.ReplaceAll(fault, ":%d", ""), func(t *testing.T) {
			t.Parallel()
			for n := range disktest.FaultPoints(kind, len(faults), count()) {
				spec := fmt.Sprintf(fault, n)
				folder := filepath.Join(t.TempDir(), "runs")
				said := committer(t, folder, batches, disktest.FaultVar+"="+spec)
				commits, err := os.ReadFile(filepath.Join(folder, journal.CommitsName))
				if err == nil && kind == 0 {
					random := rand.New(rand.NewPCG(2, uint64(n)))
					loseAll(t, random, folder, commits)
					die := fmt.Sprint("die:", 1+random.IntN(12))
					committer(t, folder, 0, disktest.FaultVar+"="+die)
					spec += ", replay " + die
				}
				if again := committer(t, folder, 1); len(again.errors) > 0 || len(again.done) < 6 {
					t.Errorf("%s: the next process: %v", spec, again)
				}
				checkCommitted(t, spec, folder, said)
			}
		})
	}
}

// loseAll takes from each journal what only the commit log has.
func loseAll(t *testing.T, random *rand.Rand, folder string, commits []byte) {
	t.Helper()
	ids, err := journal.Runs(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if _, err := os.Lstat(filepath.Join(folder, string(id), journal.FileName)); err == nil {
			lose(t, random, folder, id, commits)
		}
	}
}

// checkCommitted checks that what was acknowledged is in its journal, once.
func checkCommitted(t *testing.T, spec, folder string, said report) {
	t.Helper()
	ids, err := journal.Runs(folder)
	if err != nil {
		t.Fatal(err)
	}
	all := ""
	for _, id := range ids {
		for _, f := range badOf(journal.Check(filepath.Join(folder, string(id)))) {
			t.Errorf("%s: %s: %s", spec, f.Where, f.What)
		}
		all += string(journalOf(t, folder, id))
	}
	for text := range said.done {
		if n := strings.Count(all, `"`+text+`"`); n != 1 && !(strings.HasSuffix(text, ".0") && n == 2) { // the next process also writes batch 0
			t.Errorf("%s: %s is there %d times", spec, text, n)
		}
	}
}

// TestTornCommits cuts the commit log at every byte, as a crash may while it is written. The replay adds the whole records before, and
// a record that was damaged ends it.
func TestTornCommits(t *testing.T) {
	t.Parallel()
	c, folder := openCommits(t)
	ids := together(t, c, folder, 8, 2)
	commits, err := os.ReadFile(filepath.Join(folder, journal.CommitsName))
	if err != nil {
		t.Fatal(err)
	}
	whole := map[pawl.RunID][]byte{}
	for _, id := range ids {
		whole[id] = journalOf(t, folder, id)
	}
	for cut := 0; cut <= len(commits); cut += 1 + rand.IntN(300) {
		after := filepath.Join(t.TempDir(), "runs")
		if err := os.CopyFS(after, os.DirFS(folder)); err != nil {
			t.Fatal(err)
		}
		loseAll(t, rand.New(rand.NewPCG(3, uint64(cut))), after, commits)
		torn := bytes.Clone(commits[:cut])
		if cut%2 == 0 && cut > 0 {
			torn = bytes.Clone(commits)
			torn[cut-1] ^= 0x20
		}
		if err := os.WriteFile(filepath.Join(after, journal.CommitsName), torn, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := journal.ReplayCommits(after); err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			if _, err := os.Lstat(filepath.Join(after, string(id), journal.FileName)); err != nil {
				continue
			}
			if got := bytes.TrimRight(journalOf(t, after, id), "\x00"); !bytes.HasPrefix(whole[id], got) {
				t.Errorf("cut at %d: run %s is not a part of what it was", cut, id)
			}
		}
	}
}

// TestReplayersWait: of several processes that find the log of a dead one, each returns only once the journals are complete.
func TestReplayersWait(t *testing.T) {
	t.Parallel()
	c, folder := openCommits(t)
	ids := together(t, c, folder, 12, 3)
	commits, err := os.ReadFile(filepath.Join(folder, journal.CommitsName))
	if err != nil {
		t.Fatal(err)
	}
	for round := range 10 {
		after := filepath.Join(t.TempDir(), "runs")
		if err := os.CopyFS(after, os.DirFS(folder)); err != nil {
			t.Fatal(err)
		}
		loseAll(t, rand.New(rand.NewPCG(4, uint64(round))), after, commits)
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if err := journal.ReplayCommits(after); err != nil {
					t.Error(err)
				}
				for _, id := range ids {
					if data, err := os.ReadFile(filepath.Join(after, string(id), journal.FileName)); err != nil || !bytes.Equal(data, journalOf(t, folder, id)) {
						t.Errorf("run %s is not complete after the replay: %v", id, err)
					}
				}
			})
		}
		all.Wait()
	}
}

// TestHostileCommits: a commit log that arrived with the files writes only valid lines that continue journals below the folder.
func TestHostileCommits(t *testing.T) {
	t.Parallel()
	c, source := openCommits(t)
	ids := together(t, c, source, 12, 3)
	valid, err := os.ReadFile(filepath.Join(source, journal.CommitsName))
	if err != nil {
		t.Fatal(err)
	}
	first := journalOf(t, source, ids[0])
	for name, log := range map[string][]byte{
		"a path as run":      journal.AppendRecord(nil, "../../evil-20260101-000000-abcd", first),
		"no lines":           journal.AppendRecord(nil, ids[0], []byte("not a line\n")),
		"no newline":         journal.AppendRecord(nil, ids[0], first[:len(first)-1]),
		"another run's line": journal.AppendRecord(nil, "other-20260101-000000-abcd", first),
		"a later line":       journal.AppendRecord(nil, "other-20260101-000000-abcd", first[bytes.IndexByte(first, '\n')+1:]),
		"a huge length":      fmt.Appendf(nil, "commit %s 9223372036854775807 00000000\n", ids[0]),
		"a negative length":  fmt.Appendf(nil, "commit %s -1 00000000\n", ids[0]),
	} {
		t.Run(name, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), ".pawl", "runs")
			if err := os.CopyFS(folder, os.DirFS(source)); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(folder, journal.CommitsName), log, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := journal.ReplayCommits(folder); err != nil && pawl.KindOf(err) != pawl.KindDamaged {
				t.Error(err)
			}
			for _, id := range ids {
				if !bytes.Equal(journalOf(t, folder, id), journalOf(t, source, id)) {
					t.Errorf("run %s was changed", id)
				}
			}
			if found, _ := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(folder)), "*evil*")); len(found) > 0 {
				t.Errorf("outside of the folder: %v", found)
			}
		})
	}
	for name, place := range map[string]func(outside, path string) error{
		"a link":          os.Symlink,
		"a second name":   os.Link,
		"a named pipe":    func(_, path string) error { return syscall.Mkfifo(path, 0o600) },
		"a folder":        func(_, path string) error { return os.Mkdir(path, 0o700) },
		"a link to a run": func(_, path string) error { return os.Symlink(string(ids[0])+"/"+journal.FileName, path) },
	} {
		t.Run(name, func(t *testing.T) {
			folder, outside := filepath.Join(t.TempDir(), ".pawl", "runs"), filepath.Join(t.TempDir(), "outside")
			if err := os.WriteFile(outside, valid, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.CopyFS(folder, os.DirFS(source)); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(folder, journal.CommitsName)
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if err := place(outside, path); err != nil {
				t.Fatal(err)
			}
			if err := journal.ReplayCommits(folder); err == nil {
				t.Error("it was replayed")
			}
			if _, err := journal.OpenCommits(folder); err == nil {
				t.Error("it was opened")
			}
			if got, err := os.ReadFile(outside); err != nil || !bytes.Equal(got, valid) {
				t.Errorf("the file outside was changed: %v", err)
			}
		})
	}
}
