// Package complete lists the words that complete a command line: runs, steps, gates, checkpoints, items, parameters.
//
// It only looks: it takes no lock, writes nothing, and leaves out what it cannot read. It gives nothing from the files of an untrusted
// project, and of a run that was made elsewhere only its id. Words and descriptions have no control characters.
package complete

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/cli/userfile"
	"pawl/internal/oneline"
	"pawl/internal/planfile"
	"pawl/internal/project"
	"pawl/internal/redact"
	"pawl/internal/runs"
	"pawl/internal/supervise/process"
	"pawl/internal/transfer"
)

// Source is where the words come from. The zero Source has none.
type Source struct {
	Systems []string // whose files pawl reads and writes

	project *project.Project // nil: none that is trusted
	run     string           // the run that the command line names; empty: the current one

	untrusted bool // there is a project that is not trusted
}

// In returns the Source for a folder. run is what the command line names as the run.
func In(folder, run string, systems []string) Source {
	s := Source{run: run, Systems: systems}
	switch p, err := project.FindOrMain(folder); {
	case err == nil && p.Trust.Trusted():
		s.project = p
	case !errors.Is(err, pawl.ErrNoProject):
		s.untrusted = true
	}
	return s
}

// Maximum numbers, so that a completion stays fast and readable.
const (
	maxDescribed   = 20   // runs whose status is read
	maxRuns        = 200  // listed runs
	maxItems       = 500  // listed items
	maxEvents      = 5000 // events that are searched for checkpoints
	maxDescription = 60   // runes
)

// word returns a completion; none if the value cannot be one.
func word(value, description string) []string {
	if value == "" || layout.Visible(value) != value || strings.ContainsAny(value, "\n\t") {
		return nil
	}
	if description = oneline.Clip(redact.OfProcess().Text(description), maxDescription); description == "" {
		return []string{value}
	}
	return []string{value + "\t" + layout.Visible(description)}
}

// Remotes returns the names of the project's remotes.
func (s Source) Remotes() (words []string) {
	if s.project == nil {
		return nil
	}
	list, err := transfer.Remotes(s.project)
	if err != nil {
		return nil
	}
	for _, r := range list {
		words = append(words, word(r.Name, r.URL)...)
	}
	return words
}

// Runs returns the runs, newest first.
func (s Source) Runs(ctx context.Context) (words []string) {
	if s.project == nil {
		return nil
	}
	ids, err := runs.List(s.project)
	if err != nil {
		return nil
	}
	if len(ids) > 0 {
		words = word("latest", "the newest run")
	}
	for i, id := range ids[:min(len(ids), maxRuns)] {
		description := ""
		if i < maxDescribed {
			description = s.describe(ctx, id)
		}
		words = append(words, word(string(id), description)...)
	}
	return words
}

// describe describes a run that was made here.
func (s Source) describe(ctx context.Context, id pawl.RunID) string {
	r, err := s.open(ctx, id)
	if err != nil {
		return ""
	}
	defer r.Log.Close()
	text := fmt.Sprintf("%s, %d%%", r.State.StatusNow(s.holds(id)), r.State.Percent(r.Plan))
	if r.State.Goal != "" {
		text += ", " + r.State.Goal
	}
	return text
}

// holds reports whether the engine lock names a run. It does not test the lock.
func (s Source) holds(id pawl.RunID) bool {
	holder, err := s.project.LastHolder()
	if err != nil || holder.Run != id {
		return false
	}
	_, err = process.Find(holder.Process)
	return err == nil
}

// open opens a run that was made here.
func (s Source) open(ctx context.Context, id pawl.RunID) (*runs.Run, error) {
	if !runs.Claimed(s.project, id) {
		return nil, pawl.ErrNoRun
	}
	return runs.Glance(ctx, s.project, id)
}

// withRun calls list with the run that the command line means, and returns its words.
func (s Source) withRun(ctx context.Context, list func(*runs.Run) []string) []string {
	if s.project == nil {
		return nil
	}
	ids, err := runs.List(s.project)
	if err != nil {
		return nil
	}
	var first *runs.Run
	for _, id := range ids[:min(len(ids), maxDescribed)] {
		named := s.run != "" && s.run != "latest"
		if named && !strings.HasPrefix(string(id), s.run) {
			continue
		}
		r, err := s.open(ctx, id)
		if err != nil {
			continue
		}
		defer r.Log.Close()
		if s.run != "" || !r.State.Ended() && runs.IsPlanRun(r.State) { // as runs.FindRun chooses
			return list(r)
		}
		if first == nil {
			first = r
		}
	}
	if first == nil {
		return nil
	}
	return list(first)
}

// Steps returns the steps of the run.
func (s Source) Steps(ctx context.Context) []string {
	return s.withRun(ctx, func(r *runs.Run) (words []string) {
		for _, step := range r.Plan.Steps() {
			description := string(pawl.Pending)
			if st := r.State.Steps[step.ID]; st != nil {
				description = string(st.Status)
			}
			if step.Name != "" && step.Name != string(step.ID) {
				description += ", " + step.Name
			}
			words = append(words, word(string(step.ID), description)...)
		}
		return words
	})
}

// Items returns the items of a foreach step.
func (s Source) Items(ctx context.Context, step string) []string {
	return s.withRun(ctx, func(r *runs.Run) (words []string) {
		st := r.State.Steps[pawl.StepID(step)]
		if st == nil || st.Items == nil {
			return nil
		}
		values, err := runs.ListedValues(r.Log, st.Items)
		if err != nil {
			return nil
		}
		for i, value := range values {
			if len(words) == maxItems {
				break
			}
			words = append(words, word(value, itemStatus(st.Items, i))...)
		}
		return words
	})
}

func itemStatus(items *pawl.ItemsState, index int) string {
	switch _, failed := items.Failed[index]; {
	case items.Done.At(index) > 0:
		return "done"
	case failed:
		return "failed"
	}
	if _, skipped := items.Skipped[index]; skipped {
		return "skipped"
	}
	return "unfinished"
}

// Gates returns the open gates of the run, by id.
func (s Source) Gates(ctx context.Context) []string {
	return s.withRun(ctx, func(r *runs.Run) (words []string) {
		for _, g := range r.State.OpenGates() {
			words = append(words, word(string(g.ID), strings.TrimPrefix(string(g.Step)+": "+g.Ask, ": "))...)
		}
		return words
	})
}

// Options returns the options of an open gate, named by its id, the beginning of it, or its step.
func (s Source) Options(ctx context.Context, gate string) []string {
	return s.withRun(ctx, func(r *runs.Run) (words []string) {
		for _, g := range r.State.OpenGates() {
			if string(g.Step) != gate && !strings.HasPrefix(string(g.ID), gate) {
				continue
			}
			for _, option := range g.Options {
				words = append(words, word(option, "")...)
			}
		}
		return words
	})
}

// Blockers returns the numbers of the open blockers.
func (s Source) Blockers(ctx context.Context) []string {
	return s.withRun(ctx, func(r *runs.Run) (words []string) {
		for _, b := range r.State.OpenBlockers() {
			words = append(words, word(strconv.Itoa(b.ID), b.Text)...)
		}
		return words
	})
}

// Calls returns the numbers of the tool calls without an outcome.
func (s Source) Calls(ctx context.Context) []string {
	return s.withRun(ctx, func(r *runs.Run) (words []string) {
		for _, o := range r.State.Operations {
			words = append(words, word(strconv.FormatInt(int64(o.Seq), 10), o.Tool+" "+o.Summary)...)
		}
		return words
	})
}

// Checkpoints returns the newest checkpoints of the run.
func (s Source) Checkpoints(ctx context.Context) []string {
	return s.withRun(ctx, func(r *runs.Run) []string {
		var found []pawl.Checkpoint
		for e, err := range r.Log.Events(max(0, r.State.Seq-maxEvents)) {
			if err != nil {
				break
			}
			found = apply(found, e)
		}
		words := word("latest", "the newest checkpoint")
		if len(found) == 0 {
			return nil
		}
		for _, c := range slices.Backward(found) {
			text := fmt.Sprintf("%s %s %s", c.Time.UTC().Format(time.DateTime), c.Kind, pawl.AttemptRef{Step: c.Step, Item: c.Item}.Name())
			if c.Why != "" {
				text += ", " + c.Why
			}
			words = append(words, word(string(c.ID), strings.TrimSpace(text))...)
		}
		return words
	})
}

// apply adds the checkpoint of an event, or removes those that it prunes.
func apply(found []pawl.Checkpoint, e pawl.Event) []pawl.Checkpoint {
	var c *pawl.Checkpoint
	switch e.Type {
	case pawl.CheckpointSaved{}.Event(), pawl.StepDone{}.Event(), pawl.CheckpointsPruned{}.Event():
	default:
		return found
	}
	payload, err := e.Payload()
	if err != nil {
		return found
	}
	switch p := payload.(type) {
	case pawl.CheckpointSaved:
		c = &p.Checkpoint
	case pawl.StepDone:
		c = p.Save
	case pawl.CheckpointsPruned:
		return slices.DeleteFunc(found, func(c pawl.Checkpoint) bool { return slices.Contains(p.Checkpoints, c.ID) })
	}
	if c != nil && c.Unsaved() == "" {
		saved := *c
		saved.Time = e.Time
		found = append(found, saved)
	}
	return found
}

// Params returns the parameters of the run's plan, each with "=".
func (s Source) Params(ctx context.Context) []string {
	return s.withRun(ctx, func(r *runs.Run) []string { return paramsOf(r.Plan) })
}

// ParamsOf returns the parameters of a plan file, each with "=". Included files lie below root.
func (s Source) ParamsOf(root, path string) []string {
	if s.untrusted {
		return nil
	}
	data, err := userfile.Plan(path)
	if err != nil {
		return nil
	}
	l, err := planfile.Load(path, data, runs.Includes(root, path))
	if err != nil {
		return nil
	}
	return paramsOf(l.Plan)
}

func paramsOf(plan *pawl.Plan) (words []string) {
	for name, p := range plan.Params {
		words = append(words, word(name+"=", p.Description)...)
	}
	slices.Sort(words)
	return words
}
