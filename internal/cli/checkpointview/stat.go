package checkpointview

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"pawl/internal/cli/layout"
	"pawl/internal/oneline"
	"pawl/internal/snapshot"
)

// DiffForm is how much of a difference is printed.
type DiffForm string

// The forms.
const (
	Patch DiffForm = "patch" // the changed lines
	Stats DiffForm = "stat"  // how many of each file
	Paths DiffForm = "names" // only the paths
)

// PrintDiff prints a difference.
func PrintDiff(w io.Writer, compared *snapshot.Comparison, form DiffForm) error {
	out := bufio.NewWriter(w)
	switch form {
	case Paths:
		for _, c := range compared.Changes {
			fmt.Fprintln(out, oneline.Path(c.Path))
		}
	case Stats:
		stats, err := compared.Stat()
		if err != nil {
			return err
		}
		printStat(out, stats)
	default:
		if err := compared.Patch(out); err != nil {
			return errors.Join(err, out.Flush())
		}
	}
	return out.Flush()
}

// printStat prints how many lines of each path changed.
func printStat(out io.Writer, stats []snapshot.Stat) {
	width, added, removed := 0, 0, 0
	for _, s := range stats {
		width = max(width, len(oneline.Path(s.Path)))
	}
	for _, s := range stats {
		if s.Binary {
			fmt.Fprintf(out, "%-*s  binary, %s\n", width, oneline.Path(s.Path), signedBytes(s.Bytes))
			continue
		}
		fmt.Fprintf(out, "%-*s  +%d -%d\n", width, oneline.Path(s.Path), s.Added, s.Removed)
		added, removed = added+s.Added, removed+s.Removed
	}
	fmt.Fprintf(out, "%s changed, %s added, %s removed\n", layout.Count(len(stats), "path"), layout.Count(added, "line"), layout.Count(removed, "line"))
}

func signedBytes(n int64) string {
	if n < 0 {
		return "-" + layout.ByteSize(-n)
	}
	return "+" + layout.ByteSize(n)
}
