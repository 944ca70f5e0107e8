package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/dispatch/order"
	"pawl/internal/outputs"
	"pawl/internal/remote"
	"pawl/internal/snapshot"
	"pawl/internal/snapshot/pack"
)

// deliver stores the files as they are now, if the script changed them, and the result, unless there is one. It returns the hash of the
// result that counts.
func (p *performance) deliver(ctx context.Context, objects *snapshot.Store, base []byte, exit pawl.Exit) (sum string, err error) {
	result := order.Result{
		Run: p.task.Run, AttemptRef: p.order.AttemptRef, Order: p.task.Order, Worker: p.worker.Name, Exit: exit, Base: base, Files: []order.File{},
	}
	packer, err := p.sendChanges(ctx, objects, &result)
	if err != nil {
		return "", err
	}
	for _, name := range order.Returned {
		data := p.readWhole(name)
		if len(data) == 0 {
			continue
		}
		file, err := packer.File(ctx, name, data)
		if err != nil {
			return "", err
		}
		result.Files = append(result.Files, file)
	}
	if result.Packs, err = packer.Packs(ctx); err != nil {
		return "", err
	}
	content, _, err := result.Encode()
	if err != nil {
		return "", err
	}
	if content, err = order.CreateOrRead(ctx, p.store, order.ResultKey(p.task.Run, p.task.Token), content); err != nil {
		return "", err
	}
	if _, err := order.ParseResult(content, p.task); err != nil {
		return "", lost("%w", err)
	}
	if len(result.Packs) > 0 {
		err = (&remote.Record{Packs: result.Packs}).CheckPresent(ctx, p.store)
	}
	return order.SumOf(content), err
}

// sendChanges adds the files afterwards to a result, if they are other ones than before.
func (p *performance) sendChanges(ctx context.Context, objects *snapshot.Store, result *order.Result) (*order.Packer, error) {
	record := p.order.Input
	if result.Base != nil {
		record = result.Base
	}
	before, err := snapshot.ParseRecord(record, p.task.Run)
	if err != nil {
		return nil, err
	}
	after, content, err := p.take(ctx, objects, "after", before.Tree)
	if err != nil || content == nil {
		return order.NewPacker(p.store, p.worker.cache(p.task.Remote), &remote.Known{}), err
	}
	result.Snapshot = content
	known, err := remote.KnownIn(ctx, p.store, p.worker.cache(p.task.Remote), p.order.Packs)
	if err != nil {
		return nil, err
	}
	packer := order.NewPacker(p.store, p.worker.cache(p.task.Remote), known)
	if result.Base != nil {
		err = packer.Snapshot(ctx, objects, before)
	}
	return packer, errors.Join(err, packer.Snapshot(ctx, objects, after))
}

// take takes a snapshot of the workspace, and returns its commit record too. If it has the files of another tree, it takes none.
func (p *performance) take(ctx context.Context, objects *snapshot.Store, when string, same pack.ID) (r snapshot.Record, content []byte, err error) {
	o := p.order
	r, err = objects.TakeChanged(ctx, snapshot.Stamp{
		Checkpoint: pawl.CheckpointID(disk.RandomHex(4)), Kind: pawl.CheckpointStep, Run: o.Run, Step: o.Step, Item: o.Item, Attempt: o.Attempt,
		Token: o.Token, Why: fmt.Sprintf("%s %s on worker %s", when, o.Name(), p.worker.Name),
	}, outputs.Find(p.work(), o.Outputs), same)
	switch {
	case errors.Is(err, snapshot.ErrUnchanged):
		return r, nil, nil
	case err != nil:
		return r, nil, err
	}
	content, err = objects.RecordContent(r.ID)
	return r, content, err
}

// Limits of the output that is sent while a script runs. All of it comes with the result.
const (
	maxPart = 1 << 20
	maxLive = 16 << 20
)

// sendOutput sends what the script writes, until ctx ends. It only serves those who look: errors are not reported.
func (p *performance) sendOutput(ctx context.Context) {
	sent := map[string]int64{}
	ticker := time.NewTicker(p.worker.flush())
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for _, name := range []string{pawl.OutFile, pawl.ErrFile, pawl.EventsFile} {
			part := readPart(filepath.Join(p.attemptDir(), name), sent[name])
			if len(part) == 0 || sent[name] > maxLive {
				continue
			}
			if _, err := p.store.Create(ctx, order.OutputKey(p.task.Token, name, sent[name]), part); err == nil {
				sent[name] += int64(len(part))
			}
		}
	}
}

// readPart reads a file from an offset on.
func readPart(path string, from int64) []byte {
	file, err := disk.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	data, err := io.ReadAll(io.NewSectionReader(file, from, maxPart))
	if err != nil {
		return nil
	}
	return data
}
