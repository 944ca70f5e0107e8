package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// machine is a project with a state folder of its own, as if it were on another machine.
type machine struct {
	b    *bench
	root string
	env  []string
}

func (b *bench) machine(name string) machine {
	root := filepath.Join(b.dir, "remote", name)
	return machine{b: b, root: root, env: append(os.Environ(), "PAWL_STATE="+filepath.Join(b.dir, "remote", "state-"+name))}
}

// pawl runs a command, and decodes its JSON.
func (m machine) pawl(into any, args ...string) error {
	cmd := exec.Command(m.b.pawl, append(args, "--json")...)
	cmd.Dir, cmd.Env, cmd.Stderr = m.root, m.env, os.Stderr
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, into)
	}
	return err
}

// moved is what push and pull print.
type moved struct {
	Run   string `json:"run"`
	Bytes int64  `json:"bytes"`
}

// remotes measures how a run of a project of many files moves to another machine after some files changed: the bytes, against the bytes
// that the checkpoint added to the store, and the time, against restic and rsync.
func (b *bench) remotes() ([]line, error) {
	t := &tree{root: filepath.Join(b.dir, "remote", "first", "tree"), files: b.full(100_000, 5000)}
	first, second := b.machine("first"), b.machine("second")
	share := filepath.Join(b.dir, "remote", "share")
	if err := errors.Join(os.MkdirAll(second.root, 0o700), os.MkdirAll(share, 0o700), t.grow()); err != nil {
		return nil, err
	}
	var done moved
	for _, m := range []machine{first, second} {
		cmd := exec.Command(m.b.pawl, "init")
		if cmd.Dir, cmd.Env = m.root, m.env; cmd.Run() != nil {
			return nil, errors.New("pawl init failed")
		}
		if err := m.pawl(&struct{}{}, "remote", "add", "origin", "file://"+share); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(first.pawl(&struct{}{}, "checkpoint"), first.pawl(&done, "push", "latest"), second.pawl(&moved{}, "pull", "session-")); err != nil {
		return nil, err
	}
	others, err := b.movers(t)
	if err != nil {
		return nil, err
	}
	work := fmt.Sprintf("%d files, 10 changed: `pawl push`, and `pawl pull` on another machine", t.files)
	var lines []line
	round := 0
	var sent, received, added int64
	move := func() (time.Duration, error) {
		round++
		var saved struct {
			Added int64 `json:"added_bytes"`
		}
		if _, err := t.edit(round); err != nil {
			return 0, err
		}
		if err := first.pawl(&saved, "checkpoint"); err != nil {
			return 0, err
		}
		begin := time.Now()
		var pushed, pulled moved
		err := errors.Join(first.pawl(&pushed, "push", "latest"), second.pawl(&pulled, "pull", done.Run))
		sent, received, added = sent+pushed.Bytes, received+pulled.Bytes, added+saved.Added
		return time.Since(begin), err
	}
	for _, other := range others {
		m, err := inTurns(b.full(5, 2), 1, move, other.move)
		if err != nil {
			return nil, err
		}
		lines = append(lines, m.line(work, other.name, goal{}))
	}
	if len(others) == 0 {
		if _, err := move(); err != nil {
			return nil, err
		}
	}
	const what = "bytes that their checkpoints added to the store"
	return append(lines, sizeLine(work+": bytes sent", what, sent, added, added*12/10), sizeLine(work+": bytes received", what, received, added, added*12/10)), nil
}

// mover moves the files of a tree to another folder.
type mover struct {
	name string
	move func() (time.Duration, error)
}

// movers returns the programs that are there to compare with.
func (b *bench) movers(t *tree) (list []mover, err error) {
	copied, repository := filepath.Join(b.dir, "remote", "copy"), filepath.Join(b.dir, "remote", "restic")
	run := func(args ...string) error {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Env = append(os.Environ(), "RESTIC_PASSWORD=bench", "RESTIC_REPOSITORY="+repository)
		cmd.Stderr = os.Stderr
		return cmd.Run()
	}
	if _, err := exec.LookPath("restic"); err == nil {
		move := func() error {
			return errors.Join(run("restic", "--quiet", "backup", t.root), run("restic", "--quiet", "restore", "latest", "--target", copied+"-restic"))
		}
		if err := errors.Join(run("restic", "--quiet", "init"), move()); err != nil {
			return nil, err
		}
		list = append(list, mover{"`restic backup` and `restic restore`", timed(move)})
	}
	if _, err := exec.LookPath("rsync"); err == nil {
		move := func() error { return run("rsync", "-a", t.root+"/", copied+"-rsync/") }
		if err := move(); err != nil {
			return nil, err
		}
		list = append(list, mover{"`rsync -a` from folder to folder", timed(move)})
	}
	return list, nil
}
