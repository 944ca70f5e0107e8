// Command bench measures how fast pawl is, always against something that does only what cannot be spared, on the same
// disk, in turns. It prints one Markdown table. It says what misses its goal, and fails for
// that only in the row start.
//
//	go run ./test/bench [-short] [-kernels] [-row N,…] [-dir FOLDER]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"pawl/internal/supervise"
	"pawl/internal/version"
)

func main() {
	if err := run(os.Args); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run is also what bench starts itself as: a program that uses package durable, and as every program that carries out
// plans, a supervisor.
func run(args []string) error {
	switch {
	case len(args) > 2 && args[1] == supervise.Verb:
		return supervise.Main(args[2:])
	case len(args) == 3 && args[1] == durableVerb:
		return durableProgram(args[2])
	case len(args) > 2 && args[1] == timedVerb:
		return timedProgram(args[2:])
	}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	short := flags.Bool("short", false, "fewer and shorter rounds")
	kernels := flags.Bool("kernels", false, "also row kernel, which needs ipykernel and nbclient")
	only := flags.String("row", "", "only the rows with these numbers, as in 3,4")
	dir := flags.String("dir", os.TempDir(), "folder on the disk to be measured")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	b, err := newBench(*dir, *short)
	if err != nil {
		return err
	}
	err = os.Setenv("PAWL_STATE", filepath.Join(b.dir, "state")) // the measured projects are not among the user's
	if err == nil {
		err = b.table(*only, *kernels)
	}
	return errors.Join(err, os.RemoveAll(b.dir))
}

// bench is what all rows share.
type bench struct {
	context.Context
	dir         string // a folder of its own on the disk to be measured
	short       bool
	pawl        string                   // the real binary
	hookProgram string                   // pawl-hook
	nothing     string                   // a Go program that does nothing
	trials      func() ([]*trial, error) // of rows 3 to 4, which share them
}

func newBench(parent string, short bool) (*bench, error) {
	dir, err := os.MkdirTemp(parent, "pawl-bench-")
	if err != nil {
		return nil, err
	}
	b := &bench{Context: context.Background(), dir: dir, short: short}
	b.trials = sync.OnceValues(b.newTrials)
	if err := b.build(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return b, nil
}

// build makes the programs that are measured. It copies each, as an installation does: the kernel starts a program faster whose pages were
// written in order than one that the linker has just written.
func (b *bench) build() error {
	source := filepath.Join(b.dir, "nothing.go")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		return err
	}
	b.pawl, b.hookProgram, b.nothing = filepath.Join(b.dir, "pawl"), filepath.Join(b.dir, version.HookProgram), filepath.Join(b.dir, "nothing")
	const flags = "-s -w -X pawl/internal/version.stamp=pawl-sources:bench" // as in the Makefile
	for out, what := range map[string]string{b.pawl: "pawl/cmd/pawl", b.hookProgram: "pawl/cmd/pawl-hook", b.nothing: source} {
		cmd := exec.Command("go", "build", "-ldflags", flags, "-o", out+".linked", what)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if text, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", what, err, text)
		}
		if text, err := exec.Command("install", out+".linked", out).CombinedOutput(); err != nil {
			return fmt.Errorf("install %s: %w\n%s", what, err, text)
		}
	}
	return nil
}

// full returns n, or short where rounds are to be short.
func (b *bench) full(n, short int) int {
	if b.short {
		return short
	}
	return n
}

// table measures the rows and prints them.
func (b *bench) table(only string, kernels bool) error {
	facts, err := b.facts()
	if err != nil {
		return err
	}
	fmt.Printf("%s\n\n| row | work | baseline | measured | ratio | goal | met? |\n|---|---|---|---|---|---|---|\n", facts)
	rows := []func() ([]line, error){b.appends, b.sharedAppends, b.snapshots, b.firstSnapshots, b.partialRestores, b.watchedSnapshots, b.opening, b.durableSteps, b.durableRuns, b.hooks, b.history, b.durableResume, b.resume, b.shellSteps, b.items, b.briefs, b.dryRun, b.imports, b.postgresAppends, b.server, b.kernels, b.starts, b.remotes, b.scale}
	names := strings.Fields("1 2 3 4 3b 3c 5 6 6b 7 history 8 8 9 9b brief dry import postgres server kernel start remote scale")
	asked := func(name string) bool {
		return only == "" && (name != "kernel" || kernels) || slices.Contains(strings.Split(only, ","), name)
	}
	for i, row := range rows {
		if !asked(names[i]) {
			continue
		}
		lines, err := row()
		if err != nil {
			return fmt.Errorf("row %s: %w", names[i], err)
		}
		for _, l := range lines {
			fmt.Printf("| %s | %s | %s | %s | %s | %s | %s |\n", names[i], l.work, l.yardstick, l.measured, l.ratio, l.goal, l.met)
		}
	}
	if !asked("3") && !asked("3b") && !asked("3c") && !asked("4") {
		return nil
	}
	trials, err := b.trials()
	fmt.Print(costs(trials))
	return err
}
