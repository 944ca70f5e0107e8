// Package outputview prints the captured output of an attempt.
package outputview

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/disk"
	"pawl/internal/project"
	"pawl/internal/redact"
	"pawl/internal/runs"
)

// Path returns the path of the output of an attempt, by default the newest one.
func Path(p *project.Project, r *runs.Run, ref pawl.AttemptRef, o Options) (string, error) {
	if err := runs.CheckStep(r, ref.Step); err != nil {
		return "", err
	}
	step := r.Plan.Step(ref.Step)
	if step.Foreach != nil && ref.Item == "" {
		return "", usageError(fmt.Sprintf("pawl output %s --item VALUE", ref.Step), "step %s is a foreach step; name the item with --item", ref.Step)
	}
	if step.Foreach == nil && ref.Item != "" {
		return "", usageError(fmt.Sprintf("pawl output %s", ref.Step), "step %s has no items", ref.Step)
	}
	if st := r.State.Steps[ref.Step]; st != nil && st.From != nil && st.Retries.Live == nil && step.Foreach == nil {
		return "", usageError(fmt.Sprintf("pawl output %s --run %s", ref.Step, st.From.Run), "step %s did not run: its result is from run %s", ref.Step, st.From.Run)
	}
	newest, err := newestAttempt(filepath.Dir(p.AttemptDir(ref, r.State.Run)))
	if err != nil {
		return "", notStarted(r, ref)
	}
	if ref.Attempt > newest {
		return "", usageError(fmt.Sprintf("pawl output %s --attempt %d", ref.Step, newest), "step %s has %s", ref.Name(), layout.Count(newest, "attempt"))
	}
	ref.Attempt = cmp.Or(ref.Attempt, newest)
	return filepath.Join(p.AttemptDir(ref, r.State.Run), o.name()), nil
}

// notStarted says that there is no output, and of an item that could not start, why.
func notStarted(r *runs.Run, ref pawl.AttemptRef) error {
	if st := r.State.Steps[ref.Step]; st != nil && st.Items != nil {
		for _, f := range st.Items.Failed {
			if f.Item == ref.Item {
				return usageError("pawl status", "%s has no output: %s", f.Title(), f.Why)
			}
		}
	}
	return usageError("pawl status", "step %s has not started", ref.Name())
}

// newestAttempt returns the highest attempt number of the folders in dir.
func newestAttempt(dir string) (int, error) {
	entries, err := disk.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	newest := 0
	for _, e := range entries {
		var n int
		if _, err := fmt.Sscanf(e.Name(), "%d", &n); err == nil && e.IsDir() {
			newest = max(newest, n)
		}
	}
	if newest == 0 {
		return 0, os.ErrNotExist
	}
	return newest, nil
}

// Copy prints an output file, redacted unless raw.
func Copy(w io.Writer, path string, o Options) (err error) {
	out := layout.Output(w)
	if !o.Raw {
		clean := redact.OfProcess().Writer(out)
		defer func() { err = errors.Join(err, clean.Flush()) }()
		out = clean
	}
	f, err := disk.Open(path)
	if err != nil {
		return usageError("pawl status", "no output yet: %v", err)
	}
	defer f.Close()
	n, err := io.Copy(withoutNUL{out}, f)
	if err == nil && n == 0 && o.Notes != nil {
		fmt.Fprintf(o.Notes, "pawl: note: the attempt wrote nothing to %s\n", o.stream())
	}
	return err
}

func usageError(hint, format string, args ...any) error {
	return &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf(format, args...), Hint: hint}
}
