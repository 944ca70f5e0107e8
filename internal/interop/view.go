package interop

import (
	"context"
	"maps"
	"slices"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/snapshot"
	"pawl/internal/supervise"
)

// anyAlive reports whether an attempt of a run is still at work.
func anyAlive(p *project.Project, s *pawl.State) bool {
	return slices.ContainsFunc(s.Live(), func(live *pawl.AttemptState) bool {
		status, err := supervise.Probe(p.AttemptDir(live.AttemptRef, s.Run))
		return err == nil && status.State == supervise.Live
	})
}

// viewOf returns what a codec is told of a run. engine says whether one works on it.
func viewOf(ctx context.Context, p *project.Project, r *runs.Run, codec format.Format, store *snapshot.Store, why format.Trigger, engine bool) format.Export {
	begun := begunWork{project: p, run: r, store: store, own: slices.Concat(codec.Patterns, codec.Archived)}
	v := format.Export{
		Now: time.Now().UTC(), Root: p.Root, State: r.State, Plan: r.Plan, Status: r.State.StatusNow(engine), Checkpoint: r.State.LastSave, Trigger: why,
		Items:         func(id pawl.StepID) []format.Item { return itemsOf(r, id) },
		Partial:       func(id pawl.StepID) *format.Partial { return begun.of(ctx, id) },
		Existed:       begun.existed,
		UnknownCommit: unknownIn(ctx, p.Root),
		Commits:       commitsBetween(ctx, p.Root),
	}
	remembered, err := p.Memories()
	if err != nil {
		return v // what was learned is not told: the file says itself what is wrong with it
	}
	for _, m := range remembered {
		v.Memories = append(v.Memories, m.Memory)
	}
	return v
}

// itemsOf returns the items of a step, those of its work list and those that it named itself.
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
			if _, failed := st.Items.Failed[i]; failed {
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
