package courier

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/dispatch"
	"pawl/internal/dispatch/order"
	"pawl/internal/oneline"
	"pawl/internal/remote"
	"pawl/internal/snapshot"
	"pawl/internal/snapshot/pack"
	"pawl/internal/supervise"
)

// take brings the result of a task into the project: output, events, result file, files; then how the step ended.
func (c *Courier) take(ctx context.Context, task dispatch.Task, sum string) error {
	data, err := order.Read(ctx, c.remote.Store, order.ResultKey(task.Run, task.Token), sum)
	if err != nil {
		return fmt.Errorf("read the result of the step: %w", err)
	}
	result, err := order.ParseResult(data, task)
	if err != nil {
		return err
	}
	reader := remote.NewReader(c.remote.Store, c.remote.Cache, result.Packs)
	for _, f := range result.Files {
		content, err := f.Content(ctx, reader)
		if err != nil {
			return err
		}
		if err := c.takeFile(f.Name, content); err != nil {
			return err
		}
	}
	conflict, err := c.apply(ctx, reader, result)
	if err != nil {
		return fmt.Errorf("bring the files of the step: %w", err)
	}
	exit := result.Exit
	if conflict != "" {
		exit.Reason, exit.Why = pawl.ReasonError, conflict
	}
	exit.Checks, exit.Accept, exit.Cut, exit.Unkilled = nil, "", nil, nil // of the other machine
	if err := supervise.Deliver(c.Dir, exit); err != nil {
		return err
	}
	c.removeLive(ctx, task.Token)
	return nil
}

// takeFile adds what the project lacks of a file of the attempt.
func (c *Courier) takeFile(name string, content []byte) error {
	if name == pawl.ResultFile {
		return disk.Replace(filepath.Join(c.Dir, pawl.ResultFile), content)
	}
	if from := c.state.Copied[name]; from < int64(len(content)) {
		return c.add(name, content[from:])
	}
	return nil
}

// add adds to a file of the attempt what the worker's has next.
func (c *Courier) add(name string, data []byte) (err error) {
	switch name {
	case pawl.OutFile:
		_, err = c.Out.Write(data)
	case pawl.ErrFile:
		_, err = c.Err.Write(data)
	case pawl.EventsFile:
		data = data[:bytes.LastIndexByte(data, '\n')+1]
		for line := range bytes.Lines(data) {
			if err = disk.AppendLine(c.Events.Path, bytes.TrimSuffix(line, []byte("\n"))); err != nil {
				return err
			}
		}
	default:
		return nil
	}
	if err != nil {
		return err
	}
	c.state.Copied[name] += int64(len(data))
	return c.writeState(disk.Put)
}

// copyLive copies what the step has written so far. It only serves those who look; the result has all.
func (c *Courier) copyLive(ctx context.Context) {
	there, err := c.remote.Store.List(ctx, order.OutputPrefix(c.Job.Token))
	if err != nil {
		return
	}
	for _, o := range there {
		name, offset, ok := order.ParseOutputKey(o.Key, c.Job.Token)
		if !ok || offset != c.state.Copied[name] {
			continue
		}
		data, err := c.remote.Store.Get(ctx, o.Key, maxPart)
		if err != nil || name == pawl.EventsFile && !bytes.HasSuffix(data, []byte("\n")) {
			continue
		}
		if c.add(name, data) != nil {
			return
		}
	}
}

// maxPart is the largest part of the output that is copied while the step runs.
const maxPart = 4 << 20

func (c *Courier) removeLive(ctx context.Context, token pawl.Token) {
	there, err := c.remote.Store.List(ctx, order.OutputPrefix(token))
	if err != nil {
		return
	}
	for _, o := range there {
		_ = c.remote.Store.Delete(ctx, o.Key) // prune removes what is left
	}
}

// apply changes the files of the project as the step did. A file that was also changed here is a conflict: then nothing is changed.
func (c *Courier) apply(ctx context.Context, reader *remote.Reader, result *order.Result) (conflict string, err error) {
	if result.Snapshot == nil {
		return "", nil
	}
	input, err := c.input(ctx, result)
	if err != nil {
		return "", err
	}
	base := input
	if result.Base != nil {
		if base, err = order.Receive(ctx, reader, c.Objects, result.Base, c.Job.Run); err != nil {
			return "", err
		}
	}
	c.tell("bringing the files of worker %s", result.Worker)
	after, err := order.Receive(ctx, reader, c.Objects, result.Snapshot, c.Job.Run)
	if err != nil {
		return "", err
	}
	c.noteSent(after, result.Packs)
	changes, err := c.Objects.Diff(base.Tree, after.Tree)
	if err != nil {
		return "", err
	}
	paths, err := c.changed(changes, after)
	if err != nil || len(paths) == 0 {
		return "", err
	}
	restoration, err := c.Objects.Prepare(ctx, after, paths)
	if err != nil {
		if pawl.KindOf(err) == pawl.KindDamaged && pawl.HintOf(err) != "" { // something that no snapshot can hold is in the way
			return err.Error(), nil
		}
		return "", err
	}
	defer func() { err = errors.Join(err, restoration.Close()) }()
	both, err := restoration.UnsavedIn(input)
	if err != nil {
		return "", err
	}
	gone, err := c.removedHere(restoration, input)
	if err != nil {
		return "", err
	}
	if both = append(both, gone...); len(both) > 0 {
		return fmt.Sprintf("the step changed files on worker %s that were changed here meanwhile: %s; nothing of it was written here", result.Worker, oneline.Paths(both)), nil
	}
	saved, err := restoration.SavedIn(input)
	if err == nil && !saved {
		err = errors.New("the files changed meanwhile")
	}
	if err != nil {
		return "", err
	}
	return "", restoration.Apply(ctx)
}

// input returns the snapshot with which the step began. If another project has sent it, it comes from the remote.
func (c *Courier) input(ctx context.Context, result *order.Result) (r snapshot.Record, err error) {
	id, err := pack.ParseID(c.Job.Away.Input)
	if err != nil {
		return r, err
	}
	if _, r, err = c.recordOf(id); !errors.Is(err, errNoInput) {
		return r, err
	}
	data, err := order.Read(ctx, c.remote.Store, order.OrderKey(c.Job.Run, c.Job.Token), result.Order)
	if err != nil {
		return r, err
	}
	o, err := order.ParseOrder(data, *c.state.Submitted)
	if err != nil {
		return r, err
	}
	return order.Receive(ctx, remote.NewReader(c.remote.Store, c.remote.Cache, o.Packs), c.Objects, o.Input, c.Job.Run)
}

// removedHere returns the files that the step changed, and that were removed here meanwhile.
func (c *Courier) removedHere(r *snapshot.Restoration, input snapshot.Record) (paths []string, err error) {
	for _, change := range r.Changes {
		if change.Old != nil || change.New == nil || change.New.Kind == snapshot.Folder {
			continue
		}
		before, err := c.Objects.At(input, change.Path)
		if err != nil {
			return nil, err
		}
		if before != nil && before.Kind != snapshot.Folder {
			paths = append(paths, change.Path)
		}
	}
	return paths, nil
}

// changed returns the paths that the step changed: files, and folders that are new here, removed or empty.
func (c *Courier) changed(changes []snapshot.Change, after snapshot.Record) (paths []string, err error) {
	leftOut, err := c.Objects.LeftOutOf(after)
	if err != nil {
		return nil, err
	}
	stays := func(path string) bool { // it is not removed: the worker's snapshot left it out
		return slices.ContainsFunc(leftOut, func(l snapshot.LeftOut) bool { return path == l.Path || strings.HasPrefix(path, l.Path+"/") })
	}
	whole := ""
	for i, change := range changes {
		folder := change.New != nil && change.New.Kind == snapshot.Folder
		switch {
		case whole != "" && strings.HasPrefix(change.Path, whole+"/"):
			continue
		case change.New == nil && stays(change.Path), folder && change.Old != nil && change.Old.Kind == snapshot.Folder:
			continue
		case folder:
			_, err := disk.Lstat(filepath.Join(c.Job.Root, filepath.FromSlash(change.Path)))
			if empty := i+1 == len(changes) || !strings.HasPrefix(changes[i+1].Path, change.Path+"/"); err == nil && !empty {
				continue
			}
			whole = change.Path
		case change.New == nil && change.Old.Kind == snapshot.Folder:
			whole = change.Path
		}
		paths = append(paths, change.Path)
	}
	return paths, nil
}
