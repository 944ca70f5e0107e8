package transfer_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/disk/disktest"
	"pawl/internal/project"
	"pawl/internal/transfer"
)

// takeOver takes a run over, as an engine does that nobody has confirmed anything to.
func takeOver(t *testing.T, p *project.Project, run pawl.RunID) error {
	t.Helper()
	return transfer.TakeOver(t.Context(), p, run, transfer.PushOptions{By: person, Version: "test"}, func(string) bool { return false })
}

// TestTakeOverWithoutItsRemote: the run is not taken over if the project no longer has the remote from which it was pulled, or has another one by that name.
func TestTakeOverWithoutItsRemote(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]string{"removed": "", "renamed": "backup", "replaced": "origin"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, _ := share(t)
			first, run := begun(t, url)
			_, err := push(t.Context(), first, run)
			must(t, err)
			second := newProject(t, url)
			_, err = pull(t.Context(), second, run)
			must(t, err)
			must(t, transfer.Remove(second, "origin"))
			if name == "replaced" {
				url, _ = share(t)
			}
			if again != "" {
				_, err = transfer.Add(t.Context(), second, again, url, false)
				must(t, err)
			}
			findings := transfer.Owners(t.Context(), second, run)
			if len(findings) != 1 || findings[0].Level != pawl.Bad || !strings.Contains(findings[0].What, "pulled") {
				t.Errorf("%+v", findings)
			}
			if err := takeOver(t, second, run); err == nil {
				t.Error("taken over")
			}
		})
	}
}

// TestInterruptedPullIsNoTakeOver: wherever a pull is interrupted, a run that the project then has is not continued here while another
// project continues it.
func TestInterruptedPullIsNoTakeOver(t *testing.T) {
	t.Parallel()
	url, _ := share(t)
	first, run := begun(t, url)
	_, err := push(t.Context(), first, run)
	must(t, err)
	calls := func(faults ...string) (p *project.Project, err error) {
		p = newProject(t, url)
		return p, another(p.Root, "pull "+string(run), faults...)
	}
	log := filepath.Join(t.TempDir(), "calls")
	_, err = calls(disktest.FaultVar+"=count", disktest.FaultLog+"="+log)
	must(t, err)
	data, err := os.ReadFile(log)
	must(t, err)
	there := 0
	for n := strings.Count(string(data), "\n"); n > 0; n-- {
		p, err := calls(disktest.FaultVar + "=die:" + strconv.Itoa(n))
		if err == nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(p.RunDir(run), "journal.jsonl")); err != nil {
			break // the calls before this one are no different
		}
		there++
		if findings := transfer.Owners(t.Context(), p, run); len(findings) != 1 {
			t.Errorf("died at call %d: %+v", n, findings)
		}
	}
	if there == 0 {
		t.Error("no pull died after the run was there")
	}
}
