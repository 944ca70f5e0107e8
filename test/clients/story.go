package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"
)

// story is one thing that is tried, in a place of its own with a model of its own.
type story struct {
	name  string
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

// finding is what a story shows, in the words of its line in the table.
type finding struct {
	verdict string // on the operation in doubt, as the agent was told
	process string // what became of the killed agent's command
}

// stories tells all that was asked for, and prints how each came out.
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

// list is what there is to tell: each agent alone, and each pair, also of an agent with itself.
func (o options) list(agents []agent) []*story {
	var list []*story
	add := func(name string, tell func(context.Context, *story) error) {
		if o.only == "" || o.only == name {
			list = append(list, &story{name: name, tell: tell})
		}
	}
	for _, a := range agents {
		add(a.name, func(ctx context.Context, s *story) error { return s.alone(ctx, a) })
	}
	for _, a := range agents {
		for _, b := range agents {
			if !o.alone {
				add(a.name+"-"+b.name, func(ctx context.Context, s *story) error { return s.pair(ctx, a, b) })
			}
		}
	}
	return list
}

// conclude prints the table, and removes the folders where nothing failed.
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
	if s.err != nil {
		return "FAILED"
	}
	return "ok"
}

// carryOut furnishes the place, starts the model, tells the story, and ends what is left of its processes.
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

// begin starts an agent with a prompt. Its model will answer with the script.
func (s *story) begin(ctx context.Context, a agent, prompt string, script ...turn) (*session, error) {
	s.model.play(script...)
	s.page.typed(append([]string{a.name}, a.arguments(prompt)...)...)
	return begin(ctx, a, s.place, s.cache, s.model.url, prompt)
}

// finish waits for the end of a session that has nothing to fear.
func (s *story) finish(one *session) error {
	err := one.finish()
	s.page.shown(one.said())
	return errors.Join(err, s.model.fault())
}

// killAt kills the agent in the middle of its command: once a file is there.
func (s *story) killAt(one *session, name string) error {
	err := one.killAt(s.place.project(name))
	s.page.shown(one.said() + "Killed\n")
	return errors.Join(err, s.model.fault())
}

// runPawl is a pawl command that a person types.
func (s *story) runPawl(ctx context.Context, args ...string) (string, error) {
	s.page.typed(append([]string{"pawl"}, args...)...)
	said, err := s.place.command(ctx, nil, append([]string{s.pawl}, args...)...).CombinedOutput()
	s.page.shown(string(said))
	if err != nil {
		return "", fmt.Errorf("pawl %s: %w: %s", strings.Join(args, " "), err, said)
	}
	return string(said), nil
}

// holds checks the content of a file of the project, but for white space around it.
func (s *story) holds(name, content string) error {
	data, err := os.ReadFile(s.place.project(name))
	if err != nil {
		return err
	}
	if is := strings.TrimSpace(string(data)); is != content {
		return fmt.Errorf("%s holds %q, not %q", name, is, content)
	}
	return nil
}
