package rebuild

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// orphanAttempt returns an attempt that left records but is not in the journal. A supervisor starts only after the
// intent is durable, so the journal has lost its end. ok is false if there is none. It looks only for the next
// attempts of steps that have a folder, and for items only if they have a folder.
func orphanAttempt(p *project.Project, r *runs.Run) (ref pawl.AttemptRef, ok bool, err error) {
	home := filepath.Join(p.RunDir(r.State.Run), "steps")
	folder, err := disk.OpenFolder(home)
	if errors.Is(err, fs.ErrNotExist) { // no attempt has begun
		return ref, false, nil
	}
	if err != nil {
		return ref, false, err
	}
	defer folder.Close()
	begun := map[pawl.StepID]bool{}
	for _, step := range runs.Subfolders(home) {
		begun[pawl.StepID(step)] = true
	}
	for _, step := range r.Plan.Steps() {
		if !begun[step.ID] {
			continue
		}
		st := r.State.Steps[step.ID]
		if step.Foreach == nil {
			ref := pawl.AttemptRef{Step: step.ID, Attempt: 1}
			if st != nil {
				ref.Attempt = st.Retries.Attempt + 1
			}
			if disk.ExistsBelow(int(folder.Fd()), path.Join(string(step.ID), strconv.Itoa(ref.Attempt), pawl.JobFile)) {
				return ref, true, nil
			}
			continue
		}
		if ref, ok, err := orphanItemAttempt(p, r, step.ID, st); ok || err != nil {
			return ref, ok, err
		}
	}
	return ref, false, nil
}

func orphanItemAttempt(p *project.Project, r *runs.Run, step pawl.StepID, st *pawl.StepState) (ref pawl.AttemptRef, ok bool, err error) {
	begun := runs.Subfolders(filepath.Dir(p.AttemptDir(pawl.AttemptRef{Step: step}, r.State.Run)))
	if st.Finished() || len(begun) == 0 {
		return ref, false, nil
	}
	known, err := knownItems(r, st)
	if err != nil {
		return ref, false, err
	}
	for _, item := range begun {
		ref := pawl.AttemptRef{Step: step, Item: pawl.ItemID(item), Attempt: 1}
		if n, listed := known[ref.Item]; listed {
			ref.Attempt = n + 1
		} else if st != nil {
			ref.Attempt = st.BaseAttempt + 1
		}
		if ref.Attempt > 0 && hasJob(p, r.State.Run, ref) {
			return ref, true, nil
		}
	}
	return ref, false, nil
}

// knownItems returns the number of the last attempt of each listed item; -1 for finished items, which get another
// attempt only after they are reopened.
func knownItems(r *runs.Run, st *pawl.StepState) (map[pawl.ItemID]int, error) {
	if st == nil || st.Items == nil {
		return nil, nil
	}
	values, err := runs.ListedValues(r.Log, st.Items)
	if err != nil {
		return nil, err
	}
	known := make(map[pawl.ItemID]int, len(values))
	for index, value := range values {
		n := st.BaseAttempt
		if t := st.Items.Retries[index]; t != nil {
			n = max(n, t.Attempt)
		}
		if st.Items.Done.At(index) != 0 {
			n = -1
		}
		known[pawl.ItemIDOf(value)] = n
	}
	return known, nil
}

// hasJob reports whether an attempt has its supervisor's job file.
func hasJob(p *project.Project, run pawl.RunID, ref pawl.AttemptRef) bool {
	_, err := disk.Lstat(filepath.Join(p.AttemptDir(ref, run), pawl.JobFile))
	return err == nil
}
