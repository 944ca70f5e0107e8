package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"pawl/internal/remote/remotetest/servers"
)

// machine is a project with a state folder of its own, as if it were on another machine.
type machine struct {
	b    *bench
	root string
	env  []string
}

func (p place) machine(b *bench, name string) machine {
	return machine{b: b, root: filepath.Join(p.folder, name), env: append(os.Environ(), append(p.env, "PAWL_STATE="+filepath.Join(p.folder, "state-"+name))...)}
}

// place is where a remote is.
type place struct {
	folder     string // for the machines
	what       string
	url        string
	repository string   // of restic, at the same place
	env        []string // of the programs that reach it
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

// remotes measures how a run of a project of many files moves to another machine through a folder, and through an S3 server if there is one.
func (b *bench) remotes() (lines []line, err error) {
	folder := filepath.Join(b.dir, "remote")
	share := filepath.Join(folder, "share")
	if err := os.MkdirAll(share, 0o700); err != nil {
		return nil, err
	}
	if lines, err = b.moves(place{folder: folder, url: "file://" + share, repository: filepath.Join(folder, "restic")}); err != nil {
		return nil, err
	}
	if _, err := exec.LookPath("versitygw"); err != nil {
		return lines, nil
	}
	server, err := servers.S3()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.Remove()) }()
	bucket, err := server.Bucket()
	if err != nil {
		return nil, err
	}
	at := place{folder: filepath.Join(b.dir, "remote-s3"), what: " (S3)", url: "s3://" + bucket + "/pawl", repository: "s3:http://" + server.Address + "/" + bucket + "/restic"}
	for name, value := range server.Environ() {
		at.env = append(at.env, name+"="+value)
	}
	through, err := b.moves(at)
	return append(lines, through...), err
}

// moves measures how a run moves to another machine after some files changed: the bytes, against the bytes that the checkpoint added to the
// store, and the time, against restic and, for folders, rsync.
func (b *bench) moves(at place) ([]line, error) {
	t := &tree{root: filepath.Join(at.folder, "first", "tree"), files: b.full(100_000, 5000)}
	first, second := at.machine(b, "first"), at.machine(b, "second")
	if err := errors.Join(os.MkdirAll(second.root, 0o700), t.grow()); err != nil {
		return nil, err
	}
	var done moved
	for _, m := range []machine{first, second} {
		cmd := exec.Command(m.b.pawl, "init")
		if cmd.Dir, cmd.Env = m.root, m.env; cmd.Run() != nil {
			return nil, errors.New("pawl init failed")
		}
		if err := m.pawl(&struct{}{}, "remote", "add", "origin", at.url); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(first.pawl(&struct{}{}, "checkpoint"), first.pawl(&done, "push", "latest"), second.pawl(&moved{}, "pull", "session-")); err != nil {
		return nil, err
	}
	others, err := at.movers(t)
	if err != nil {
		return nil, err
	}
	work := fmt.Sprintf("%d files, 10 changed: `pawl push`, and `pawl pull` on another machine%s", t.files, at.what)
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
func (p place) movers(t *tree) (list []mover, err error) {
	copied := filepath.Join(p.folder, "copy")
	run := func(args ...string) error {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Env = append(os.Environ(), append(p.env, "RESTIC_PASSWORD=bench", "RESTIC_REPOSITORY="+p.repository)...)
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
	if _, err := exec.LookPath("rsync"); err == nil && p.what == "" {
		move := func() error { return run("rsync", "-a", t.root+"/", copied+"-rsync/") }
		if err := move(); err != nil {
			return nil, err
		}
		list = append(list, mover{"`rsync -a` from folder to folder", timed(move)})
	}
	return list, nil
}
