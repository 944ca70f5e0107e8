package interop

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/interop/format"
	"pawl/internal/journal"
	"pawl/internal/kernel"
	"pawl/internal/project"
	"pawl/internal/redact"
	"pawl/internal/runs"
	"pawl/internal/snapshot"
	"pawl/internal/supervise"
)

// anyAlive reports whether an attempt of a run is still running.
func anyAlive(p *project.Project, s *pawl.State) bool {
	return slices.ContainsFunc(s.Live(), func(live *pawl.AttemptState) bool {
		status, err := supervise.Probe(p.AttemptDir(live.AttemptRef, s.Run))
		return err == nil && status.State == supervise.Live
	})
}

// newExport returns what a format may know of a run. engine says whether an engine runs it.
func newExport(ctx context.Context, p *project.Project, r *runs.Run, f format.Format, store *snapshot.Store, trigger format.Trigger, engine bool) format.Export {
	partial := partialWork{project: p, run: r, store: store, ownPatterns: slices.Concat(f.Patterns, f.Archived)}
	export := format.Export{
		Now: time.Now().UTC(), Root: p.Root, State: r.State, Plan: r.Plan, Status: r.State.StatusIn(r.Plan, engine), Checkpoint: r.State.LastSave, Trigger: trigger,
		Items:         func(id pawl.StepID) []format.Item { return itemsOf(r, id) },
		Partial:       func(id pawl.StepID) *format.Partial { return partial.partial(ctx, id) },
		Existed:       partial.existed,
		Hash:          newEnv(ctx, p.Root, nil).Hash,
		Files:         func(id pawl.StepID) format.StepFiles { return partial.files(ctx, id) },
		Python:        sync.OnceValues(func() (string, []string) { return pythonOf(p.Root, r.Plan) }),
		Kernel:        func(id pawl.StepID) kernel.Report { return kernelOf(p, r.State, id) },
		UnknownCommit: unknownCommits(ctx, p.Root),
		Commits:       commitsBetween(ctx, p.Root),
		Uncommitted:   uncommitted(ctx, p.Root),
	}
	export.Host, _ = os.Hostname() // informational
	if r.Log != nil {
		lessons := sync.OnceValue(func() map[pawl.StepID][]pawl.Memory { return lessonsOf(r.Log) })
		export.LearnedIn = func(id pawl.StepID) []pawl.Memory { return lessons()[id] }
		export.Learned = func(m pawl.Memory) bool {
			for _, all := range lessons() {
				if slices.Contains(all, m) {
					return true
				}
			}
			return false
		}
	}
	if c, err := config.Of(p); err == nil {
		export.Beat = time.Duration(cmp.Or(c.Heartbeat, config.DefaultHeartbeat))
	}
	memories, err := p.Memories()
	if err != nil {
		return export // without memories; reading MEMORY.md elsewhere reports the error
	}
	for _, m := range memories {
		m.Text = redact.OfProcess().Text(m.Text) // people edit the file too
		export.Memories = append(export.Memories, m.Memory)
	}
	return export
}

// lessonsOf returns the notes that steps have reported, by step.
func lessonsOf(log *journal.Log) map[pawl.StepID][]pawl.Memory {
	lessons := map[pawl.StepID][]pawl.Memory{}
	for event, err := range log.Events(0) {
		if err != nil {
			break // the rest counts as learned by nobody
		}
		var learned pawl.MemoryLearned
		if event.Type == learned.Event() && json.Unmarshal(event.Data, &learned) == nil && learned.Source != nil {
			lessons[learned.Source.Step] = append(lessons[learned.Source.Step], learned.Memory)
		}
	}
	return lessons
}

// itemsOf returns the items of a step: those of its foreach list and those that it named itself.
func itemsOf(r *runs.Run, id pawl.StepID) []format.Item {
	st := r.State.Steps[id]
	if st == nil {
		return nil
	}
	var items []format.Item
	if st.Items != nil {
		values, err := runs.ListedValues(r.Log, st.Items)
		if err != nil {
			return nil
		}
		for i, value := range values {
			item := format.Item{ID: string(pawl.ItemIDOf(value)), Name: value, Status: pawl.ItemPending}
			if _, skipped := st.Items.Skipped[i]; skipped {
				item.Status = pawl.ItemDropped
			} else if _, failed := st.Items.Failed[i]; failed {
				item.Status = pawl.ItemFailed
			} else if st.Items.Done.At(i) > 0 {
				item.Status = pawl.ItemIsDone
			} else if t := st.Items.Retries[i]; t != nil && t.Live != nil {
				item.Status = pawl.ItemRunning
			}
			items = append(items, item)
		}
	}
	return append(items, namedItems(st)...)
}

func namedItems(st *pawl.StepState) []format.Item {
	var items []format.Item
	for _, id := range slices.Sorted(maps.Keys(st.Named)) {
		n := st.Named[id]
		if n.Status != pawl.ItemDropped {
			items = append(items, format.Item{ID: string(id), Name: n.Title, Status: n.Status, Commit: n.Commit, Outputs: n.Outputs})
		}
	}
	return items
}
