package outputview

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/disk"
	"pawl/internal/project"
	"pawl/internal/redact"
	"pawl/internal/runs"
)

// Options say what is shown of an attempt's output.
type Options struct {
	Stderr bool      // standard error instead of standard output
	Raw    bool      // with secrets
	Notes  io.Writer // for what is not output, such as that Follow waits
}

// name returns the name of the file of an attempt.
func (o Options) name() string {
	if o.Stderr {
		return pawl.ErrFile
	}
	return pawl.OutFile
}

// stream returns the name of what the file has, for people.
func (o Options) stream() string {
	if o.Stderr {
		return "standard error"
	}
	return "standard output; --stderr shows standard error"
}

// Follow prints the output of a step or item while it grows, through all of its attempts, until the step or item has ended; if ref names
// an attempt, only until that has ended. Of a foreach step without an item it prints the output of all items that run or, once the
// step has ended, of all items. It waits for a step that has not started, as long as an engine works
// on the run. It reads only: when ctx ends, the step continues.
func Follow(ctx context.Context, w io.Writer, p *project.Project, r *runs.Run, ref pawl.AttemptRef, o Options) error {
	step := r.Plan.Step(ref.Step)
	if step == nil || step.Foreach == nil && ref.Item != "" || ref.Attempt != 0 {
		if _, err := Path(p, r, ref, o); err != nil {
			return err
		}
	}
	f := &follower{project: p, run: r, ref: ref, options: o, out: layout.Output(w), many: step.Foreach != nil && ref.Item == ""}
	if err := f.begin(); err != nil {
		return err
	}
	changed := r.Log.Watch(ctx)
	for {
		over, err := f.poll()
		if over || err != nil {
			return err
		}
		pause := time.Second
		if len(f.attempts) > 0 {
			pause = 100 * time.Millisecond
		}
		select {
		case <-changed:
		case <-time.After(pause):
		case <-ctx.Done():
			return f.flush()
		}
	}
}

// follower follows the attempts at a step or item.
type follower struct {
	project  *project.Project
	run      *runs.Run
	ref      pawl.AttemptRef
	options  Options
	out      io.Writer
	many     bool // items of a foreach step
	attempts []*followed
	last     pawl.AttemptRef // whose output was printed last; zero: none was
	values   []string        // see listed
}

// followed is an attempt whose output is printed.
type followed struct {
	*follower
	ref    pawl.AttemptRef
	offset int64
	clean  *redact.Writer // nil: unchanged
}

// begin starts with the attempts that run or, of a step or item that has ended, the newest one.
func (f *follower) begin() error {
	if f.ref.Attempt != 0 {
		f.attempts = append(f.attempts, f.follow(f.ref))
		return nil
	}
	for _, live := range f.run.State.Live() {
		f.add(live.AttemptRef)
	}
	if len(f.attempts) > 0 {
		return nil
	}
	if newest, err := newestAttempt(filepath.Dir(f.project.AttemptDir(f.ref, f.run.State.Run))); err == nil && !f.many {
		f.attempts = append(f.attempts, f.follow(pawl.AttemptRef{Step: f.ref.Step, Item: f.ref.Item, Attempt: newest}))
		return nil
	}
	switch {
	case !f.ended() && f.engineWorks():
		_, err := fmt.Fprintf(f.options.Notes, "pawl: note: waiting for step %s to start\n", f.ref.Step)
		return err
	case f.many && f.ended():
		return f.copyEnded()
	}
	return usageError(cmp.Or(runs.ContinueCommand(f.run.State), "pawl status"), "step %s is not running, and pawl is not working on run %s", f.ref.Name(), f.run.State.Run)
}

// copyEnded prints the output of the newest attempt at each item of a foreach step that has ended.
func (f *follower) copyEnded() error {
	st := f.run.State.Steps[f.ref.Step]
	if st == nil || st.Items == nil {
		return notStarted(f.run, f.ref)
	}
	none := true
	for i, value := range f.listed(st.Items) {
		ref := pawl.AttemptRef{Step: f.ref.Step, Item: pawl.ItemIDOf(value), Index: i}
		newest, err := newestAttempt(filepath.Dir(f.project.AttemptDir(ref, f.run.State.Run)))
		if err != nil {
			continue // it could not start, or its result is from another run
		}
		ref.Attempt, none = newest, false
		a := f.follow(ref)
		if err := errors.Join(a.copyNew(), a.flush()); err != nil {
			return err
		}
	}
	if none {
		return usageError("pawl status", "no item of step %s has output in this run", f.ref.Step)
	}
	return nil
}

// add follows an attempt, if it is at the step or item.
func (f *follower) add(ref pawl.AttemptRef) {
	if ref.Step == f.ref.Step && (f.ref.Item == "" || ref.Item == f.ref.Item) && f.ref.Attempt == 0 {
		f.attempts = append(f.attempts, f.follow(ref))
	}
}

func (f *follower) follow(ref pawl.AttemptRef) *followed {
	a := &followed{follower: f, ref: ref}
	if !f.options.Raw {
		a.clean = redact.OfProcess().Writer(sink{a})
	}
	return a
}

// poll prints what is new. It reports whether the step or item has ended.
func (f *follower) poll() (over bool, err error) {
	engine := f.engineWorks() // before the events are read: what it has done is then journaled
	events, err := f.run.Log.NewEvents()
	for _, e := range events {
		f.run.State.Apply(e)
		if p, err := e.Payload(); err == nil {
			if started, ok := p.(pawl.AttemptStarted); ok {
				f.add(started.AttemptRef)
			}
		}
	}
	if err != nil {
		return false, err
	}
	live := f.run.State.Live()
	f.attempts = slices.DeleteFunc(f.attempts, func(a *followed) bool {
		running := engine || runs.AttemptAlive(f.project.AttemptDir(a.ref, f.run.State.Run))
		running = running && slices.ContainsFunc(live, func(l *pawl.AttemptState) bool { return l.Name() == a.ref.Name() && l.Attempt == a.ref.Attempt })
		err = errors.Join(err, a.copyNew())
		if !running {
			err = errors.Join(err, a.flush())
		}
		return !running
	})
	return len(f.attempts) == 0 && (!engine || f.ref.Attempt != 0 || f.ended()), err
}

// ended reports whether the step or item has ended.
func (f *follower) ended() bool {
	st := f.run.State.Steps[f.ref.Step]
	switch {
	case f.run.State.Ended() || st.Finished():
		return true
	case st == nil:
		return false
	case st.Status == pawl.FailedForGood || st.Status == pawl.AwaitsReview:
		return true
	case f.ref.Item == "" || st.Items == nil:
		return false
	}
	index := f.itemIndex(st.Items)
	_, failed := st.Items.Failed[index]
	return index >= 0 && (failed || st.Items.Done.At(index) != 0)
}

// itemIndex returns the index of the item in the step's list; -1 if it is not there.
func (f *follower) itemIndex(items *pawl.ItemsState) int {
	return slices.IndexFunc(f.listed(items), func(value string) bool { return pawl.ItemIDOf(value) == f.ref.Item })
}

// listed returns the values of the step's items, as far as they are known.
func (f *follower) listed(items *pawl.ItemsState) []string {
	if len(f.values) != items.Total {
		f.values, _ = runs.ListedValues(f.run.Log, items) // without them, items have ids
	}
	return f.values
}

// nameOf names what an attempt works on: the step, or the step and the value of the item.
func (f *follower) nameOf(ref pawl.AttemptRef) string {
	if st := f.run.State.Steps[ref.Step]; ref.Item != "" && st != nil && st.Items != nil {
		if values := f.listed(st.Items); ref.Index < len(values) && pawl.ItemIDOf(values[ref.Index]) == ref.Item {
			return string(ref.Step) + "/" + layout.OneLine(values[ref.Index])
		}
	}
	return ref.Name()
}

// engineWorks reports whether an engine works on the run.
func (f *follower) engineWorks() bool {
	holder, alive := f.project.EngineHolder()
	return alive && holder.Run == f.run.State.Run
}

func (f *follower) flush() (err error) {
	for _, a := range f.attempts {
		err = errors.Join(err, a.flush())
	}
	return err
}

func (a *followed) flush() error {
	if a.clean == nil {
		return nil
	}
	return a.clean.Flush()
}

// copyNew prints what was added since the last call.
func (a *followed) copyNew() error {
	f, err := disk.Open(filepath.Join(a.project.AttemptDir(a.ref, a.run.State.Run), a.options.name()))
	if err != nil {
		return nil // not created yet
	}
	defer f.Close()
	var to io.Writer = sink{a}
	if a.clean != nil {
		to = a.clean
	}
	n, err := io.Copy(withoutNUL{to}, io.NewSectionReader(f, a.offset, 1<<62))
	a.offset += n
	return err
}

// sink prints the output of an attempt, after a line that names the attempt if that of another one was printed before.
type sink struct{ *followed }

func (s sink) Write(data []byte) (int, error) {
	if len(data) > 0 && s.last != s.ref {
		if s.many || s.last != (pawl.AttemptRef{}) {
			fmt.Fprintf(s.out, "==> %s, attempt %d <==\n", layout.Printable(s.nameOf(s.ref)), s.ref.Attempt)
		}
		s.last = s.ref
	}
	return s.out.Write(data)
}

// withoutNUL drops NUL bytes, which fill the hole where output was dropped.
type withoutNUL struct{ to io.Writer }

func (w withoutNUL) Write(data []byte) (int, error) {
	if _, err := w.to.Write(layout.WithoutNUL(slices.Clone(data))); err != nil {
		return 0, err
	}
	return len(data), nil
}
