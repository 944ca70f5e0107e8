package engine_test

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"pawl/internal/engine/enginetest"
	"pawl/internal/supervise"
)

func TestMain(m *testing.M) { os.Exit(enginetest.Main(m)) }

// contains reports whether a text has all of these in it.
func contains(text string, all ...string) bool {
	for _, one := range all {
		if !strings.Contains(text, one) {
			return false
		}
	}
	return true
}

// stop has the supervisor of an attempt stand still, as a frozen process does.
func stop(p *enginetest.Project, dir string) {
	p.Helper()
	status, err := supervise.Probe(dir)
	p.Check(err)
	p.Check(syscall.Kill(status.Begun.Supervisor.PID, syscall.SIGSTOP))
}

func removeFile(p *enginetest.Project, name string) error { return os.Remove(p.Path(name)) }

// killEngine kills the engine process that holds the project.
func killEngine(p *enginetest.Project) {
	p.Helper()
	holder, alive := p.EngineHolder()
	if !alive || holder.PID == os.Getpid() {
		p.Fatalf("no engine to kill: %+v", holder)
	}
	p.Check(syscall.Kill(holder.PID, syscall.SIGKILL))
}

// loseUndo kills the supervisor of the undo that runs.
func loseUndo(p *enginetest.Project) {
	p.Helper()
	dir := p.UndoDir(*p.State().Rollback.Undoing, p.Run)
	p.Check(supervise.Kill(dir))
	p.Check(supervise.Attach(dir).Wait(p.Context()))
}

// wantLines fails the test if the lines of the ledger, sorted, are others.
func wantLines(p *enginetest.Project, want string) {
	p.Helper()
	lines := strings.Fields(p.Text("ledger.txt"))
	slices.Sort(lines)
	if got := strings.Join(lines, " "); got != want {
		p.Errorf("ledger %s, want %s; events %v", got, want, p.Story())
	}
}
