package resume

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/kernel/runner"
	"pawl/internal/notebook"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// RerunCells says which cells of a step's notebook the next attempt executes, and why some run again; "" if none of them has finished, if
// that cannot be known yet, or if the run was made elsewhere.
func RerunCells(p *project.Project, r *runs.Run, plan *pawl.Plan, id pawl.StepID) (string, error) {
	step, st := plan.Step(id), r.State.Steps[id]
	if step == nil || st == nil || step.Kernel == nil || step.Foreach != nil || step.Notebook() == "" {
		return "", nil
	}
	if !runs.Claimed(p, r.State.Run) {
		return "", nil // the log is of others
	}
	w := runs.Work{Step: step, Index: -1}
	w.Vars = runs.PathVars(r.State.Origin(), w)
	x, ok, err := runner.ReadExecuted(p.KernelDir(r.State.Run, runs.SessionOf(w)), runs.EarlierInSession(plan, r.State, w), id)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !ok {
		return "", nil // the kernel was never started, or the attempt will fail
	}
	if err != nil {
		return "", err
	}
	order := plan.Order()
	key, err := runs.CurrentKey(p.Root, plan, w, runs.OutputDigests(order, order[id], r.State))
	if err != nil {
		return "", err
	}
	list, err := cellsOf(p, step)
	if err != nil {
		return "", err
	}
	again := st.Retries.Again && st.Done != 0
	return list.rerun(x, runs.CellSeed(plan, w, key.Compact()), again), nil
}

// cellList is the cells that a step executes.
type cellList struct {
	cells   []notebook.Cell
	numbers []int // of the cells among the code cells of the notebook, from 1
	total   int
}

// cellsOf reads the cells that a step executes, with those that have the parameters.
func cellsOf(p *project.Project, step *pawl.Step) (l cellList, err error) {
	data, err := disk.ReadFile(filepath.Join(p.Root, filepath.FromSlash(step.Kernel.File)), notebook.MaxSize)
	if err != nil {
		return l, err
	}
	n, _, _, err := notebook.ReadWith(data, step.Kernel.Params)
	if err != nil {
		return l, fmt.Errorf("%s: %w", step.Kernel.File, err)
	}
	for _, c := range n.Cells {
		if c.Type == notebook.Code {
			l.total++
		}
		if c.Executes() {
			l.cells, l.numbers = append(l.cells, c), append(l.numbers, l.total)
		}
	}
	return l, nil
}

// rerun says which cells run. seed is what the cells depend on now. With all, all of them run.
func (l cellList) rerun(x runner.Executed, seed string, all bool) string {
	was, _, _ := strings.Cut(x.Seed, ":")
	var keys []runner.Key
	for _, key := range notebook.Keys(l.cells, string(x.Base)+"\x00"+x.Seed) {
		keys = append(keys, runner.Key(key))
	}
	finished, saved := x.Finished(keys)
	why := ""
	switch {
	case len(x.Cells) == 0:
		return ""
	case all:
		saved = 0
	case was != seed:
		saved, why = 0, ": the kernel, the inputs, the environment or an earlier step changed"
	case saved < finished:
		why = ": the kernel is gone, and its variables were not saved"
	case finished < min(len(x.Cells), len(l.cells)):
		why = ": " + l.edit(x.Cells, finished)
	}
	if saved == len(l.cells) {
		return ""
	}
	first, last := l.numbers[saved], l.numbers[len(l.numbers)-1]
	text, verb := fmt.Sprintf("cells %d–%d of %d", first, last, l.total), " run"
	if first == last {
		text, verb = fmt.Sprintf("cell %d of %d", first, l.total), " runs"
	}
	if saved < len(x.Cells) {
		verb += " again"
	}
	return text + verb + why
}

// edit says how a cell differs from the one that was executed in its place.
func (l cellList) edit(was []runner.Link, i int) string {
	name := fmt.Sprintf("cell %d", l.numbers[i])
	removed := slices.ContainsFunc(was[i+1:], func(c runner.Link) bool { return c.Code == l.cells[i].Source })
	inserted := slices.ContainsFunc(l.cells[i+1:], func(c notebook.Cell) bool { return c.Source == was[i].Code })
	switch {
	case l.cells[i].Has(notebook.TagInjected):
		return "the parameters changed"
	case removed && !inserted:
		return "a cell before " + name + " was removed"
	case inserted && !removed:
		return name + " was inserted"
	case inserted:
		return name + " was moved"
	}
	return name + " was edited"
}
