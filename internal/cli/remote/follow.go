package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/cli/logview"
	"pawl/internal/cli/signals"
	"pawl/internal/cli/statusview"
	"pawl/internal/server/client"
)

// followEvery is how often a command that follows a run asks the server.
const followEvery = time.Second

// wait waits for the next question. It returns false when ctx ends.
func wait(ctx context.Context) bool {
	timer := time.NewTimer(followEvery)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// events prints the events of a run after one, of the last so many, and returns the number of the last one.
func (s *session) events(ctx context.Context, run client.Run, after pawl.Seq, last int) (pawl.Seq, error) {
	out, flush := layout.Buffered(s.Out)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	after, err := s.Events(ctx, run, after, last, func(e client.EventLine) error {
		if s.JSON {
			return enc.Encode(e.Event)
		}
		return logview.PrintText(out, e.Event, e.Text)
	})
	return after, errors.Join(err, flush())
}

// followEvents prints new events until the run has ended.
func (s *session) followEvents(ctx context.Context, run client.Run, after pawl.Seq) error {
	for {
		report, err := s.Status(ctx, run) // before the events are read: what the engine has done is then among them
		if err == nil {
			after, err = s.events(ctx, run, after, 0)
		}
		over := err != nil || ended(report) && report.Engine == nil
		if ctx.Err() != nil {
			return nil
		}
		if over || !wait(ctx) {
			return err
		}
	}
}

func ended(r statusview.Report) bool {
	return r.Status == pawl.StatusCompleted || r.Status == pawl.StatusFailed
}

// output prints the output of a step, or follows it.
func output(ctx context.Context, s *session, args []string) error {
	run, err := s.run(ctx, s.flag("run"))
	if err != nil {
		return err
	}
	attempt, err := strconv.Atoi(s.flag("attempt"))
	if err != nil {
		return err
	}
	o := client.Output{Step: pawl.StepID(args[0]), Item: s.flag("item"), Attempt: attempt, Stderr: s.flag("stderr") == "true"}
	if s.flag("follow") != "true" {
		_, _, err = s.Output(ctx, run, o, 0, layout.Output(s.Out))
		return err
	}
	soft, _, release := signals.Contexts(ctx)
	defer release()
	err = s.followOutput(soft, run, o)
	if soft.Err() != nil {
		return nil
	}
	return err
}

// followOutput prints the output of a step while it grows, through all its attempts, until the step has ended; or until one attempt has.
func (s *session) followOutput(ctx context.Context, run client.Run, o client.Output) error {
	only, printed, after, out := o.Attempt != 0, false, int64(0), layout.Output(s.Out)
	for waiting := false; ; {
		report, err := s.Status(ctx, run) // before the output is read: it then has all of an attempt that has ended
		if err != nil {
			return err
		}
		attempt, n, err := s.Output(ctx, run, o, after, out)
		switch missing := isMissing(err); {
		case missing && (report.Engine == nil || !known(report, o.Step)) || err != nil && !missing:
			return err
		case missing:
			if !waiting {
				fmt.Fprintf(s.Err, "pawl: note: waiting for step %s to start\n", o.Step)
			}
			waiting = true
		default:
			o.Attempt, after, printed = max(o.Attempt, attempt), after+n, true
		}
		if live, over := standing(report, o); printed && !live {
			if only || over || report.Engine == nil {
				return nil
			}
			if next := (client.Output{Step: o.Step, Item: o.Item, Attempt: o.Attempt + 1, Stderr: o.Stderr}); s.started(ctx, run, next) {
				fmt.Fprintf(out, "==> %s, attempt %d <==\n", layout.Printable(string(o.Step)), next.Attempt)
				o, after = next, 0
				continue
			}
		}
		if !wait(ctx) {
			return nil
		}
	}
}

// started reports whether an attempt has output.
func (s *session) started(ctx context.Context, run client.Run, o client.Output) bool {
	_, _, err := s.Output(ctx, run, o, 1<<40, io.Discard) // what comes after that
	return err == nil
}

func known(report statusview.Report, step pawl.StepID) bool {
	return slices.ContainsFunc(report.Steps, func(s statusview.Step) bool { return s.ID == step })
}

func isMissing(err error) bool {
	answer, ok := errors.AsType[*client.Error](err)
	return ok && answer.Status == http.StatusNotFound
}

// standing reports whether the attempt is live, and whether its step has ended.
func standing(report statusview.Report, o client.Output) (live, over bool) {
	over = ended(report)
	for _, step := range report.Steps {
		if step.ID != o.Step {
			continue
		}
		for _, l := range step.Live {
			live = live || l.Attempt == o.Attempt && (o.Item == "" || l.Item == pawl.ItemIDOf(o.Item))
		}
		switch step.Status {
		case pawl.Done, pawl.Skipped, pawl.FailedForGood, pawl.AwaitsReview:
			over = true
		}
	}
	return live, over
}
