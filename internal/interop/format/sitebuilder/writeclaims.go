package sitebuilder

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"pawl"
	"pawl/internal/interop/format"
)

// Keys of checkpoints. The last two are pawl's own.
const (
	filesCreated  = "files_created"
	filesModified = "files_modified"

	// filesUnconfirmed are those of the files above that an interrupted attempt left. Once the step is done, the snapshots around
	// it decide which of them it made. If they cannot, the files stay unconfirmed.
	filesUnconfirmed = "files_unconfirmed"
	// filesUnknown says why the files of a finished step are not known.
	filesUnknown = "files_unknown"
)

// claims lists the files that the step created and modified: outputs that are single files, those of newly finished items, and
// what the snapshots before and after it show. It removes unconfirmed files that the step did not make after all.
func (w *teamWriter) claims(e *editor, k *taskStep) {
	created, modified := w.outputFiles(e, k)
	made, left := w.filesOf(k), w.leftBehind(k)
	created = slices.Concat(created, w.itemOutputs(k), made.Created, left.Created)
	modified = slices.Concat(modified, made.Modified, left.Modified)
	pending := textsOf(e, filesUnconfirmed)
	running := len(w.live(k)) > 0
	if !running && made.Unknown == "" {
		dropped := func(name string) bool {
			return slices.Contains(pending, name) && !slices.Contains(created, w.root+name) && !slices.Contains(modified, w.root+name)
		}
		dropEntries(e, filesCreated, dropped)
		dropEntries(e, filesModified, dropped)
	}
	known := listedFiles(e)
	open := w.unconfirmed(known, pending, slices.Concat(left.Created, left.Modified))
	if made.Unknown != "" {
		open = pending
	}
	w.claim(e, filesCreated, known, created)
	w.claim(e, filesModified, known, modified)
	switch {
	case running || slices.Equal(open, pending):
	case len(open) > 0:
		e.set(open, filesUnconfirmed)
	default:
		e.remove(filesUnconfirmed)
	}
	switch {
	case k.taskStatus != complete || k.settled:
	case made.Unknown != "":
		e.set(made.Unknown+"; only declared outputs are listed", filesUnknown)
	case e.root.Get(filesUnknown) != nil:
		e.remove(filesUnknown)
	}
}

// claim adds names to a list, which every new checkpoint has.
func (w *teamWriter) claim(e *editor, key string, known map[string]bool, names []string) {
	news := []string{}
	for _, name := range names {
		if name = strings.TrimPrefix(name, w.root); !known[name] {
			known[name] = true
			news = append(news, name)
		}
	}
	if e.made {
		e.set(news, key)
		return
	}
	for _, name := range news {
		e.append(name, key)
	}
}

// unconfirmed returns the files that an interrupted attempt left, except those that the task's agent listed itself.
func (w *teamWriter) unconfirmed(known map[string]bool, pending, left []string) []string {
	var open []string
	for _, name := range left {
		if name = strings.TrimPrefix(name, w.root); !known[name] || slices.Contains(pending, name) {
			open = append(open, name)
		}
	}
	return open
}

// outputFiles returns the recorded outputs of a step that are single files: as modified those that existed before it, unless the
// checkpoint lists them already.
func (w *teamWriter) outputFiles(e *editor, k *taskStep) (created, modified []string) {
	known := listedFiles(e)
	for _, path := range slices.Sorted(maps.Keys(k.state.Outputs)) {
		name, ok := w.inDir(path)
		switch c := k.state.Outputs[path]; {
		case !ok || c.Files > 0 || c.SHA256 == "":
		case !known[strings.TrimPrefix(name, w.root)] && w.existed(k.ID, path):
			modified = append(modified, name)
		default:
			created = append(created, name)
		}
	}
	return created, modified
}

// itemOutputs returns the outputs of newly finished items.
func (w *teamWriter) itemOutputs(k *taskStep) []string {
	names := slices.Clone(k.made)
	for i, path := range names {
		if name, ok := w.inDir(path); ok {
			names[i] = name
		}
	}
	return names
}

// existed reports whether a file is known to have existed before a step.
func (w *teamWriter) existed(id pawl.StepID, path string) bool {
	if w.Existed == nil {
		return false
	}
	existed, known := w.Existed(id, path)
	return known && existed
}

// filesOf returns the files of a finished step. Those in a checkpoint that is archived already stay as they are.
func (w *teamWriter) filesOf(k *taskStep) format.StepFiles {
	if w.Files == nil || k.taskStatus != complete || k.settled {
		return format.StepFiles{}
	}
	made := w.Files(k.ID)
	made.Created, made.Modified = w.allInDir(made.Created), w.allInDir(made.Modified)
	return made
}

// leftBehind returns the unfinished work of a step that is not running.
func (w *teamWriter) leftBehind(k *taskStep) format.Partial {
	if w.Partial == nil || k.taskStatus == complete || k.state.Attempts == 0 || len(w.live(k)) > 0 {
		return format.Partial{}
	}
	if p := w.Partial(k.ID); p != nil {
		return format.Partial{Created: w.allInDir(p.Created), Modified: w.allInDir(p.Modified)}
	}
	return format.Partial{}
}

// inDir returns a path in the project relative to the folder that holds the team's files, and whether it lies in it.
func (w *teamWriter) inDir(path string) (string, bool) {
	if w.Dir == "" {
		return path, true
	}
	return strings.CutPrefix(path, w.Dir+"/")
}

func (w *teamWriter) allInDir(paths []string) []string {
	var names []string
	for _, path := range paths {
		if name, ok := w.inDir(path); ok {
			names = append(names, name)
		}
	}
	return names
}

// listedFiles returns the files that a checkpoint lists.
func listedFiles(e *editor) map[string]bool {
	known := map[string]bool{}
	for _, name := range slices.Concat(textsOf(e, filesCreated), textsOf(e, filesModified)) {
		known[name] = true
	}
	return known
}

// textsOf returns the texts in a list.
func textsOf(e *editor, key string) []string {
	var all []string
	if list := e.at(key); list != nil {
		for _, item := range list.Items {
			all = append(all, scalar(item))
		}
	}
	return all
}

// dropEntries removes texts from a list.
func dropEntries(e *editor, key string, drop func(string) bool) {
	for i, name := range slices.Backward(textsOf(e, key)) {
		if drop(name) {
			e.remove(key, strconv.Itoa(i))
		}
	}
}
