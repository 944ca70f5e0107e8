package projectstate

import (
	"cmp"
	"fmt"
	"strings"

	"pawl/internal/evidence"
	"pawl/internal/interop/format"
)

// prompt is the decision's own question to a model, with verified facts: it counts tests as tests, skips ignored files, and
// calls a file recent if it changed less than an hour before the last recorded action or since.
func (r *tablesReader) prompt(out *format.Project, e *entry, c evidence.Census) string {
	var b strings.Builder
	fmt.Fprintf(&b, `You are recovering a project after an interruption.

Project Goal: %s
Current Task: %s
Last Action: %s

File State:
- Total files: %d
- Source files: %d
- Test files: %d
- Config files: %d
- Recently modified: %d files
`, cmp.Or(out.Goal, "not recorded"), cmp.Or(e.task, "none"), cmp.Or(clip(e.action, 500), "not recorded"), c.Total, c.Kinds[evidence.Source],
		c.Kinds[evidence.Test], c.Kinds[evidence.Settings], c.Recent)
	for _, name := range c.Files[:min(len(c.Files), 10)] {
		fmt.Fprintf(&b, "  - %s\n", clip(name, 200))
	}
	fmt.Fprintf(&b, `
Task History: %d tasks completed

Based on this state, decide the best recovery action:
1. "continue_task" - Continue with current task (appears incomplete)
2. "restart_task" - Restart current task from beginning (partial work unclear)
3. "next_task" - Move to next task (current task appears complete)
4. "human_review" - Unclear state, need human input

Provide your decision and reasoning.
`, len(e.completed))
	return b.String()
}
