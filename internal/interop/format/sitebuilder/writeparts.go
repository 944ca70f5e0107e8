package sitebuilder

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/redact"
	"pawl/internal/textedit/jsonedit"
)

// maxItems limits the subtasks in a checkpoint. For longer lists it only has the counts.
const maxItems = 1000

// listed is a subtask in pawl's format.
type listed struct {
	ID     string     `json:"id"`
	Status taskStatus `json:"status"`
	Output *string    `json:"output"`
}

// items returns a step's subtasks. A subtask that the agent's own checkpoint calls complete is complete, even if the run
// does not know.
func (w *teamWriter) items(e *editor, k *taskStep) []format.Item {
	if w.Items == nil {
		return nil
	}
	items := slices.Clone(w.Items(k.ID))
	called := completedIn(e, k)
	for i := range items {
		if called[pawl.ItemIDOf(items[i].ID)] {
			items[i].Status = pawl.ItemIsDone
		}
		if name := items[i].Name; name != "" && string(pawl.ItemIDOf(name)) == items[i].ID {
			items[i].ID = name // the value; the id is its hash
		}
		if items[i].Status == pawl.ItemIsDone && len(items[i].Outputs) == 0 {
			items[i].Outputs = outputsOf(k.Step, items[i].ID)
		}
	}
	return items
}

// completedIn returns the subtasks that an agent's checkpoint calls complete; nil for a foreach step, whose items only the
// run knows.
func completedIn(e *editor, k *taskStep) map[pawl.ItemID]bool {
	called := map[pawl.ItemID]bool{}
	if k.Foreach != nil {
		return called
	}
	for _, entry := range entries(e) {
		if meaning(entry.Get("status").Text()) == complete {
			called[pawl.ItemIDOf(scalar(cmp.Or(entry.Get("id"), entry)))] = true
		}
	}
	return called
}

// outputsOf returns the files of a finished foreach item: its outputs without a pattern.
func outputsOf(s *pawl.Step, value string) []string {
	if s.Foreach == nil {
		return nil
	}
	var names []string
	for _, name := range s.Outputs {
		of := pawl.Expand(name, map[string]string{"PAWL_ITEM": value, "PAWL_ITEM_ID": string(pawl.ItemIDOf(value))})
		if of != name && !strings.ContainsAny(of, "*?[$") {
			names = append(names, of)
		}
	}
	return names
}

func (w *teamWriter) listed(item format.Item) listed {
	l := listed{ID: item.ID, Status: itemWord(item.Status)}
	if len(item.Outputs) > 0 {
		l.Output = &item.Outputs[0]
	}
	return l
}

// subtasks updates counts and list, and reports whether they changed. If the list is incomplete, the counts change by the
// difference in the list.
func (w *teamWriter) subtasks(e *editor, k *taskStep) bool {
	items := w.items(e, k)
	if len(items) == 0 && e.at("subtasks") == nil {
		if e.made {
			e.set(struct {
				Total     int `json:"total"`
				Completed int `json:"completed"`
			}{Total: 1}, "subtasks")
		}
	}
	before := string(e.root.Get("subtasks").Raw())
	whole := e.number("subtasks", "total") <= len(entries(e))
	done := e.number("subtasks", "completed")
	if len(entries(e)) == 0 && len(items) > 0 {
		done += w.list(e, k, items)
		whole = whole || e.made
	} else {
		done += w.mark(e, k, items)
	}
	w.count(e, k, items, whole, done)
	return e.at("subtasks") != nil && string(e.root.Get("subtasks").Raw()) != before
}

func entries(e *editor) []*jsonedit.Value {
	if list := e.at("subtasks", "items"); list != nil {
		return list.Items
	}
	return nil
}

// list writes a new list, and returns the number of complete subtasks.
func (w *teamWriter) list(e *editor, k *taskStep, items []format.Item) (done int) {
	all := []listed{}
	for _, item := range items[:min(len(items), maxItems)] {
		all = append(all, w.listed(item))
	}
	if e.at("subtasks", "total") == nil {
		e.set(len(items), "subtasks", "total")
		e.set(0, "subtasks", "completed")
	}
	e.set(all, "subtasks", "items")
	for _, item := range items {
		if item.Status == pawl.ItemIsDone {
			k.made = append(k.made, item.Outputs...)
			done++
		}
	}
	return done
}

// mark updates the entries of a list, and returns how many became complete.
func (w *teamWriter) mark(e *editor, k *taskStep, items []format.Item) (more int) {
	at := map[string]int{}
	for i, entry := range entries(e) {
		id := scalar(cmp.Or(entry.Get("id"), entry))
		at[id] = i
		at[string(pawl.ItemIDOf(id))] = i
	}
	for _, item := range items {
		i, known := at[item.ID]
		one := 0
		switch {
		case known:
			one = markOne(e, strconv.Itoa(i), item)
		case len(entries(e)) < maxItems:
			e.append(w.listed(item), "subtasks", "items")
			at[item.ID] = len(entries(e)) - 1
			if item.Status == pawl.ItemIsDone {
				one = 1
			}
		}
		if more += one; one > 0 {
			k.made = append(k.made, item.Outputs...)
		}
	}
	return more
}

func markOne(e *editor, i string, item format.Item) (more int) {
	entry := e.at("subtasks", "items", i)
	if !entry.Is(jsonedit.Object) {
		return 0
	}
	was := meaning(e.says("subtasks", "items", i, "status")).item()
	if len(item.Outputs) > 0 && e.at("subtasks", "items", i, "output") == nil {
		e.set(item.Outputs[0], "subtasks", "items", i, "output")
	}
	if was == item.Status {
		return 0
	}
	e.set(string(itemWord(item.Status)), "subtasks", "items", i, "status")
	switch pawl.ItemIsDone {
	case item.Status:
		return 1
	case was:
		return -1
	}
	return 0
}

// count updates the counts, from the list if that is complete.
func (w *teamWriter) count(e *editor, k *taskStep, items []format.Item, whole bool, done int) {
	if e.at("subtasks") == nil {
		return
	}
	total := max(e.number("subtasks", "total"), len(items), len(entries(e)))
	broken := 0
	if whole && len(items) > 0 {
		done = 0
		for _, item := range items {
			switch item.Status {
			case pawl.ItemIsDone:
				done++
			case pawl.ItemFailed:
				broken++
			}
		}
	}
	if k.taskStatus == complete && total == 1 && len(items)+len(entries(e)) == 0 {
		done = 1 // the task itself
	}
	e.set(total, "subtasks", "total")
	e.set(min(max(done, 0), total), "subtasks", "completed")
	if whole && len(items) > 0 {
		e.fill(broken, broken > 0, "subtasks", "failed")
	}
}

// context sets the last and the next action.
func (w *teamWriter) context(e *editor, k *taskStep) {
	last, next := "", ""
	for _, item := range w.items(e, k) {
		switch {
		case item.Status == pawl.ItemIsDone:
			last = item.ID
		case next == "" && item.Status != pawl.ItemDropped:
			next = item.ID
		}
	}
	if p := k.state.Progress; last == "" && p != nil {
		last = oneLine(p.Text)
	}
	for _, says := range []struct{ key, text string }{{"last_processed", last}, {"next_to_process", next}} {
		switch {
		case says.text != "":
			e.set(says.text, "context", says.key)
		case says.key == "next_to_process" || e.made:
			e.fill(nil, false, "context", says.key)
		}
	}
}

// errorEntry is an error in pawl's format.
type errorEntry struct {
	Type      string `json:"type"`
	Message   string `json:"message"`
	Timestamp string `json:"timestamp"`
	Blocking  bool   `json:"blocking"`
}

// The types of errors that pawl writes, and removes when they no longer apply.
const (
	typeBlocker = "blocker"
	typeAttempt = "attempt_ended"
	typeGate    = "waits_for_a_person"
	typeSkipped = "skipped"
)

// errors sets what blocks the task, and how its last attempt failed. It removes errors that no longer apply: pawl's own,
// others whose blocker a person cleared, and for a complete task all blocking ones.
func (w *teamWriter) errors(e *editor, k *taskStep, open, cleared []pawl.Blocker) {
	wanted := w.faults(k, slices.DeleteFunc(slices.Clone(open), func(b pawl.Blocker) bool { return w.Removed[b.ID] }))
	over := map[string]bool{}
	for _, b := range cleared {
		over[b.Text] = true
	}
	for _, b := range open {
		over[b.Text] = false
	}
	if list := e.at("errors"); list != nil {
		for i := len(list.Items) - 1; i >= 0; i-- {
			at := strconv.Itoa(i)
			kind, message := e.says("errors", at, "type"), e.says("errors", at, "message")
			same := slices.IndexFunc(wanted, func(t errorEntry) bool { return t.Message == message && (t.Type == kind || t.Type == typeBlocker) })
			switch {
			case same >= 0:
				wanted = slices.Delete(wanted, same, same+1)
			case isOurs(kind), over[cmp.Or(message, kind)], k.taskStatus == complete && e.at("errors", at, "blocking").True():
				e.remove("errors", at)
			}
		}
	}
	if e.made {
		e.set(append([]errorEntry{}, wanted...), "errors")
		return
	}
	for _, t := range wanted {
		e.append(t, "errors")
	}
}

func isOurs(kind string) bool {
	return kind == typeBlocker || kind == typeAttempt || kind == typeGate || kind == typeSkipped
}

// hasPawlError reports whether a checkpoint lists an error that pawl wrote.
func hasPawlError(e *editor) bool {
	list := e.at("errors")
	return list != nil && slices.ContainsFunc(list.Items, func(v *jsonedit.Value) bool { return isOurs(v.Get("type").Text()) })
}

// listedBlockers finds the open blockers of a run among the errors of their tasks' checkpoints. Escalations of the team are listed
// elsewhere.
func listedBlockers(files format.Files, v format.Export) map[int]format.ListedBlocker {
	w := newTeamWriter(files, v)
	all := map[int]format.ListedBlocker{}
	for _, k := range w.works {
		name := w.pathOf(k)
		e := edit(w.files.Data(name))
		open, _ := w.blockers(k.ID)
		for _, b := range open {
			if e != nil && !importedEscalation.MatchString(b.Text) {
				all[b.ID] = format.ListedBlocker{File: name, Listed: lists(e, b)}
			}
		}
	}
	return all
}

// lists reports whether a blocker is among the errors of a checkpoint.
func lists(e *editor, b pawl.Blocker) bool {
	list := e.at("errors")
	if list == nil || len(list.Items) == 0 {
		return b.Text == blockedByNothing && meaning(e.says("status")) == blocked
	}
	return slices.ContainsFunc(list.Items, func(v *jsonedit.Value) bool {
		text := cmp.Or(v.Get("message").Text(), v.Get("type").Text(), withoutMessage)
		if v.Is(jsonedit.String) {
			text = v.Text()
		}
		return oneLine(redact.OfProcess().Text(text)) == oneLine(b.Text)
	})
}

// faults returns the current errors of a step.
func (w *teamWriter) faults(k *taskStep, open []pawl.Blocker) []errorEntry {
	var all []errorEntry
	add := func(kind, message string, at time.Time, blocking bool) {
		all = append(all, errorEntry{Type: kind, Message: oneLine(message), Timestamp: stamp(cmp.Or(at, w.State.Created)), Blocking: blocking})
	}
	st := k.state
	for _, b := range open {
		add(typeBlocker, b.Text, b.Opened, true)
	}
	for _, g := range w.State.OpenGates() {
		if g.Step == k.ID {
			add(typeGate, g.Ask, g.Opened, true)
		}
	}
	switch last := st.Retries.Last; {
	case st.Status == pawl.Skipped:
		add(typeSkipped, cmp.Or(st.Why, "skipped by a person"), st.Ended, false)
	case st.Finished():
	case st.Status == pawl.FailedForGood:
		add(typeAttempt, cmp.Or(st.Why, "it failed"), st.Ended, true)
	case last != nil && last.Why != "" && len(w.live(k)) == 0 && len(open) == 0:
		add(typeAttempt, last.Why, st.Ended, false)
	}
	return all
}
