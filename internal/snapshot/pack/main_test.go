package pack

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"pawl"
	"pawl/internal/disk/disktest"
)

// The test binary is also the other process that the tests need: PACK_TEST_DO says what it does.
const doVar = "PACK_TEST_DO"

func TestMain(m *testing.M) {
	disktest.Inject()
	if do := os.Getenv(doVar); do != "" {
		os.Exit(act(strings.Fields(do)))
	}
	os.Exit(m.Run())
}

// set is a commit in a test: what its record says. Its objects can be made from that.
type set struct {
	name  string
	count int
	size  int
}

func (c set) record() []byte { return fmt.Appendf(nil, "set %s %d %d", c.name, c.count, c.size) }

func parseSet(record []byte) (c set, err error) {
	_, err = fmt.Sscanf(string(record), "set %s %d %d", &c.name, &c.count, &c.size)
	return c, err
}

// objects returns content that does not compress, but for every fourth object, and that other sets share in part.
func (c set) objects() [][]byte {
	all := make([][]byte, c.count)
	for i := range all {
		seed := IDOf(fmt.Appendf(nil, "%s %d", c.name, i))
		if i == 0 {
			seed = IDOf([]byte("shared")) // each set has it
		}
		rng := rand.New(rand.NewPCG(binary.LittleEndian.Uint64(seed[:]), uint64(c.size)))
		all[i] = make([]byte, c.size)
		for j := range all[i] {
			if i%4 != 3 || j < 8 {
				all[i][j] = byte(rng.Uint32())
			}
		}
	}
	return all
}

// testLimits make everything happen with little data.
var testLimits = limits{memory: 24 << 10, flush: 8 << 10, pack: 64 << 10, index: 16 << 10, tail: 40, small: 4 << 10}

func openAt(ctx context.Context, dir string) (*Store, error) {
	s, err := Open(ctx, dir)
	if err == nil {
		s.limits = testLimits
	}
	return s, err
}

// commit puts a set.
func (c set) commit(ctx context.Context, s *Store) error {
	b, err := s.Begin(ctx)
	if err != nil {
		return err
	}
	for _, content := range c.objects() {
		if _, err := b.Put(content); err != nil {
			return errors.Join(err, b.Abort())
		}
	}
	_, err = b.Commit(ctx, c.record())
	return err
}

// complete checks that all objects of a set can be read.
func (c set) complete(s *Store) error {
	for i, want := range c.objects() {
		got, err := s.Get(IDOf(want))
		if err != nil {
			return fmt.Errorf("%s: object %d: %w", c.record(), i, err)
		}
		if string(got) != string(want) {
			return fmt.Errorf("%s: object %d is another", c.record(), i)
		}
	}
	return nil
}

// keeping prunes all commits but those that keep names.
func keeping(ctx context.Context, s *Store, keep func(name string) bool) (Pruned, error) {
	return s.Prune(ctx, func(commits []Commit) (map[ID]bool, map[ID]bool, error) {
		records, objects := map[ID]bool{}, map[ID]bool{}
		for _, commit := range commits {
			c, err := parseSet(commit.Content)
			if err != nil {
				return nil, nil, err
			}
			if !keep(c.name) {
				continue
			}
			records[commit.ID] = true
			for _, content := range c.objects() {
				objects[IDOf(content)] = true
			}
		}
		return records, objects, nil
	})
}

func even(name string) bool { return (name[len(name)-1]-'0')%2 == 0 }

// act does one thing in another process, and says on standard output what was acknowledged.
func act(words []string) int {
	ctx := context.Background()
	s, err := openAt(ctx, words[0])
	if err != nil { // as every other call, it may fail once
		fmt.Println("error", err)
		s, err = openAt(ctx, words[0])
	}
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	defer s.Close()
	if err := limitFiles(os.Getenv(limitVar)); err != nil {
		fmt.Println("error", err)
		return 1
	}
	say := func(err error, done string) {
		if err != nil {
			done = "error " + strings.ReplaceAll(err.Error(), "\n", " ")
		}
		fmt.Println(done)
	}
	name := ""
	if len(words) > 2 {
		name = words[2]
	}
	switch words[1] {
	case "small":
		for i := range 4 {
			c := set{fmt.Sprint(name, i), 4, 700}
			say(c.commit(ctx, s), "done "+c.name)
		}
	case "large":
		for i := range 2 {
			c := set{fmt.Sprint(name, i), 30, 5000}
			say(c.commit(ctx, s), "done "+c.name)
		}
	case "one":
		var c set
		_, err := fmt.Sscan(strings.Join(words[2:], " "), &c.name, &c.count, &c.size)
		say(errors.Join(err, c.commit(ctx, s)), "done "+c.name)
	case "prune":
		_, err := keeping(ctx, s, even)
		say(err, "done pruned")
	case "repair":
		_, err := s.Repair(ctx)
		say(err, "done repaired")
	case "batch": // until standard input ends
		b, err := s.Begin(ctx)
		say(err, "begun")
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		for _, content := range (set{"old0", 4, 700}).objects() {
			_, err := b.Put(content)
			say(err, "put")
		}
		_, err = b.Commit(ctx, set{"old0", 4, 700}.record())
		say(err, "done old0")
	}
	return 0
}

// limitVar is how long a file that the other process writes may become: what goes beyond it is written short.
const limitVar = "PACK_TEST_LIMIT"

func limitFiles(size string) error {
	if size == "" {
		return nil
	}
	limit, err := strconv.ParseUint(size, 10, 64)
	if err != nil {
		return err
	}
	signal.Ignore(syscall.SIGXFSZ)
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit})
}

// another returns the command of another process.
func another(t *testing.T, dir, do string, env ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	cmd.Env = append(append(os.Environ(), doVar+"="+dir+" "+do), env...)
	cmd.Stderr = os.Stderr
	return cmd
}

// report is what another process said.
type report struct {
	done   []string
	errors []string
	killed bool
}

func tell(t *testing.T, cmd *exec.Cmd) report {
	t.Helper()
	var r report
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		status, _ := exit.Sys().(syscall.WaitStatus)
		r.killed = status.Signaled()
	} else if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "done":
			r.done = append(r.done, rest)
		case "error":
			r.errors = append(r.errors, rest)
		}
	}
	return r
}

// open opens a store with small limits. At the test's end it is checked.
func open(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := openAt(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// fresh makes a store that holds the sets.
func fresh(t *testing.T, sets ...set) *Store {
	t.Helper()
	s := open(t, filepath.Join(t.TempDir(), "snapshots"))
	for _, c := range sets {
		must(t, c.commit(t.Context(), s))
	}
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// names returns the sets that a store lists, all of which must be complete.
func names(t testing.TB, s *Store) []string {
	t.Helper()
	commits, err := s.Commits()
	must(t, err)
	var list []string
	for _, commit := range commits {
		c, err := parseSet(commit.Content)
		must(t, err)
		must(t, c.complete(s))
		list = append(list, c.name)
	}
	return list
}

// sound checks that a store has no fault.
func sound(t testing.TB, s *Store) {
	t.Helper()
	faults, err := s.Check(t.Context())
	must(t, err)
	for _, f := range faults {
		t.Errorf("fault: %v", f)
	}
}

// works checks that a store is sound and can be worked with: opened, added to, pruned.
func works(t *testing.T, dir string, want ...string) {
	t.Helper()
	s, err := openAt(t.Context(), dir)
	must(t, err)
	defer s.Close()
	sound(t, s)
	list := names(t, s)
	for _, name := range want {
		if !slices.Contains(list, name) {
			t.Errorf("lost %s: %q", name, list)
		}
	}
	must(t, set{"after", 3, 900}.commit(t.Context(), s))
	if left, err := s.leftovers(); err != nil || len(left) > 0 {
		t.Errorf("left over: %q %v", left, err)
	}
	if got := names(t, s); !slices.Equal(got, append(list, "after")) {
		t.Errorf("%q, want %q and after", got, list)
	}
	_, err = keeping(t.Context(), s, func(name string) bool { return name != "after" })
	must(t, err)
	if got := names(t, s); !slices.Equal(got, list) {
		t.Errorf("%q, want %q", got, list)
	}
	sound(t, s)
}

func copyStore(t *testing.T, from string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	must(t, os.CopyFS(to, os.DirFS(from)))
	return to
}

func isDamage(err error) bool { return pawl.KindOf(err) == pawl.KindDamaged }

// packPaths returns the packs' files, the oldest first.
func packPaths(t testing.TB, dir string) []string {
	t.Helper()
	numbers, err := listPacks(dir)
	must(t, err)
	var paths []string
	for _, number := range numbers {
		paths = append(paths, filepath.Join(dir, packName(number)))
	}
	return paths
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	return data
}

func write(t testing.TB, path string, data []byte) {
	t.Helper()
	must(t, os.WriteFile(path, data, 0o600))
}
