package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// story is one test case, with its own place and model.
type story struct {
	kind  string
	name  string
	spot  spot
	cache string
	pawl  string
	tell  func(context.Context, *story) error

	place place
	model *model
	page  transcript
	found finding
	took  time.Duration
	err   error
}

// finding is the result of a story, for its line in the table.
type finding struct {
	verdict string   // on the operation in doubt, in the agent's brief
	process string   // what happened to the killed agent's command
	red     []string // the checks that failed
}

// stories runs the selected stories, and prints their results.
func (o options) stories(ctx context.Context, agents []agent, cache string, out io.Writer) error {
	if !o.open {
		if err := loopbackOnly(); err != nil {
			return err
		}
	}
	dir, err := os.MkdirTemp("", "pawl-clients-")
	if err != nil {
		return err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return err
	}
	var told []*story
	for _, s := range o.list(agents) {
		if ctx.Err() != nil {
			break
		}
		s.cache, s.pawl, s.place = cache, o.pawl, place{filepath.Join(dir, s.name)}
		s.carryOut(ctx)
		fmt.Fprintf(out, "%s: %s, %s\n", s.name, s.outcome(), s.took.Round(100*time.Millisecond))
		told = append(told, s)
		if o.transcripts != "" {
			s.err = errors.Join(s.err, s.page.write(filepath.Join(o.transcripts, s.name+".txt")))
		}
	}
	return o.conclude(dir, told, out)
}

// kinds are the kinds of stories.
func kinds() []string {
	list := []string{"alone", "typed", "recipes", "pairs", "refused", "delegated"}
	for _, where := range spots() {
		list = append(list, where.name)
	}
	return list
}

// list returns the selected stories.
func (o options) list(agents []agent) []*story {
	return slices.DeleteFunc(allStories(agents), func(s *story) bool { return !o.wants(s) })
}

// allStories are each agent alone, the recipes, and the pairs in all their variations.
func allStories(agents []agent) []*story {
	var list []*story
	for _, a := range agents {
		list = append(list, &story{kind: "alone", name: a.name, spot: root(), tell: func(ctx context.Context, s *story) error {
			return s.alone(ctx, a)
		}})
		if a.typing != nil {
			list = append(list, &story{kind: "typed", name: a.name + "-typed", spot: root(), tell: func(ctx context.Context, s *story) error {
				return s.typed(ctx, a)
			}})
		}
		if a.recipe {
			list = append(list, &story{kind: "recipes", name: a.name + "-recipe", spot: root(), tell: func(ctx context.Context, s *story) error {
				return s.recipe(ctx, a)
			}})
		}
	}
	for a, b := range pairs(agents) {
		list = append(list, storiesOf(a, b)...)
	}
	return list
}

// storiesOf are those of a pair.
func storiesOf(a, b agent) []*story {
	var list []*story
	add := func(kind, name string, where spot, tell func(s *story, ctx context.Context, a, b agent) error) {
		list = append(list, &story{kind: kind, name: name, spot: where, tell: func(ctx context.Context, s *story) error {
			return tell(s, ctx, a, b)
		}})
	}
	name := a.name + "-" + b.name
	add("pairs", name, root(), (*story).pair)
	if a.asking != nil {
		add("refused", name+"-refused", root(), (*story).refused)
	}
	add("delegated", name+"-delegated", root(), (*story).delegated)
	for _, where := range spots() {
		add(where.name, name+"-"+where.name, where, (*story).varied)
	}
	return list
}

// wants reports whether a story is selected.
func (o options) wants(s *story) bool {
	if o.only != "" {
		return s.name == o.only
	}
	return slices.Contains(strings.Split(o.kinds, ","), s.kind)
}

// pairs are all pairs of agents that pawl attaches to, including those of an agent with itself.
func pairs(agents []agent) iter.Seq2[agent, agent] {
	return func(yield func(a, b agent) bool) {
		for _, a := range agents {
			for _, b := range agents {
				if !a.recipe && !b.recipe && !yield(a, b) {
					return
				}
			}
		}
	}
}

// conclude prints the table, and removes the folders of stories that passed.
func (o options) conclude(dir string, told []*story, out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\nstory\ttime\tcommand\ttold\tresult")
	var errs []error
	for _, s := range told {
		fmt.Fprintf(table, "%s\t%.1fs\t%s\t%s\t%s\n", s.name, s.took.Seconds(), s.found.process, s.found.verdict, s.outcome())
		if s.err != nil {
			errs = append(errs, fmt.Errorf("%s: %w\n  kept in %s", s.name, s.err, s.place.dir))
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if len(errs) == 0 && !o.keep {
		return os.RemoveAll(dir)
	}
	return errors.Join(errs...)
}

func (s *story) outcome() string {
	switch {
	case len(s.found.red) > 0:
		return "FAILED: " + strings.Join(s.found.red, ", ")
	case s.err != nil:
		return "FAILED"
	}
	return "ok"
}

// carryOut creates the place, starts the model, runs the story, and ends leftover processes.
func (s *story) carryOut(ctx context.Context) {
	began := time.Now()
	defer func() { s.took = time.Since(began) }()
	if s.err = s.place.furnish(ctx); s.err != nil {
		return
	}
	if s.model, s.err = newModel(filepath.Join(s.place.dir, "requests")); s.err != nil {
		return
	}
	defer s.model.close()
	defer s.place.sweep()
	s.page = transcript{place: s.place, pawl: s.pawl}
	s.err = s.tell(ctx, s)
}

// begin starts an agent with a prompt. Its model answers with the script.
func (s *story) begin(ctx context.Context, a agent, prompt string, script ...turn) (*session, error) {
	s.model.play(prompt, script...)
	s.page.typed(append([]string{a.name}, a.arguments(prompt)...)...)
	cmd := s.commandOf(ctx, a, nil, a.arguments(prompt))
	cmd.Dir = s.spot.start(s.place)
	return start(ctx, a.name, s.place, cmd)
}

// finish waits for the end of a session that is not killed.
func (s *story) finish(one *session) error {
	err := one.finish()
	s.page.shown(one.said())
	return errors.Join(err, s.model.fault())
}

// killAt kills the agent in the middle of its command: once a file exists.
func (s *story) killAt(one *session, name string) error {
	err := one.killAt(s.work(name))
	s.page.shown(one.said() + "Killed\n")
	return errors.Join(err, s.model.fault())
}

// runPawl runs a pawl command as a user.
func (s *story) runPawl(ctx context.Context, args ...string) (string, error) {
	s.page.typed(append([]string{"pawl"}, args...)...)
	said, err := s.place.command(ctx, nil, append([]string{s.pawl}, args...)...).CombinedOutput()
	s.page.shown(string(said))
	if err != nil {
		return "", fmt.Errorf("pawl %s: %w: %s", strings.Join(args, " "), err, said)
	}
	return string(said), nil
}

// holds checks the content of a file of the project, without white space around it.
func (s *story) holds(name, content string) error {
	data, err := os.ReadFile(s.work(name))
	if err != nil {
		return err
	}
	if is := strings.TrimSpace(string(data)); is != content {
		return fmt.Errorf("%s holds %q, not %q", name, is, content)
	}
	return nil
}
