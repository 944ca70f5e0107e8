package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A point is one fault: how pawl fails, in which of its commands, and at which call.
type point struct {
	name string
	kind string                                   // its name without the number of the call
	hits string                                   // the command whose processes are hit
	do   func(s *story) (visited bool, err error) // carries the story on until the fault is over
}

// systematic visits every call that changes the disk or starts a process, in the engine, in the supervisors, in the
// verbs that steps use, and in an engine that resumes: the process dies there, or the call fails for want of space or
// with an I/O error. Then the kernel kills at system calls of the binary as people have it. With -short it is every
// 29th of these points.
func (t *torture) systematic() error {
	ref, err := t.undisturbed("systematic")
	if err != nil {
		return err
	}
	points, err := t.seamPoints()
	if err != nil {
		return err
	}
	points = append(points, straced()...)
	if t.short {
		points = few(points)
	}
	if t.point != "" {
		points = slices.DeleteFunc(points, func(p point) bool { return p.name != t.point })
	}
	return t.each(len(points), func(i int) error { return t.visit(points[i], ref) })
}

// few returns every 29th of the points. The number is prime, so they meet every kind of fault.
func few(points []point) []point {
	var some []point
	for i := 0; i < len(points); i += 29 {
		some = append(some, points[i])
	}
	return some
}

// visit has a story suffer one fault, and then carries it on to its end without any.
func (t *torture) visit(p point, ref *reference) error {
	s, err := t.newStory("point-"+strings.NewReplacer(" ", "-", ":", "-", "/", "-").Replace(p.name), "systematic")
	if err != nil {
		return err
	}
	s.point = p.name
	if p.hits != "run" && p.hits != "resume" {
		s.killed = nil // it may hit any attempt
	}
	s.failing = strings.Contains(p.name, " E")
	visited, err := p.do(s)
	if err != nil {
		return err
	}
	if visited {
		t.tally.points.Add(1)
		t.tally.suffered(p.kind)
	}
	if err := s.finish(); err != nil {
		return err
	}
	if err := s.audit(ref); err != nil {
		return err
	}
	return s.remove()
}

// The environment of the binary with faults: see internal/disk.
const (
	faultVar   = "PAWL_FAULT="
	faultOnly  = "PAWL_FAULT_ONLY="
	faultCount = "PAWL_FAULT_COUNT="
	faultLog   = "PAWL_FAULT_LOG="
	faultBoot  = "PAWL_FAULT_BOOT="
)

// aimed returns the environment by which one call of one command, in whatever process, is hit.
func (s *story) aimed(fault, command string) []string {
	return []string{faultVar + fault, faultOnly + command, faultCount + s.calls(command)}
}

// calls is the file by whose length the processes count their calls.
func (s *story) calls(command string) string { return filepath.Join(s.dir, "calls-"+command) }

// slack is how many more calls than counted are visited: two runs of a plan do not make quite the same ones.
const slack = 3

// seamPoints counts the calls of an undisturbed run, and of a resume, and returns every point.
func (t *torture) seamPoints() ([]point, error) {
	var points []point
	for _, command := range []string{"run", "supervise", "progress", "learn", "resume"} {
		calls, err := t.count(command)
		if err != nil {
			return nil, err
		}
		faults := []string{"die:%d", "ENOSPC:%d", "EIO:%d"}
		if command == "run" || command == "resume" {
			faults = append(faults, "ENOSPC:%d-") // and full it stays
		}
		for n := 1; n <= calls+slack; n++ {
			for _, fault := range faults {
				points = append(points, seamPoint(command, fault, n))
			}
		}
	}
	return points, nil
}

// midway is the call at which the engine dies that a faulted resume carries on from.
const midway = "die:90"

// count returns how many calls a command makes in a story without faults.
func (t *torture) count(command string) (int, error) {
	s, err := t.newStory("count-"+command, "systematic")
	if err != nil {
		return 0, err
	}
	if err := s.suffer(command, "count"); err != nil {
		return 0, err
	}
	return s.called(command), s.remove()
}

// called returns how many calls a command's processes have made.
func (s *story) called(command string) int {
	info, err := os.Stat(s.calls(command))
	if err != nil {
		return 0
	}
	return int(info.Size())
}

func seamPoint(command, fault string, n int) point {
	kind := command + " " + strings.Replace(fault, ":%d", "", 1)
	fault = fmt.Sprintf(fault, n)
	return point{name: command + " " + fault, kind: kind, hits: command, do: func(s *story) (bool, error) {
		err := s.suffer(command, fault)
		return s.called(command) >= n, err
	}}
}

// suffer carries the story on with a fault in one command.
func (s *story) suffer(command, fault string) error {
	if command != "resume" {
		return s.faulted(s.aimed(fault, command), "run", "plan.yaml")
	}
	if err := s.faulted(s.aimed(midway, "run"), "run", "plan.yaml"); err != nil {
		return err
	}
	return s.faulted(s.aimed(fault, command), "resume")
}

// straced returns the points at which the kernel kills whichever thread of pawl, of a supervisor or of a step first
// comes to its own n-th system call of a sort. Supervisors of later attempts meet the same fate, so that the story may
// stand still; it is then killed whole.
func straced() []point {
	var points []point
	for _, call := range []string{
		"write", "pwrite64", "fdatasync", "fsync", "?rename,renameat,?renameat2", "?unlink,unlinkat", "ftruncate", "flock",
		"clone,?clone3,?fork,?vfork", "execve", "mkdirat,?mkdir",
	} {
		for _, n := range []int{1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 32, 40, 50} {
			points = append(points, stracePoint(call, n))
		}
	}
	return points
}

// standstill is when a story under strace is killed whole.
const standstill = 2 * time.Second

func stracePoint(call string, n int) point {
	return point{name: fmt.Sprintf("strace %s:%d", call, n), kind: "strace " + call, hits: "all", do: func(s *story) (bool, error) {
		log := filepath.Join(s.dir, "strace")
		s.wrapper = func() []string {
			return []string{"strace", "-f", "-q", "-o", log, "-e", "trace=" + call, "-e", fmt.Sprintf("inject=%s:signal=KILL:when=%d", call, n)}
		}
		ctx, cancel := context.WithTimeout(context.Background(), standstill)
		defer cancel()
		cmd, _ := s.command(ctx, s.torture.pawl, nil, "run", "plan.yaml")
		if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
			return false, fmt.Errorf("strace: %w", err)
		}
		s.wrapper = nil
		for len(s.processes()) > 0 {
			s.killAll()
		}
		calls, err := os.ReadFile(log)
		return strings.Contains(string(calls), "killed by SIGKILL"), err
	}}
}
