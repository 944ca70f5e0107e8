package hints

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/project"
	"pawl/internal/shellwords"
)

// Elsewhere returns an error for a command about a run, given outside of a project, with a hint to the project that the user probably
// means: the one that was used last, if possible with an unfinished run. Other errors stay as they are.
func Elsewhere(command string, err error) error {
	if !errors.Is(err, pawl.ErrNoProject) || !aboutRun(command) {
		return err
	}
	known, _ := project.List() // unreadable entries are not known
	known = slices.DeleteFunc(known, func(e project.Entry) bool { return !e.Live() })
	if len(known) == 0 {
		return &pawl.Error{Kind: pawl.KindNothing, Err: fmt.Errorf("%w; change to the folder where you started the run", err), Hint: "pawl -C FOLDER " + command}
	}
	last := slices.MaxFunc(known, func(a, b project.Entry) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), a.Updated.Compare(b.Updated))
	})
	what := "last project"
	if rank(last) > 0 {
		what = "last project without a completed run"
	}
	return &pawl.Error{Kind: pawl.KindNothing, Err: fmt.Errorf("%w; your %s is %s (pawl runs --all lists all)", err, what, last.Path), Hint: "cd " + shellwords.Word(last.Path)}

}

// rank orders projects: one whose run is completed comes last.
func rank(e project.Entry) int {
	if e.Status == pawl.StatusCompleted {
		return 0
	}
	return 1
}

// aboutRun reports whether a command needs a run, which only a project can have.
func aboutRun(command string) bool {
	return slices.Contains(runAsArgument, command) || slices.Contains(runAsFlag, command) || strings.Contains(" archive checkpoints fork processes restore rollback runs show verify ", " "+command+" ")
}
