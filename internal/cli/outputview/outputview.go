// Package outputview prints the captured output of an attempt.
package outputview

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/disk"
	"pawl/internal/project"
	"pawl/internal/redact"
	"pawl/internal/runs"
)

// Path returns the path of the output of an attempt, by default the newest one.
func Path(p *project.Project, r *runs.Run, ref pawl.AttemptRef, stderr bool) (string, error) {
	step := r.Plan.Step(ref.Step)
	if step == nil {
		return "", usageError("pawl status", "unknown step %s: the plan of this run has no such step", ref.Step)
	}
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
		return "", usageError("pawl status", "step %s has not started", ref.Name())
	}
	if ref.Attempt > newest {
		return "", usageError(fmt.Sprintf("pawl output %s --attempt %d", ref.Step, newest), "step %s has %s", ref.Name(), layout.Count(newest, "attempt"))
	}
	ref.Attempt = cmp.Or(ref.Attempt, newest)
	name := pawl.OutFile
	if stderr {
		name = pawl.ErrFile
	}
	return filepath.Join(p.AttemptDir(ref, r.State.Run), name), nil
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

// Copy prints an output file, redacted unless raw. With follow it continues until the attempt's supervisor ends.
func Copy(ctx context.Context, w io.Writer, path string, follow, raw bool) (err error) {
	out := layout.Output(w)
	if !raw {
		clean := redact.OfProcess().Writer(out)
		defer func() { err = errors.Join(err, clean.Flush()) }()
		out = clean
	}
	f, err := disk.Open(path)
	if err != nil {
		return usageError("pawl status", "no output yet: %v", err)
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 64<<10)
	for {
		live := follow && runs.AttemptAlive(filepath.Dir(path))
		if err := copyText(out, in); err != nil {
			return err
		}
		if !live {
			return nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return nil
		}
	}
}

// copyText copies without NUL bytes, which fill the hole where output was dropped.
func copyText(w io.Writer, in *bufio.Reader) error {
	buffer := make([]byte, 32<<10)
	for {
		n, err := in.Read(buffer)
		if n > 0 {
			if _, err := w.Write(layout.WithoutNUL(buffer[:n])); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func usageError(hint, format string, args ...any) error {
	return &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf(format, args...), Hint: hint}
}
