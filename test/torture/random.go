package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"sync/atomic"
	"time"
)

// killsEach is how many kills one random story suffers at most before it is left to finish.
const killsEach = 25

// random has stories suffer kills at random moments until there were enough. A story's kills come while it goes on, so
// one engine may see several of its attempts die before it dies itself; after each engine's end all is verified.
func (t *torture) random() error {
	ref, err := t.undisturbed("random")
	if err != nil {
		return err
	}
	var kills atomic.Int64
	return t.each(t.kills, func(i int) error {
		if int(kills.Load()) >= t.kills {
			return nil
		}
		n, err := t.randomStory(i, ref)
		kills.Add(int64(n))
		return err
	})
}

func (t *torture) randomStory(i int, ref *reference) (kills int, err error) {
	s, err := t.newStory(fmt.Sprintf("random-%d", i), "random")
	if err != nil {
		return 0, err
	}
	dice := t.rand("random", i)
	for {
		args, err := s.next()
		if err != nil {
			return kills, err
		}
		if args == nil {
			break
		}
		n, err := s.disturbed(dice, killsEach-kills, args)
		kills += n
		if err == nil {
			err = s.verify()
		}
		if err != nil {
			return kills, err
		}
	}
	if err := errors.Join(s.audit(ref), s.verify()); err != nil {
		return kills, err
	}
	return kills, s.remove()
}

// disturbed runs one engine to its end, and kills at most so many times meanwhile.
func (s *story) disturbed(dice *rand.Rand, most int, args []string) (kills int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	cmd, said := s.command(ctx, s.torture.pawl, nil, args...)
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for kills < most {
		select {
		case err := <-ended:
			return kills, s.unkilled(args, err, said.String())
		case <-time.After(time.Duration(dice.IntN(int(longestLull)))):
		}
		n, dead := s.strike(dice, cmd)
		kills += n
		if dead {
			<-ended
			return kills, nil
		}
	}
	return kills, s.unkilled(args, <-ended, said.String())
}

// longestLull is the longest time between two kills.
const longestLull = 250 * time.Millisecond

// strike kills the engine, a supervisor, a child, or all at once.
func (s *story) strike(dice *rand.Rand, cmd *exec.Cmd) (kills int, engineDead bool) {
	all := s.processes()
	victims := map[role][]proc{}
	for _, p := range all {
		if p.role == engine && p.pid != cmd.Process.Pid {
			p.role = supervisor // forked just now, and not yet itself
		}
		victims[p.role] = append(victims[p.role], p)
	}
	switch choice := dice.IntN(8); {
	case choice == 0:
		for _, p := range all {
			kills += s.kill(p)
		}
		return kills, len(victims[engine]) > 0
	case choice <= 3:
		return s.killOne(dice, victims[engine]), len(victims[engine]) > 0
	case choice <= 5:
		return s.killOne(dice, victims[supervisor]), false
	default:
		return s.killOne(dice, victims[child]), false
	}
}

func (s *story) killOne(dice *rand.Rand, from []proc) int {
	if len(from) == 0 {
		return 0
	}
	return s.kill(from[dice.IntN(len(from))])
}

// unkilled judges the end of an engine that we did not kill: it must have finished, or stopped for a person.
func (s *story) unkilled(args []string, err error, said string) error {
	var failed *exec.ExitError
	if err == nil || errors.As(err, &failed) && failed.ExitCode() == codeAtGate {
		return nil
	}
	return s.wrong("%v: %v:\n%s", args, err, said)
}
