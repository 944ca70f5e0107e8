package gyoshu

import (
	"cmp"
	"fmt"
	"strings"
)

// stageRun is an executed stage in a report.
type stageRun struct {
	stage       string
	status      string // completed, interrupted, failed
	duration    string // empty if unknown
	interrupted bool   // at least once
	resumed     bool   // at least once since
}

// executionHistory returns the section of a report that lists stages, without the block's markers.
func executionHistory(runs []stageRun) string {
	signs := map[string]string{"completed": "✅", "interrupted": "⚠️", "failed": "❌"}
	var b strings.Builder
	b.WriteString("## Execution History\n\n| Stage | Status | Duration |\n|-------|--------|----------|\n")
	interrupted, resumed := 0, 0
	for _, r := range runs {
		fmt.Fprintf(&b, "| %s | %s %s | %s |\n", r.stage, signs[r.status], r.status, cmp.Or(r.duration, "-"))
		if r.interrupted {
			interrupted++
		}
		if r.resumed {
			resumed++
		}
	}
	if interrupted > 0 {
		fmt.Fprintf(&b, "\n*Note: %d stage(s) were interrupted, %d were resumed.*\n", interrupted, resumed)
	}
	return b.String()
}

// historyBlock is the name of the section's block.
const historyBlock = "EXECUTION_HISTORY"

// WithBlock returns a report with text between the markers of a block, in place of its old content or at the end. The rest
// stays as it is. It does not change a block without an end marker, but appends another one.
func WithBlock(report, name, text string) string {
	begin, end := "<!-- GYOSHU:REPORT:"+name+":BEGIN -->", "<!-- GYOSHU:REPORT:"+name+":END -->"
	newline := "\n"
	if 2*strings.Count(report, "\r\n") > strings.Count(report, "\n") {
		newline = "\r\n"
	}
	block := begin + newline + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", newline) + newline + newline + end
	from := strings.Index(report, begin)
	if from >= 0 {
		if size := strings.Index(report[from:], end); size >= 0 {
			return report[:from] + block + report[from+size+len(end):]
		}
	}
	if report != "" && !strings.HasSuffix(report, "\n") {
		report += newline
	}
	if report != "" {
		report += newline
	}
	return report + block + newline
}
