//go:build linux

// Command machines breaks pawl on several machines: it kills what runs on them, whole machines, and the network between them, and checks
// in the end that no finished step was redone, none was lost, no two engines worked on the run at a time, and that each result is by
// exactly one attempt. The README of test/torture says how.
//
// Machines are namespaces of this system, so it needs root.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"pawl/test/machines/machine"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, out, complaints io.Writer) int {
	if len(args) > 0 && args[0] == machine.Verb {
		if err := machine.Init(args[1:]); err != nil {
			fmt.Fprintln(complaints, err)
			return 1
		}
		return 0
	}
	o, err := parse(args, complaints)
	if err != nil {
		return 2
	}
	o.out = out
	fmt.Fprintf(out, "%d steps, %d kills, seed %d\n", o.steps, o.kills, o.seed)
	began := time.Now()
	err = torture(o)
	fmt.Fprintf(out, "wall time %s\n", time.Since(began).Round(time.Second))
	switch {
	case errors.Is(err, machine.ErrUnable) && o.short:
		fmt.Fprintf(out, "not run: %v\n", err)
		return 0
	case err != nil:
		fmt.Fprintf(complaints, "machines: %v\n", err)
		return 1
	}
	return 0
}

// options are the command line.
type options struct {
	short      bool
	seed       uint64
	steps      int
	kills      int
	partitions int
	moves      int
	pawl       string
	gateway    string
	folder     string
	out        io.Writer
}

func parse(args []string, complaints io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("machines", flag.ContinueOnError)
	flags.SetOutput(complaints)
	flags.BoolVar(&o.short, "short", false, "a minute: 30 steps, 12 kills")
	flags.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "of all that is random")
	flags.IntVar(&o.steps, "steps", 0, "of the plan (default 300, or 30 with -short)")
	flags.IntVar(&o.kills, "kills", -1, "(default 300, or 12 with -short)")
	flags.IntVar(&o.partitions, "partitions", -1, "of the network (default a tenth of the kills)")
	flags.IntVar(&o.moves, "moves", -1, "of the engine to another machine (default one for 50 kills)")
	flags.StringVar(&o.pawl, "pawl", "", "this pawl binary, with pawl-hook next to it; built when not given")
	flags.StringVar(&o.gateway, "versitygw", "bin/versitygw", "the S3 server")
	flags.StringVar(&o.folder, "folder", "", "of the machines, which is kept; a temporary one when not given, which is kept after a violation")
	err := flags.Parse(args)
	steps, kills := 300, 300
	if o.short {
		steps, kills = 30, 12
	}
	o.steps = cmp.Or(o.steps, steps)
	if o.kills < 0 {
		o.kills = kills
	}
	if o.partitions < 0 {
		o.partitions = o.kills / 10
	}
	if o.moves < 0 {
		o.moves = o.kills / 50
	}
	return o, err
}

// dice returns the random numbers of one part.
func (o options) dice(part string) *rand.Rand {
	stream := uint64(0)
	for _, c := range []byte(part) {
		stream = stream*31 + uint64(c)
	}
	return rand.New(rand.NewPCG(o.seed, stream))
}
