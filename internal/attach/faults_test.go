package attach

import (
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/disk/disktest"
)

// The test binary is also the process that dies: ATTACH_TEST_DO says what it does, where ATTACH_TEST_AT says.
func TestMain(m *testing.M) {
	disktest.Inject()
	do := strings.Fields(os.Getenv("ATTACH_TEST_DO"))
	if len(do) == 0 {
		os.Exit(m.Run())
	}
	base := os.Getenv("ATTACH_TEST_AT")
	setup := Setup{
		Root: filepath.Join(base, "project"), Home: filepath.Join(base, "home"), State: filepath.Join(base, "state"), Data: filepath.Join(base, "state", "trusted", "0"),
		Pawl: os.Getenv("ATTACH_TEST_PAWL"), Env: func(string) string { return "" },
	}
	prepare := map[string]func(string, Scope, Setup) (*Edits, error){"attach": Attach, "move": Attach, "detach": Detach}[do[0]]
	edits, err := prepare(do[1], Scope(do[2]), setup)
	if err == nil {
		err = edits.Apply()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// TestDiesAnywhere kills attaching and detaching, or makes one of their calls fail, at the calls that change the disk. Each file is
// then the old or the new one. Attaching again completes the work, and detaching restores every byte and leaves nothing behind.
func TestDiesAnywhere(t *testing.T) {
	t.Parallel()
	for i, c := range []struct {
		agent string
		scope Scope
		file  string // of the shapes; it comes first, so that something is there to be kept
		path  string
	}{
		{"claude", Project, "claude-local.json", ".claude/settings.local.json"},
		{"codex", User, "codex-config.toml", ".codex/config.toml"},
		{"opencode", Project, "opencode.jsonc", "opencode.jsonc"},
		{"copilot", Project, "copilot-mcp.json", ".github/mcp.json"},
	} {
		for _, do := range []string{"attach", "move", "detach"} {
			for kind, fault := range []string{"die", "ENOSPC", "EIO"} {
				t.Run(c.agent+"/"+do+"/"+fault, func(t *testing.T) {
					t.Parallel()
					data, err := os.ReadFile(filepath.Join("testdata", "settings", c.file))
					if err != nil {
						t.Fatal(err)
					}
					s := sweep{agent: c.agent, scope: c.scope, path: c.path, text: string(data), do: do}
					last := 0
					for n := range disktest.FaultPoints(3*(i%2)+kind, 6, math.MaxInt) {
						if !s.hit(t, fmt.Sprintf("%s:%d", fault, n)) {
							break
						}
						last = n
					}
					if last < 6 {
						t.Errorf("the last call that was hit is %d", last)
					}
				})
			}
		}
	}
}

// sweep is an edit that is repeated, each time in a new world and with another fault.
type sweep struct {
	agent      string
	scope      Scope
	path, text string
	do         string
}

// hit makes the edit with the fault, and reports whether the fault occurred.
func (s sweep) hit(t *testing.T, fault string) bool {
	w := newWorld(t)
	path := filepath.Join(map[Scope]string{Project: w.Root, User: w.Home}[s.scope], s.path)
	w.write(path, s.text)
	before := w.tree()
	w.attach(s.agent, s.scope)
	after := w.tree()
	switch s.do {
	case "attach":
		w.detach(s.agent, s.scope)
	case "move": // pawl is elsewhere now
		w.Pawl += "-new"
		w.attach(s.agent, s.scope)
		after = w.tree()
		w.detach(s.agent, s.scope)
		w.Pawl = strings.TrimSuffix(w.Pawl, "-new")
		w.attach(s.agent, s.scope)
		w.Pawl += "-new"
	}
	old := w.read(path)
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "ATTACH_TEST_DO="+s.do+" "+s.agent+" "+string(s.scope), "ATTACH_TEST_AT="+filepath.Dir(w.Root), "ATTACH_TEST_PAWL="+w.Pawl, disktest.FaultVar+"="+fault)
	output, err := cmd.CombinedOutput()
	if err == nil {
		return false
	}
	if got := w.read(path); got != s.text && got != old && !strings.HasSuffix(after[strings.TrimPrefix(path, filepath.Dir(w.Root)+"/")], " "+got) {
		t.Errorf("%s: the file is neither the old nor the new one:\n%s", fault, got)
	}
	if !strings.HasPrefix(fault, "die") && !strings.Contains(string(output), "no space left") && !strings.Contains(string(output), "input/output error") {
		t.Errorf("%s: %s", fault, output)
	}
	w.again(fault, s, before, after)
	return true
}

// again checks that both deeds can be done now, and that each ends as it would have without the fault.
func (w *world) again(fault string, s sweep, before, after map[string]string) {
	w.Helper()
	if s.do != "detach" {
		w.attach(s.agent, s.scope)
		if now := w.tree(); !maps.Equal(now, after) {
			w.Errorf("%s: attached again, it is not as without the fault", fault)
			w.same(after)
		}
	}
	w.detach(s.agent, s.scope)
	if now := w.tree(); !maps.Equal(now, before) {
		w.Errorf("%s: detached, it is not as before", fault)
		w.same(before)
	}
}
