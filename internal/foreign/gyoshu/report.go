package gyoshu

import (
	"fmt"
	"strings"

	"pawl"
)

// StageRun is a stage that was carried out, as a report lists it.
type StageRun struct {
	Stage    string
	Status   string // completed, interrupted, failed
	Duration string
	Resumed  bool // it was interrupted before, and gone on with
}

// History returns the stages that markers speak of the end of, in their order. A failed stage is told as failed.
func History(markers []pawl.Marker) []StageRun {
	var runs []StageRun
	cut := map[string]bool{}
	for _, m := range markers {
		if m.Type != "STAGE" || m.Subtype == nil || *m.Subtype != "end" {
			continue
		}
		r := StageRun{Stage: m.Attributes["id"], Status: "completed", Duration: m.Attributes["duration"]}
		if r.Stage == "" {
			r.Stage = "unknown"
		}
		if status := m.Attributes["status"]; status == "interrupted" || status == "failed" {
			r.Status = status
		}
		r.Resumed = cut[r.Stage]
		cut[r.Stage] = r.Status == "interrupted"
		runs = append(runs, r)
	}
	return runs
}

// ExecutionHistory returns the section of a report that lists stages, without the marks around it.
func ExecutionHistory(runs []StageRun) string {
	signs := map[string]string{"completed": "✅", "interrupted": "⚠️", "failed": "❌"}
	var b strings.Builder
	b.WriteString("## Execution History\n\n| Stage | Status | Duration |\n|-------|--------|----------|\n")
	interrupted, resumed := map[string]bool{}, 0
	for _, r := range runs {
		duration := r.Duration
		if duration == "" {
			duration = "-"
		}
		fmt.Fprintf(&b, "| %s | %s %s | %s |\n", inTable(r.Stage), signs[r.Status], r.Status, inTable(duration))
		if r.Status == "interrupted" || r.Resumed {
			interrupted[r.Stage] = true
		}
		if r.Resumed {
			resumed++
		}
	}
	if len(interrupted) > 0 {
		fmt.Fprintf(&b, "\n*Note: %d stage(s) were interrupted, %d were resumed.*\n", len(interrupted), resumed)
	}
	return b.String()
}

func inTable(s string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", `\|`)
}

// historyBlock is the name of the marks around the section.
const historyBlock = "EXECUTION_HISTORY"

// WithBlock returns a report with text between the marks of a block: in place of what stands there, or behind all else. The
// rest stays as it is. A block that is not closed stays, and another one is put behind it.
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
