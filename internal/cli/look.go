package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/project"
	"pawl/internal/runs"
)

func (a *app) watchCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "watch [RUN]",
		Short: "Show a run live, whoever carries it on",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			p, r, err := a.look(c.Context(), optional(args, 0))
			if err != nil {
				return err
			}
			defer r.Log.Close()
			soft, _, release := interrupts(c.Context(), func() {})
			defer release()
			return a.watch(soft, p, r)
		},
	}
}

// watch shows a run until it has ended, has stopped for a person, or the user has seen enough.
func (a *app) watch(ctx context.Context, p *project.Project, r *runs.Run) error {
	show := newLive(a, p)
	show.begin(r.State, r.Plan)
	changed := r.Log.Watch(ctx)
	for {
		news, err := r.Log.NewEvents()
		for _, e := range news {
			r.State.Apply(e)
			show.notify(e)
		}
		holder, alive := p.EngineHolder()
		if err == nil && (!alive || holder.Run != r.State.Run) && len(r.State.Live()) == 0 {
			err = outcomeOf(r.State)
			show.end(r.State, r.Plan, err)
			return err
		}
		if err != nil {
			show.end(r.State, r.Plan, err)
			return err
		}
		select {
		case <-changed:
		case <-time.After(time.Second):
		case <-ctx.Done():
			show.end(r.State, r.Plan, ctx.Err())
			return nil
		}
	}
}

// outcomeOf says how a run that nobody works on stands, as an engine would.
func outcomeOf(s *pawl.State) error {
	switch s.StatusNow(false) {
	case pawl.StatusCompleted, pawl.StatusActive: // a session is active without an engine
		return nil
	case pawl.StatusFailed:
		return &pawl.Error{Kind: pawl.KindRunFailed, Err: errors.New("run failed: " + s.Why), Hint: "pawl status"}
	case pawl.StatusWaiting:
		return &pawl.Error{Kind: pawl.KindAtGate, Err: errors.New("run waits for a person"), Hint: "pawl gates"}
	}
	return &pawl.Error{Kind: pawl.KindAtGate, Err: errors.New("no engine works on this run"), Hint: "pawl resume " + string(s.Run)}
}

func (a *app) outputCommand() *cobra.Command {
	var run, item string
	var follow, stderr bool
	var attempt int
	c := &cobra.Command{
		Use:   "output STEP",
		Short: "Show what a step printed",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			p, r, err := a.look(c.Context(), run)
			if err != nil {
				return err
			}
			defer r.Log.Close()
			ref := pawl.AttemptRef{Step: pawl.StepID(args[0]), Item: pawl.ItemID(item), Attempt: attempt}
			if item != "" {
				ref.Item = pawl.ItemIDOf(item)
			}
			path, err := outputPath(p, r, ref, stderr)
			if err != nil {
				return err
			}
			soft, _, release := interrupts(c.Context(), func() {})
			defer release()
			return a.copyOutput(soft, path, follow)
		},
	}
	c.Flags().StringVar(&run, "run", "", "of this run (default: the current one)")
	c.Flags().StringVar(&item, "item", "", "of this item")
	c.Flags().IntVar(&attempt, "attempt", 0, "of this attempt (default: the newest)")
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on until the attempt is over")
	c.Flags().BoolVar(&stderr, "stderr", false, "standard error instead of standard output")
	return c
}

func outputPath(p *project.Project, r *runs.Run, ref pawl.AttemptRef, stderr bool) (string, error) {
	step := r.Plan.Step(ref.Step)
	if step == nil {
		return "", usageError("pawl status", "no step %s in this run's plan", ref.Step)
	}
	if step.Foreach != nil && ref.Item == "" {
		return "", usageError(fmt.Sprintf("pawl output %s --item VALUE", ref.Step), "step %s has a work list: name the item", ref.Step)
	}
	if ref.Attempt == 0 {
		newest, err := newestAttempt(filepath.Dir(p.AttemptDir(ref, r.State.Run)))
		if err != nil {
			return "", usageError("pawl status", "%s has not been started", ref.Name())
		}
		ref.Attempt = newest
	}
	name := pawl.OutFile
	if stderr {
		name = pawl.ErrFile
	}
	return filepath.Join(p.AttemptDir(ref, r.State.Run), name), nil
}

// newestAttempt returns the highest number of the attempts' folders in dir.
func newestAttempt(dir string) (int, error) {
	entries, err := os.ReadDir(dir)
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

// copyOutput prints a file, leaving out the holes where output was cut, and with follow goes on until the attempt's
// supervisor is gone.
func (a *app) copyOutput(ctx context.Context, path string, follow bool) error {
	f, err := os.Open(path)
	if err != nil {
		return usageError("pawl status", "no output yet: %v", err)
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 64<<10)
	for {
		live := follow && attemptLives(filepath.Dir(path))
		if err := copyText(a.Out, in); err != nil {
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

// copyText copies without NUL bytes, which stand where output was cut.
func copyText(w io.Writer, in *bufio.Reader) error {
	buffer := make([]byte, 32<<10)
	for {
		n, err := in.Read(buffer)
		if n > 0 {
			if _, err := w.Write(withoutNUL(buffer[:n])); err != nil {
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

func withoutNUL(data []byte) []byte {
	kept := data[:0]
	for _, b := range data {
		if b != 0 {
			kept = append(kept, b)
		}
	}
	return kept
}

func (a *app) logCommand() *cobra.Command {
	var last int
	var graph, all bool
	c := a.reading("log [RUN]", "Show the journal", func(_ context.Context, _ *project.Project, r *runs.Run) error {
		after := pawl.Seq(0)
		if last > 0 {
			after = max(0, r.State.Seq-pawl.Seq(last))
		}
		return a.printLog(r, after)
	})
	events := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if graph {
			return a.graph(c.Context(), optional(args, 0), all)
		}
		if all {
			return usageError("pawl log --graph --all", "--all goes with --graph")
		}
		return events(c, args)
	}
	c.Flags().IntVarP(&last, "last", "n", 0, "only this many events")
	c.Flags().BoolVar(&graph, "graph", false, "draw the checkpoints, newest first, with forks and restores")
	c.Flags().BoolVar(&all, "all", false, "with --graph: of all runs, not only of those related by forks")
	return a.jsonFlag(c)
}

func (a *app) printLog(r *runs.Run, after pawl.Seq) error {
	out := bufio.NewWriter(a.Out)
	for e, err := range r.Log.Events(after) {
		if err != nil {
			return errors.Join(err, out.Flush())
		}
		if a.json {
			if err := printLine(out, e); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(out, "%6d  %s  %-10s %-18s %s\n", e.Seq, e.Time.UTC().Format("2006-01-02 15:04:05.000"), e.By.Kind, e.Type, e.Data)
	}
	return out.Flush()
}
