package checkpointview

import (
	"fmt"
	"io"

	"pawl/internal/cli/layout"
	"pawl/internal/oneline"
	"pawl/internal/snapshot"
)

// PrintStat prints how many lines of each path changed.
func PrintStat(out io.Writer, stats []snapshot.Stat) {
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
