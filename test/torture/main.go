// Command torture breaks pawl in every way that we can think of, and checks each time that nothing was lost.
//
// It builds the real binary, has it carry out plans in folders of their own, and
//
//   - random: kills the engine, a supervisor, a child, or all at once, with SIGKILL at random moments;
//   - systematic: has each call that changes the disk or starts a process be the one at which pawl dies, or which fails
//     for want of space or with an I/O error; and has the kernel kill it at system calls, by strace;
//   - powercut: records every write, sync and rename of pawl and of its steps, and then rebuilds the folder as a power
//     cut at many moments could have left it: what was not synced is dropped, torn or there;
//   - campaign: kills, then damages what lies under .pawl, and has a person who only follows pawl's hints go on;
//   - agents: has coding agents that follow a script die in the middle of their tool calls, and the next ones be told what
//     is in doubt;
//   - mirrors: kills runs that keep the files of another system up to date, and compares what these files claim with the truth;
//   - servers: kills servers, engines and Postgres while two servers look after projects whose runs are in one database.
//
// Then the run is resumed to its end. What must hold is checked from outside, without pawl's own code: by the ledger,
// a file beside the project in which each step leaves one line as its effect; by the lines of the journal; by the
// process table; and by comparing all outputs with those of an undisturbed run. Each file here says what it checks.
//
// At the first violation the story's folder is kept, and the command is printed that repeats it.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"pawl/internal/agents/headless/headlesstest"
	"pawl/test/torture/scripted"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, out, complaints io.Writer) int {
	if headlesstest.Plays(os.Args[0]) {
		return headlesstest.Main(os.Args)
	}
	if len(args) == 2 && args[0] == scripted.Verb {
		if err := scripted.Run(args[1], os.Stdin, out); err != nil {
			fmt.Fprintln(complaints, err)
			return 1
		}
		return 0
	}
	o, err := parse(args, complaints)
	if err != nil {
		return 2
	}
	t := &torture{options: o, out: out}
	began := time.Now()
	err = t.all()
	t.tally.report(out)
	fmt.Fprintf(out, "%-21s %d\n%-21s %s\n", "seed", t.seed, "wall time", time.Since(began).Round(time.Second))
	if err != nil {
		fmt.Fprintf(complaints, "torture: %v\n", err)
		return 1
	}
	return 0
}

// options are the command line.
type options struct {
	short       bool
	seed        uint64
	only        string
	system      string
	point       string
	kills       int
	cases       int
	deaths      int
	engines     int // that die in the mirrors of each system
	number      int
	parallel    int
	projects    int // of the servers
	strikeCount int // kills in the part servers
	limit       time.Duration
	binary      string
}

func parse(args []string, complaints io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("torture", flag.ContinueOnError)
	flags.SetOutput(complaints)
	flags.BoolVar(&o.short, "short", false, "two or three minutes: fewer kills, every 29th fault, fewer power cuts, no mirrors")
	flags.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "of all that is random")
	flags.StringVar(&o.only, "only", "", "only this part: random, systematic, powercut, campaign, agents, mirrors or servers")
	flags.StringVar(&o.system, "system", "", "only the mirrors of this system: grid, dotagent, sitebuilder, projectstate or gyoshu")
	flags.StringVar(&o.point, "point", "", "only this fault of the systematic part, as a violation names it")
	flags.IntVar(&o.kills, "kills", 0, "random kills (default 1000, or 12 with -short)")
	flags.IntVar(&o.deaths, "deaths", 0, "of agents (default 1000, or 10 with -short), and of the mirrors of each system (default 200)")
	flags.IntVar(&o.projects, "projects", 0, "of the servers (default 1000, or 20 with -short)")
	flags.DurationVar(&o.limit, "for", 0, "kill agents for at most this time (default: until there are enough deaths)")
	flags.StringVar(&o.binary, "pawl", "", "this pawl binary for agents and mirrors, with pawl-hook next to it; built when not given")
	flags.IntVar(&o.cases, "cases", 0, "of the campaign (default 500, or 10 with -short)")
	flags.IntVar(&o.number, "case", -1, "only this case of the campaign, told at length, or of agents")
	flags.IntVar(&o.parallel, "parallel", 2, "stories at a time")
	err := flags.Parse(args)
	o.engines = cmp.Or(o.deaths, 200)
	kills, cases, deaths, projects := 1000, 500, 1000, 1000
	o.strikeCount = cmp.Or(o.kills, 1000)
	if o.short {
		kills, cases, deaths, projects = 12, 10, 10, 20
		o.strikeCount = cmp.Or(o.kills, 20)
	}
	o.kills, o.cases, o.deaths = cmp.Or(o.kills, kills), cmp.Or(o.cases, cases), cmp.Or(o.deaths, deaths)
	o.projects = cmp.Or(o.projects, projects)
	return o, err
}

// torture is one call of the command.
type torture struct {
	options
	out    io.Writer
	dir    string // of everything that it makes
	pawl   string // the binary as people have it
	hook   string // pawl-hook
	faulty string // and with faults built in
	tally  tally
}

// all does every part that was asked for. The folder is removed when nothing was found.
func (t *torture) all() error {
	if err := t.prepare(); err != nil {
		return err
	}
	parts := []struct {
		name string
		do   func() error
	}{{"random", t.random}, {"systematic", t.systematic}, {"powercut", t.powercuts}, {"campaign", t.campaign}, {"agents", t.agents}, {"mirrors", t.mirrors}, {"servers", t.servers}}
	for _, part := range parts {
		if t.only != "" && t.only != part.name || t.only == "" && t.short && part.name == "mirrors" {
			continue
		}
		began := time.Now()
		if err := part.do(); err != nil {
			return fmt.Errorf("%w\n  kept in %s; to repeat: %s", err, t.dir, t.again(part.name, err))
		}
		fmt.Fprintf(t.out, "%-11s ok, %s\n", part.name, time.Since(began).Round(time.Second))
	}
	return os.RemoveAll(t.dir)
}

// prepare builds the binaries into a new folder: the one with faults only for the parts that use it.
func (t *torture) prepare() error {
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return fmt.Errorf("find the module: %w", err)
	}
	if t.dir, err = os.MkdirTemp("", "pawl-torture-"); err != nil {
		return err
	}
	if t.dir, err = filepath.EvalSymlinks(t.dir); err != nil {
		return err
	}
	t.pawl, t.faulty = filepath.Join(t.dir, "pawl"), filepath.Join(t.dir, "faults", "pawl")
	builds := [][]string{{"-o", t.dir + string(filepath.Separator), "./cmd/pawl", "./cmd/pawl-hook"}, {"-tags", "faults", "-o", t.faulty, "./cmd/pawl"}}
	faultless := t.only == "agents" || t.only == "mirrors" || t.only == "servers"
	if faultless {
		builds = builds[:1]
	}
	if faultless && t.binary != "" {
		if t.pawl, err = filepath.Abs(t.binary); err != nil {
			return err
		}
		builds = nil
	}
	t.hook = filepath.Join(filepath.Dir(t.pawl), "pawl-hook")
	for _, args := range builds {
		build := exec.Command("go", append([]string{"build"}, args...)...)
		build.Dir, build.Env = strings.TrimSpace(string(root)), append(os.Environ(), "CGO_ENABLED=0")
		if said, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build pawl: %w\n%s", err, said)
		}
	}
	return nil
}

// rand returns the random numbers of one story of a part.
func (t *torture) rand(part string, story int) *rand.Rand {
	stream := uint64(story)
	for _, c := range []byte(part) {
		stream = stream*31 + uint64(c)<<32
	}
	return rand.New(rand.NewPCG(t.seed, stream))
}

// each calls do for every number below n, some at a time, until one fails; it returns all errors.
func (t *torture) each(n int, do func(int) error) error { return abreast(t.parallel, n, do) }

func abreast(width, n int, do func(int) error) error {
	var (
		next   atomic.Int64
		failed atomic.Bool
		all    sync.WaitGroup
		errs   = make([]error, width)
	)
	for worker := range width {
		all.Go(func() {
			for !failed.Load() {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if errs[worker] = do(i); errs[worker] != nil {
					failed.Store(true)
					return
				}
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// A violation is something that must not be.
type violation struct {
	story string // its folder
	point string // the fault, where there is one
	what  string
}

// Error says all of it.
func (v *violation) Error() string {
	return fmt.Sprintf("VIOLATION: %s\n  story %s, fault: %s", v.what, v.story, v.point)
}

// again returns the command that repeats a part that has failed. The same seed gives the same dice; what the machine
// makes of them in time it cannot give.
func (t *torture) again(part string, err error) string {
	command := fmt.Sprintf("go run ./test/torture -only %s -seed %d", part, t.seed)
	if t.short {
		command += " -short"
	}
	var v *violation
	switch {
	case !errors.As(err, &v):
	case part == "systematic":
		command += fmt.Sprintf(" -point '%s'", v.point)
	case part == "servers":
		command += fmt.Sprintf(" -projects %d -kills %d", t.projects, t.strikeCount)
	case part == "agents", part == "mirrors":
		command += " -" + strings.Replace(v.point, " ", " ", 1)
	}
	return command
}
