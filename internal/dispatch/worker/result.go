package worker

import (
	"context"
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

// deliver stores the files as they are now, and the result, unless there is one. It returns the hash of the result that counts.
func (p *performance) deliver(ctx context.Context, objects *snapshot.Store, base pack.ID, exit pawl.Exit) (sum string, err error) {
	key := order.ResultKey(p.task.Run, p.task.Token)
	record, err := p.take(ctx, objects, "after")
	if err != nil {
		return "", err
	}
	packer, err := order.NewPacker(ctx, p.store, p.worker.cache(p.task.Remote))
	if err != nil {
		return "", err
	}
	before, err := recordOf(objects, base, p.task.Run)
	if err == nil {
		err = packer.Snapshot(ctx, objects, before)
	}
	if err == nil {
		err = packer.Snapshot(ctx, objects, record)
	}
	if err != nil {
		return "", err
	}
	result := order.Result{
		Run: p.task.Run, AttemptRef: p.order.AttemptRef, Order: p.task.Order, Worker: p.worker.Name, Exit: exit, Base: base, Snapshot: record.ID, Files: []remote.File{},
	}
	for _, name := range order.Returned {
		data := p.readWhole(name)
		if data == nil {
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
	if content, err = order.CreateOrRead(ctx, p.store, key, content); err != nil {
		return "", err
	}
	if _, err := order.ParseResult(content, p.task); err != nil {
		return "", lost("%w", err)
	}
	return order.SumOf(content), (&remote.Record{Packs: result.Packs}).CheckPresent(ctx, p.store)
}

// take takes a snapshot of the workspace.
func (p *performance) take(ctx context.Context, objects *snapshot.Store, when string) (snapshot.Record, error) {
	o := p.order
	return objects.TakeWith(ctx, snapshot.Stamp{
		Checkpoint: pawl.CheckpointID(disk.RandomHex(4)), Kind: pawl.CheckpointStep, Run: o.Run, Step: o.Step, Item: o.Item, Attempt: o.Attempt,
		Token: o.Token, Why: fmt.Sprintf("%s %s on worker %s", when, o.Name(), p.worker.Name),
	}, outputs.Find(p.work(), o.Outputs))
}

func recordOf(objects *snapshot.Store, id pack.ID, run pawl.RunID) (r snapshot.Record, err error) {
	content, err := objects.RecordContent(id)
	if err != nil {
		return r, err
	}
	return snapshot.ParseRecord(content, run)
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
