package cli_test

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
)

// TestUntrustedIsUnchanged revokes the trust in a project. Commands that only read write nothing there, and all others are refused
// before they print or ask anything.
func TestUntrustedIsUnchanged(t *testing.T) {
	t.Parallel()
	p := finished(t)
	p.write(".mcp.json", `{"mcpServers": {"pawl": {"command": "x"}}}`)
	p.ok("trust", "--revoke")
	before := p.times()
	for _, line := range []string{"status", "brief", "verify", "doctor", "memory", "log"} {
		p.pawl(strings.Fields(line)...)
	}
	for _, line := range []string{"detach claude --yes", "attach claude --dry-run", "import grid --dry-run", "approve x", "verify --repair", "learn x"} {
		if r := p.fails(pawl.KindDamaged, strings.Fields(line)...); r.out != "" {
			t.Errorf("%s printed %q", line, r.out)
		}
	}
	if diff := cmp.Diff(before, p.times()); diff != "" {
		t.Error(diff)
	}
}

// TestTrustShowsPlansAndMirrors shows, before it asks, which plans resume would execute and which files of other systems it would write.
func TestTrustShowsPlansAndMirrors(t *testing.T) {
	t.Parallel()
	p := finished(t)
	p.write("broken.yaml", "name: broken\nsteps:\n  - {id: a, run: exit 3}\n")
	p.pawl("run", "broken.yaml", "--mirror", "grid=map")
	p.pawl("run", "--", "false")
	p.ok("trust", "--revoke")
	r := p.fails(pawl.KindUsage, "trust")
	p.wants(r.out, "plan     broken.yaml, which that run executes\n  mirror   grid map, which that run writes\n", "plan     .pawl/runs/false-", "/plan.yaml, which that run executes\n")
	if n := strings.Count(r.out, "  plan "); n != 2 {
		t.Errorf("%d plans: a completed run executes none\n%s", n, r.out)
	}
}

// times returns when each file and folder changed.
func (p *place) times() map[string]string {
	p.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(p.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil {
			all[path] = info.ModTime().String()
		}
		return err
	})
	if err != nil {
		p.Fatal(err)
	}
	return all
}
