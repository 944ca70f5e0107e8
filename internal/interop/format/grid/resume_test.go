package grid_test

import (
	"strings"
	"testing"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/formattest"
	"pawl/internal/interop/format/grid"
)

// TestResumePoints: where to resume, by type of checkpoint, by a person's answer, by wave, by block.
func TestResumePoints(t *testing.T) {
	t.Parallel()
	const threads = "block: \"02\"\nthread: 2\nthread_name: Look\ncompleted_threads:\n- {id: \"02.1\", name: a, status: complete}\npending_threads:\n- {id: \"02.3\", name: c, status: pending}\n"
	state := strings.NewReplacer("block: 3", "block: 2", "block_total: 4", "block_total: 3").Replace(interrupted)
	tests := []struct {
		name, checkpoint string
		next             string
		status           pawl.RunStatus
		step             pawl.StepStatus
	}{
		{"human_verify waits", "type: human_verify\n", "thread 02.2 of block 02 waits for a person's approval", pawl.StatusWaiting, pawl.AwaitsGate},
		{"checkpoint is a human_verify", "type: checkpoint\n", "thread 02.2 of block 02 waits for a person's approval", pawl.StatusWaiting, pawl.AwaitsGate},
		{"approved goes on behind it", "type: human_verify\nuser_response: \"Approved.\"\n",
			"continue with thread 02.3 of block 02: the checkpoint before it was approved", pawl.StatusInterrupted, pawl.Running},
		{"issues go on with it", "type: human_verify\nuser_response: the button is green\n",
			"continue with thread 02.2 of block 02; the person rejected it: the button is green", pawl.StatusInterrupted, pawl.Running},
		{"human_action waits", "type: human_action\nawaiting: log in\n", "thread 02.2 of block 02 waits for a person to act", pawl.StatusWaiting, pawl.AwaitsGate},
		{"acted goes on behind it", "type: human_action\nuser_response: done\n",
			"continue with thread 02.3 of block 02: the checkpoint before it was approved", pawl.StatusInterrupted, pawl.Running},
		{"decision waits", "type: decision\n", "thread 02.2 of block 02 waits for a decision", pawl.StatusWaiting, pawl.AwaitsGate},
		{"a choice goes on with it", "type: decision\nuser_response: sqlite\n",
			"continue with thread 02.2 of block 02; the person chose: sqlite", pawl.StatusInterrupted, pawl.Running},
		{"session_death goes on", "type: session_death\n", "continue with thread 02.2 of block 02, where the session died", pawl.StatusInterrupted, pawl.Running},
		{"failure asks", "type: failure\nerror: no key\n",
			"thread 02.2 of block 02 failed: no key. A person decides: retry it, roll back, or finish it manually", pawl.StatusFailed, pawl.FailedForGood},
	}
	for _, tt := range tests {
		r, findings := grid.Format().Read(folder(".grid/STATE.md", state, ".grid/CHECKPOINT.md", "---\n"+tt.checkpoint+threads+"---\n",
			".grid/01-SUMMARY.md", "---\nblock: 01\n---\n"), format.Env{Now: now})
		if r.Next != tt.next || r.Status != tt.status || formattest.Step(t, r, "02").Status != tt.step || r.Position.StepID != "02" || len(findings) > 0 {
			t.Errorf("%s: %q, %s, %s, %v", tt.name, r.Next, r.Status, formattest.Step(t, r, "02").Status, findings)
		}
	}
	for complete, next := range map[string]string{
		"01":       "next block of wave 1 (1 of 2 done): block 02",
		"01 02":    "wave 1 is complete: begin wave 2 with block 03",
		"01 02 03": "all blocks are complete; the mission can be closed",
	} {
		files := folder(".grid/STATE.md", strings.Replace(state, "block: 2", "block: 1", 1),
			".grid/plans/c-PLAN-SUMMARY.md", "---\nwave_structure: {1: [01, 02], 2: [03]}\n---\n")
		for _, id := range strings.Fields(complete) {
			files = append(files, folder(".grid/"+id+"-SUMMARY.md", "---\nblock: "+id+"\n---\n")...)
		}
		if r, _ := grid.Format().Read(files, format.Env{Now: now}); r.Next != next {
			t.Errorf("%s are complete: %q, want %q", complete, r.Next, next)
		}
	}
}
