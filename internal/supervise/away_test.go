//go:build linux

package supervise

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl"
)

// courier returns an attempt whose command is a courier's.
func courier(t *testing.T, script string) *attempt {
	t.Helper()
	a := sh(t, script)
	a.job.Script, a.job.Away = "exit 9", &pawl.Away{Queue: "q"}
	a.job.Timeout = 1 // of the script, not of the courier
	return a
}

// TestCourierIsStartedAgain: a courier that is killed is no end of the step. What it delivers is.
func TestCourierIsStartedAgain(t *testing.T) {
	a := courier(t, `test -e tried || { touch tried; kill -9 $$; }; cp delivery "$FOLDER/delivered.json"; exit 1`)
	a.job.Env = append(a.job.Env, "FOLDER="+a.dir, "PAWL_POSTGRES=secret")
	a.job.Checks = map[string]string{"without the database": `test -z "$PAWL_POSTGRES" && echo checked > checked`}
	code := 0
	a.no(Deliver(a.work, pawl.Exit{Token: a.job.Token, Reason: pawl.ReasonExited, Exit: &code, Seconds: 42, Killed: 2}))
	a.no(os.Rename(filepath.Join(a.work, DeliveredFile), filepath.Join(a.work, "delivery")))
	exit := a.run()
	if exit.Reason != pawl.ReasonExited || exit.Exit == nil || *exit.Exit != 0 || exit.Seconds != 42 || exit.Killed != 2 {
		t.Errorf("exit %+v; %s", exit, a.read(pawl.ErrFile))
	}
	if len(exit.Checks) != 1 || !pawl.Passed(exit.Checks) {
		t.Errorf("checks %+v", exit.Checks)
	}
}

// TestCourierWithoutResult: what ended on the worker is told as it was, and what another attempt delivered does not count.
func TestCourierWithoutResult(t *testing.T) {
	t.Run("timeout on the worker", func(t *testing.T) {
		a := courier(t, "true")
		a.no(os.MkdirAll(a.dir, 0o700))
		a.no(Deliver(a.dir, pawl.Exit{Token: a.job.Token, Reason: pawl.ReasonTimeout, Signal: "SIGINT", Why: "too long"}))
		if exit := a.run(); exit.Reason != pawl.ReasonTimeout || exit.Exit != nil || exit.Signal != "SIGINT" || exit.Why != "too long" {
			t.Errorf("exit %+v", exit)
		}
	})
	t.Run("canceled before there was a result", func(t *testing.T) {
		a := courier(t, "trap '' INT TERM; touch waits.pid; sleep 60")
		a.no(os.MkdirAll(a.dir, 0o700))
		code := 0
		a.no(Deliver(a.dir, pawl.Exit{Token: "another", Reason: pawl.ReasonExited, Exit: &code}))
		running := a.start()
		a.until("it waits", func() bool { _, err := os.Stat(filepath.Join(a.work, "waits.pid")); return err == nil })
		a.no(os.Remove(filepath.Join(a.work, "waits.pid")))
		a.no(RequestAbort(a.dir, pawl.Abort{Reason: pawl.ReasonAbort, Why: "enough"}))
		a.no(running.Wait(a.soon()))
		if exit := a.exit(); exit.Reason != pawl.ReasonAbort || !strings.Contains(exit.Why, "enough") {
			t.Errorf("exit %+v", exit)
		}
	})
}
