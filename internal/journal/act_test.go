package journal_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"pawl"
	"pawl/internal/journal"
)

// actVar makes the test binary another process that writes to a journal: "<folder> <name> <batches>".
const actVar = "PAWL_TEST_ACT"

// act appends batches of two events, keeps blobs and caches the state, and says on standard output what was
// acknowledged. It goes on after errors, but for a journal that gave up.
func act() int {
	var folder, name string
	var batches int
	if _, err := fmt.Sscan(os.Getenv(actVar), &folder, &name, &batches); err != nil {
		return 2
	}
	if size, err := strconv.ParseInt(os.Getenv(segmentVar), 10, 64); err == nil {
		journal.SetSegmentSize(size)
	}
	if os.Getenv(addVar) != "" {
		return addAll(folder, name, batches)
	}
	if os.Getenv(commitsVar) != "" {
		return commitAll(folder, name, batches)
	}
	log, err := journal.Open(folder, runID)
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	defer log.Close()
	state, err := log.State(context.Background())
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	if err := limitFiles(os.Getenv(limitVar)); err != nil {
		fmt.Println("error", err)
		return 1
	}
	for b := range batches {
		text := name + "." + strconv.Itoa(b)
		sha, err := log.PutBlob([]byte(text))
		if err != nil {
			fmt.Println("error", err)
			continue
		}
		fmt.Println("blob", sha)
		seq, err := appendTwo(log, text)
		if err != nil {
			fmt.Println("error", err)
			continue
		}
		fmt.Println("done", seq, text)
		news, err := log.NewEvents()
		if err != nil {
			fmt.Println("error", err)
			return 1
		}
		for _, e := range news {
			state.Apply(e)
		}
		if err := log.SaveState(state); err != nil {
			fmt.Println("error", err)
		}
	}
	return 0
}

// laterVar makes an actor append each batch in two parts, which share a sync.
const laterVar = "PAWL_TEST_LATER"

func appendTwo(log *journal.Log, text string) (pawl.Seq, error) {
	first, second := textEvent(text+".a"), textEvent(text+".b")
	if os.Getenv(laterVar) == "" {
		return log.Append(context.Background(), 0, first, second)
	}
	if _, err := log.AppendLater(context.Background(), 0, first); err != nil {
		return 0, err
	}
	return log.Append(context.Background(), 0, second)
}

// addVar makes an actor append as hooks do: each batch with Add.
const addVar = "PAWL_TEST_ADD"

func addAll(folder, name string, batches int) int {
	for b := range batches {
		text := name + "." + strconv.Itoa(b)
		if err := journal.Add(context.Background(), folder, runID, textEvent(text+".a"), textEvent(text+".b")); err != nil {
			fmt.Println("error", err)
			continue
		}
		fmt.Println("done", 0, text)
	}
	return 0
}

// segmentVar is the size at which an actor seals segments.
const segmentVar = "PAWL_TEST_SEGMENT"

// limitVar is how long a file that an actor writes may become: what goes beyond it is written short, and then fails.
const limitVar = "PAWL_TEST_LIMIT"

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

func textEvent(text string) pawl.Event {
	e, err := pawl.NewEvent(pawl.Author{Kind: pawl.ByHook}, pawl.MemoryLearned{Memory: pawl.Memory{Text: text}})
	if err != nil {
		panic(err)
	}
	return e
}

// actor is another process that writes to a journal.
func actor(t *testing.T, folder, name string, batches int, env ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	cmd.Env = append(append(os.Environ(), fmt.Sprintf("%s=%s %s %d", actVar, folder, name, batches)), env...)
	cmd.Stderr = os.Stderr
	return cmd
}

// report is what an actor said.
type report struct {
	done   map[string]pawl.Seq // text of the batch → its last event
	blobs  []string
	errors []string
	killed bool
}

func runActor(t *testing.T, cmd *exec.Cmd) report {
	t.Helper()
	out, err := cmd.Output()
	r := report{done: map[string]pawl.Seq{}}
	if exit, ok := err.(*exec.ExitError); ok {
		status, _ := exit.Sys().(syscall.WaitStatus)
		r.killed = status.Signaled()
	} else if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(strings.NewReader(string(out)))
	for lines.Scan() {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		switch word {
		case "done":
			seq, text, _ := strings.Cut(rest, " ")
			n, err := strconv.Atoi(seq)
			if err != nil {
				t.Fatal(err)
			}
			r.done[text] = pawl.Seq(n)
		case "blob":
			r.blobs = append(r.blobs, rest)
		case "error":
			r.errors = append(r.errors, rest)
		}
	}
	return r
}
