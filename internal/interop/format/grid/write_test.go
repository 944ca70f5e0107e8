package grid_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aymanbagabas/go-udiff"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/formattest"
	"pawl/internal/interop/format/grid"
)

const blogPlan = `
name: blog
mode: guided
budget: {tokens: 1000}
phases:
  - name: Foundation
    steps:
      - {id: setup, name: Set up Astro, run: "true", outputs: [package.json]}
  - name: Core
    steps:
      - {id: layout, name: "Layout: dark mode", run: "true", needs: []}
      - {id: posts, name: Posts, run: "true", needs: []}
      - {id: look, name: Look at it, gate: {type: human_verify, ask: "Does it look right?\nVisit /", expect: "It is dark."}}
`

// story is a run in progress, with the folder that its mirror writes.
type story struct {
	*formattest.Run
	disk     format.Files
	memories []pawl.Memory
	learned  map[pawl.StepID][]pawl.Memory
	items    map[pawl.StepID][]format.Item
	partial  map[pawl.StepID]*format.Partial
}

func begin(t *testing.T, plan string, disk format.Files) *story {
	t.Helper()
	p := formattest.Plan(t, plan)
	s := &story{Run: formattest.New(t, p, now.Add(-time.Hour)), disk: slices.Clone(disk), items: map[pawl.StepID][]format.Item{}}
	s.Add(pawl.RunCreated{Format: 1, Run: "blog-20260123-153000-abcd", Kind: pawl.PlanRun, Name: p.Name},
		pawl.RunPlanned{Revision: 1, Steps: len(p.Steps()), Mode: p.Mode})
	return s
}

func (s *story) view(why format.Trigger, status pawl.RunStatus) format.Export {
	return format.Export{
		Now: s.Now, Root: "/project", State: s.State, Plan: s.Plan, Status: status, Memories: s.memories, Checkpoint: s.State.LastSave, Trigger: why,
		Items:     func(id pawl.StepID) []format.Item { return s.items[id] },
		Partial:   func(id pawl.StepID) *format.Partial { return s.partial[id] },
		LearnedIn: func(id pawl.StepID) []pawl.Memory { return s.learned[id] },
	}
}

// write calls Write, and checks that nothing is left to write then and that it reads what it wrote.
func (s *story) write(why format.Trigger, status pawl.RunStatus) []format.File {
	s.T.Helper()
	v := s.view(why, status)
	out := grid.Format().Write(s.wanted(), v)
	for _, f := range out {
		s.disk = formattest.Without(s.disk, f.Path)
		if f.Data != nil {
			s.disk = append(s.disk, format.File{Path: f.Path, Data: f.Data, Changed: s.Now})
		}
	}
	for _, f := range grid.Format().Write(s.wanted(), v) {
		s.T.Errorf("%s: %s would be written again:\n%s", why, f.Path, f.Data)
	}
	_, findings := grid.Format().Read(s.wanted(), format.Env{Now: s.Now})
	for _, f := range findings {
		if f.Level == pawl.Bad {
			s.T.Errorf("%s: %+v", why, f)
		}
	}
	return out
}

// wanted returns the files that the format reads, as they are on disk.
func (s *story) wanted() format.Files { return slices.Clone(wanted(s.disk)) }

// tell adds what was written to a golden file.
func tell(a *txtar.Archive, why format.Trigger, files []format.File) {
	name := func(what string) string { return fmt.Sprintf("%s: %s", why, what) }
	if len(files) == 0 {
		a.Files = append(a.Files, txtar.File{Name: name("nothing")})
	}
	for _, f := range files {
		if f.Data == nil {
			a.Files = append(a.Files, txtar.File{Name: name("without " + f.Path)})
			continue
		}
		a.Files = append(a.Files, txtar.File{Name: name(f.Path), Data: f.Data})
	}
}

func started(step pawl.StepID, attempt int) pawl.AttemptStarted {
	return pawl.AttemptStarted{AttemptRef: ref(step, attempt)}
}

func ref(step pawl.StepID, attempt int) pawl.AttemptRef {
	return pawl.AttemptRef{Step: step, Attempt: attempt, Token: pawl.Token(fmt.Sprintf("%s%d", step, attempt))}
}

func done(step pawl.StepID, attempt int, outputs pawl.Outputs) pawl.StepDone {
	return pawl.StepDone{Step: step, Attempt: attempt, Token: ref(step, attempt).Token, Outputs: outputs, Summary: "It is done.\nAll of it."}
}

// TestMirrorOfARun follows a run from its beginning to its end, with everything that the document writes down.
func TestMirrorOfARun(t *testing.T) {
	t.Parallel()
	s := begin(t, blogPlan, nil)
	a := &txtar.Archive{Comment: []byte("What is written at each moment of a run, into an empty folder.\n")}
	at := func(why format.Trigger, status pawl.RunStatus) { tell(a, why, s.write(why, status)) }

	s.Add(pawl.EngineStarted{Epoch: 1, PID: 1})
	at(format.Began, pawl.StatusActive)
	s.Add(started("setup", 1))
	at(format.StepBegan, pawl.StatusActive)
	s.memories = append(s.memories, pawl.Memory{Kind: pawl.Pattern, Text: "Astro keeps\nposts in collections"}, pawl.Memory{Kind: pawl.Fragile, Text: `the "theme" script`})
	s.Add(pawl.MemoryLearned{Memory: s.memories[0]})
	at(format.Learned, pawl.StatusActive)
	s.Add(done("setup", 1, pawl.Outputs{"package.json": {SHA256: strings.Repeat("ab", 32), Size: 120}}))
	at(format.StepEnded, pawl.StatusActive)
	at(format.WaveEnded, pawl.StatusActive)

	s.items["layout"] = []format.Item{
		{ID: "base", Name: "Create BaseLayout", Status: pawl.ItemIsDone, Commit: "abc1234", Outputs: []string{"src/Base.astro"}},
		{ID: "toggle", Name: "Toggle: on and off", Status: pawl.ItemRunning}, {ID: "check", Status: pawl.ItemPending},
	}
	s.Add(started("layout", 1), started("posts", 1))
	at(format.StepBegan, pawl.StatusActive)
	s.Now = s.Now.Add(6 * time.Minute)
	at(format.Beat, pawl.StatusActive)
	s.Add(pawl.BlockerOpened{Blocker: pawl.Blocker{Text: "no login", Step: "layout", Needs: "run `vercel login`", Opened: s.Now.UTC()}})
	s.Add(pawl.DecisionMade{Decision: pawl.Decision{Question: "Which theme?", Options: []string{"light", "dark"}, Choice: "dark", Why: "developers", Step: "layout", Time: s.Now.UTC()}})
	at(format.Learned, pawl.StatusActive)

	s.partial = map[pawl.StepID]*format.Partial{"layout": {Created: []string{"src/Toggle.astro"}, Staged: true, Last: "Writing: the toggle"}}
	s.Add(pawl.EngineStopped{Why: "interrupted"})
	at(format.Interrupted, pawl.StatusInterrupted)
	s.Add(pawl.EngineStarted{Epoch: 2, PID: 2}, pawl.BlockerCleared{ID: 1, How: "logged in"})
	at(format.Began, pawl.StatusActive)

	s.items["layout"][1].Status, s.items["layout"][1].Commit = pawl.ItemIsDone, "def5678"
	s.items["layout"][2].Status = pawl.ItemIsDone
	s.Add(done("layout", 1, nil))
	s.Add(done("posts", 1, nil))
	at(format.WaveEnded, pawl.StatusActive)
	step := s.Plan.Step("look")
	s.Add(pawl.GateOpened{Gate: step.Gate.Gate("look", "", s.Now)})
	at(format.GateOpened, pawl.StatusWaiting)
	s.Add(pawl.GateAnswered{Gate: s.State.Gates[0].ID, Step: "look", Answer: pawl.Approved})
	at(format.GateClosed, pawl.StatusInterrupted)
	s.Add(pawl.StepDone{Step: "look"}, pawl.RunEnded{Status: pawl.StatusCompleted})
	s.disk = append(formattest.Without(s.disk, ".grid/SCRATCHPAD.md"), format.File{Path: ".grid/SCRATCHPAD.md", Data: []byte("# Scratchpad\n- the toggle flickers\n")})
	at(format.RunEnded, pawl.StatusCompleted)
	at(format.Exported, pawl.StatusCompleted)
	golden(t, filepath.Join("testdata", "write", "run.txtar"), txtar.Format(a))
}

// TestMirrorReadsAsTheRun: what is read of a mirror says what the run says.
func TestMirrorReadsAsTheRun(t *testing.T) {
	t.Parallel()
	s := begin(t, blogPlan, nil)
	s.Add(pawl.EngineStarted{Epoch: 1, PID: 1}, started("setup", 1))
	s.Add(done("setup", 1, nil))
	s.Add(started("layout", 1))
	s.memories = []pawl.Memory{{Kind: pawl.Gotcha, Text: "a: b"}, {Kind: pawl.DecisionMem, Text: "c"}}
	s.write(format.Interrupted, pawl.StatusInterrupted)
	r, findings := grid.Format().Read(s.wanted(), format.Env{Now: s.Now})
	if len(findings) > 0 {
		t.Error(findings)
	}
	position := s.State.Position(s.Plan)
	position.StepID, position.StepName, position.Wave, position.WaveTotal = "02", "", 2, 3
	position.Item, position.ItemTotal = 1, 1 // a checkpoint of The Grid always has a thread
	r.Position.StepName = ""
	if diff := cmp.Diff(position, r.Position); diff != "" {
		t.Errorf("position: -run +read:\n%s", diff)
	}
	if r.Status != pawl.StatusInterrupted || r.Percent != s.State.Percent(s.Plan) || r.Mode != pawl.Guided || !r.Updated.Equal(s.State.Updated.Truncate(time.Second)) {
		t.Errorf("%+v", r)
	}
	if diff := cmp.Diff(s.memories, r.Memories); diff != "" {
		t.Error(diff)
	}
}

// resumed returns the story of a run that was imported from a fixture, at the point where it resumes.
func resumed(t *testing.T, fixture string) (*story, format.Project) {
	t.Helper()
	files, log := project(t, fixture)
	r, _ := readAll(files, log)
	var plan strings.Builder
	fmt.Fprintf(&plan, "name: %q\n", r.Name)
	if r.Mode != "" {
		fmt.Fprintf(&plan, "mode: %s\n", r.Mode)
	}
	plan.WriteString("phases:\n")
	for _, phase := range r.Phases {
		fmt.Fprintf(&plan, "  - name: %q\n    steps:\n", phase.Name)
		for _, step := range phase.Steps {
			fmt.Fprintf(&plan, "      - {id: %q, name: %q, run: \"true\"%s}\n", step.ID, step.Name, needsOf(phase, step))
		}
	}
	s := begin(t, plan.String(), files)
	s.Add(pawl.RunImported{System: "grid", Name: r.Name})
	s.Now = now
	s.memories = r.Memories
	for _, phase := range r.Phases {
		for _, step := range phase.Steps {
			s.items[step.ID] = step.Items
			switch step.Status {
			case pawl.Done:
				s.Add(pawl.StepDone{Step: step.ID, Adopted: "imported: grid says so"})
			case pawl.FailedForGood:
				s.Add(pawl.StepFailed{Step: step.ID, Why: step.Why})
			}
		}
	}
	for _, d := range r.Decisions {
		s.Add(pawl.DecisionMade{Decision: d})
	}
	for _, b := range r.Blockers {
		cleared := !b.Cleared.IsZero()
		b.Cleared = time.Time{}
		s.Add(pawl.BlockerOpened{Blocker: b})
		if cleared {
			s.Add(pawl.BlockerCleared{ID: b.ID, How: b.How})
		}
	}
	for _, g := range r.Gates {
		s.Add(pawl.GateOpened{Gate: g.Gate})
		if g.Answer != "" {
			s.Add(*g.Means)
		}
	}
	s.Add(pawl.RunImported{System: "grid"})
	return s, r
}

// needsOf returns what a step needs in its phase, as a plan says it.
func needsOf(phase format.Phase, step format.Step) string {
	if step.Needs == nil {
		return ""
	}
	var inside []string
	for _, other := range phase.Steps {
		if slices.Contains(step.Needs, other.ID) {
			inside = append(inside, fmt.Sprintf("%q", other.ID))
		}
	}
	return ", needs: [" + strings.Join(inside, ", ") + "]"
}

// TestMirrorChangesOnlyWhatDiffers resumes each fixture and compares all changes of its files with a golden patch.
func TestMirrorChangesOnlyWhatDiffers(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("testdata/read/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			s, r := resumed(t, name)
			a := &txtar.Archive{Comment: []byte("What a run that goes on changes in the files of " + name + ".\n")}
			defer func() { golden(t, filepath.Join("testdata", "write", "patches-"+filepath.Base(name)), txtar.Format(a)) }()
			at := func(why format.Trigger, status pawl.RunStatus) {
				before := slices.Clone(s.disk)
				tell(a, why, patches(before, s.write(why, status)))
			}
			at(format.Exported, r.Status)
			step := r.Position.StepID
			if step == "" {
				return
			}
			if s.State.Steps[step] != nil && s.State.Steps[step].Status == pawl.FailedForGood {
				s.Add(pawl.StepReopened{Step: step, Why: "again", Asked: true})
			}
			s.Add(pawl.EngineStarted{Epoch: 1, PID: 1}, started(step, 1))
			at(format.Began, pawl.StatusActive)
			s.memories = append(slices.Clone(s.memories), pawl.Memory{Kind: pawl.Gotcha, Text: "new: gotcha"}, pawl.Memory{Kind: pawl.Fragile, Text: "new fragile"})
			for _, g := range s.State.OpenGates() {
				if g.Step == step {
					s.Add(pawl.GateWithdrawn{Gate: g.ID, Why: "step ended"})
				}
			}
			s.Add(done(step, 1, nil))
			at(format.StepEnded, pawl.StatusActive)
			at(format.Learned, pawl.StatusActive)
			at(format.Exported, pawl.StatusActive)
		})
	}
}

// patches returns what was written as what is changed of what was there.
func patches(before format.Files, out []format.File) []format.File {
	for i, f := range out {
		if old := before.Find(f.Path); old != nil && f.Data != nil {
			out[i].Data = []byte(udiff.Unified("", "", string(old.Data), string(f.Data)))
		}
	}
	return out
}

// TestPlanOfABlock: a plan that pawl wrote follows the run's plan, until somebody changes it; one of others never does.
func TestPlanOfABlock(t *testing.T) {
	t.Parallel()
	s := begin(t, blogPlan, format.Files{{Path: ".grid/plans/blog-block-03.md", Data: []byte("# Block 03: Mine\n")}})
	s.Add(pawl.EngineStarted{Epoch: 1, PID: 1})
	s.write(format.Began, pawl.StatusActive)
	edited := []byte(string(s.disk.Find(".grid/plans/blog-block-02.md").Data) + "Mind the gap.\n")
	s.disk = append(formattest.Without(s.disk, ".grid/plans/blog-block-02.md"), format.File{Path: ".grid/plans/blog-block-02.md", Data: edited})

	for _, id := range []pawl.StepID{"setup", "layout", "posts"} {
		s.Plan.Step(id).Run = "echo ```"
	}
	s.write(format.Began, pawl.StatusActive)
	for name, want := range map[string]bool{"01": true, "02": false, "03": false} {
		if got := strings.Contains(string(s.disk.Find(".grid/plans/blog-block-"+name+".md").Data), "echo ```"); got != want {
			t.Errorf("block %s follows the plan: %v", name, got)
		}
	}
	s.Add(started("setup", 1), done("setup", 1, nil))
	s.Plan.Step("setup").Run = "false"
	s.write(format.Exported, pawl.StatusActive)
	if strings.Contains(string(s.disk.Find(".grid/plans/blog-block-01.md").Data), "false") {
		t.Error("the plan of a finished block changes")
	}
	for _, f := range grid.Format().Verify(s.wanted(), format.Env{Now: s.Now}) {
		if f.Level == pawl.Bad {
			t.Errorf("%+v", f)
		}
	}
}

// TestMirrorKeepsLineEnds: with CRLF and a byte order mark in all files, what is changed has them too.
func TestMirrorKeepsLineEnds(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"testdata/read/prose.txtar", "testdata/read/approved.txtar", "testdata/read/document.txtar"} {
		s, r := resumed(t, name)
		for i, f := range s.disk {
			s.disk[i].Data = []byte("\uFEFF" + strings.ReplaceAll(string(f.Data), "\n", "\r\n"))
		}
		again, _ := grid.Format().Read(s.wanted(), format.Env{Now: now})
		if again.Next != r.Next || again.Position != r.Position || len(again.Memories) != len(r.Memories) {
			t.Errorf("%s: with CRLF it reads otherwise: %+v, %+v", name, again, r)
		}
		before := slices.Clone(s.disk)
		s.Add(pawl.EngineStarted{Epoch: 1, PID: 1}, started(r.Position.StepID, 1), done(r.Position.StepID, 1, nil))
		s.memories = append(s.memories, pawl.Memory{Kind: pawl.Gotcha, Text: "new"})
		changed := 0
		for _, f := range s.write(format.Exported, pawl.StatusActive) {
			if before.Find(f.Path) == nil || f.Data == nil {
				continue
			}
			changed++
			if text := string(f.Data); strings.Count(text, "\n") != strings.Count(text, "\r\n") || !strings.HasPrefix(text, "\uFEFF") {
				t.Errorf("%s, %s: %q", name, f.Path, text)
			}
		}
		if changed < 1 {
			t.Errorf("%s: only %d files were changed", name, changed)
		}
	}
}

// TestSignsOfLifeNeverGoBack: a sign of life may be newer than the newest event; a later write leaves it, and leaves a
// time that says the same in other words. A time in the future is put right.
func TestSignsOfLifeNeverGoBack(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"2026-01-23T15:40:00Z":      "2026-01-23T15:40:00Z",
		"2026-01-23T16:32:00+01:00": "2026-01-23T16:32:00+01:00", // the newest event's
		"2026-01-23T16:33:00":       "2026-01-23T16:33:00",
		"2026-01-23T15:30:00Z":      "2026-01-23T15:32:00Z",
		"2027-01-23T15:30:00Z":      "2026-01-23T15:32:00Z",
		"some day":                  "2026-01-23T15:32:00Z",
	} {
		s := begin(t, blogPlan, folder(".grid/STATE.md", "---\ncluster: blog\nstatus: active\nupdated_at: \""+said+"\"\n---\n"))
		s.Add(pawl.EngineStarted{Epoch: 1, PID: 1})
		s.Now = s.Now.Add(10 * time.Minute)
		s.write(format.StepBegan, pawl.StatusActive)
		if state := string(s.disk.Find(".grid/STATE.md").Data); !strings.Contains(state, "updated_at: \""+want+"\"\n") {
			t.Errorf("%s: want %s in\n%s", said, want, state)
		}
	}
}

// TestATornSummaryIsReplaced: one that was cut off goes to the archive, and the block's own stands in its place.
func TestATornSummaryIsReplaced(t *testing.T) {
	t.Parallel()
	const name, torn = ".grid/phases/01-a/01-SUMMARY.md", "---\nstatus: complete\ncom"
	s := begin(t, blogPlan, format.Files{{Path: name, Data: []byte(torn)}})
	s.Add(pawl.EngineStarted{Epoch: 1, PID: 1}, started("setup", 1), done("setup", 1, nil))
	s.write(format.StepEnded, pawl.StatusActive)
	kept := s.disk.Match(".grid/archive/*/01-SUMMARY-*.md")
	r, findings := grid.Format().Read(s.wanted(), format.Env{Now: s.Now})
	if len(kept) != 1 || string(kept[0].Data) != torn || has(findings, "is no proof") || formattest.Step(t, r, "01").Status != pawl.Done {
		t.Errorf("%v %v\n%s", kept, findings, s.disk.Find(name).Data)
	}
}

// TestTotalsAreOfTheBlocksThatThereAre: a block with a large number makes no others that nobody planned.
func TestTotalsAreOfTheBlocksThatThereAre(t *testing.T) {
	t.Parallel()
	s := begin(t, `{version: 1, name: c, phases: [{name: p, steps: [{id: "01", run: "true"}, {id: "02", run: "true"}, {id: "08", run: "true"}]}]}`, nil)
	s.Add(pawl.EngineStarted{Epoch: 1, PID: 1})
	for _, id := range []pawl.StepID{"01", "02", "08"} {
		s.Add(started(id, 1))
		s.write(format.StepBegan, pawl.StatusActive)
		s.Add(done(id, 1, nil))
		s.write(format.StepEnded, pawl.StatusActive)
	}
	s.Add(pawl.RunEnded{Status: pawl.StatusCompleted})
	s.write(format.RunEnded, pawl.StatusCompleted)
	for _, f := range grid.Format().Verify(s.wanted(), format.Env{Now: s.Now}) {
		if f.Level != pawl.OK {
			t.Errorf("%+v", f)
		}
	}
	if state := string(s.disk.Find(".grid/STATE.md").Data); !strings.Contains(state, "\n  block: 8\n  block_total: 3\n") {
		t.Error(state)
	}
}

// TestPlansStandWhereTheDocumentHasThem: beside the plans of the blocks there is the master plan with its waves, and in the
// folder of each block's phase a copy of its plan. What somebody changed stays.
func TestPlansStandWhereTheDocumentHasThem(t *testing.T) {
	t.Parallel()
	s := begin(t, blogPlan, nil)
	s.write(format.Began, pawl.StatusActive)
	master := s.disk.Find(".grid/plans/blog-PLAN-SUMMARY.md")
	if master == nil || !strings.Contains(string(master.Data), "wave_structure:\n  \"1\": [\"01\"]\n  \"2\": [\"02\", \"03\"]\n  \"3\": [\"04\"]\n") {
		t.Fatalf("%+v", master)
	}
	plan, second := s.disk.Find(".grid/plans/blog-block-02.md"), s.disk.Find(".grid/phases/02-core/02-PLAN.md")
	if plan == nil || second == nil || string(plan.Data) != string(second.Data) {
		t.Fatalf("%+v %+v", plan, second)
	}
	r, _ := grid.Format().Read(s.wanted(), format.Env{Now: s.Now})
	if got := formattest.Step(t, r, "02"); got.Wave != 2 || got.Where != ".grid/plans/blog-block-02.md" {
		t.Errorf("%+v", got)
	}
	s.disk = append(formattest.Without(formattest.Without(s.disk, master.Path), second.Path), format.File{Path: master.Path, Data: []byte("mine")}, format.File{Path: second.Path, Data: []byte("mine")})
	for _, f := range s.write(format.Exported, pawl.StatusInterrupted) {
		if f.Path == master.Path || f.Path == second.Path {
			t.Error(f.Path)
		}
	}
}

// TestASkippedBlockIsNotCalledComplete: nothing says that a block was complete which was skipped; why it was stands among the
// decisions, and whoever reads the files finds it skipped.
func TestASkippedBlockIsNotCalledComplete(t *testing.T) {
	t.Parallel()
	s := begin(t, blogPlan, nil)
	s.Add(pawl.EngineStarted{Epoch: 1, PID: 1}, started("setup", 1), done("setup", 1, nil), started("posts", 1), done("posts", 1, nil))
	s.Add(pawl.StepSkipped{Step: "layout", Why: "the old\nlayout stays"}, pawl.StepSkipped{Step: "look"})
	s.write(format.Interrupted, pawl.StatusInterrupted)
	if text := string(s.disk.Find(".grid/CHECKPOINT.md").Data); !strings.Contains(text, "blocks_complete: 2\n") {
		t.Error(text)
	}
	s.Add(pawl.RunEnded{Status: pawl.StatusCompleted})
	s.write(format.RunEnded, pawl.StatusCompleted)
	waves := string(s.disk.Find(".grid/WAVE_STATUS.md").Data)
	for _, want := range []string{"waves_complete: 1\n", "wave: 2\n    status: partial\n", `skipped: ["02"]`, "wave: 3\n    status: skipped\n"} {
		if !strings.Contains(waves, want) {
			t.Errorf("no %q in\n%s", want, waves)
		}
	}
	decisions := string(s.disk.Find(".grid/DECISIONS.md").Data)
	for _, want := range []string{"**Question:** What about block 02?\n", "**User Choice:** skip it\n", `**Rationale:** "the old layout stays"`, "**Affects:** Block 02 (Layout: dark mode)"} {
		if !strings.Contains(decisions, want) {
			t.Errorf("no %q in\n%s", want, decisions)
		}
	}
	r, findings := grid.Format().Read(s.wanted(), format.Env{Now: s.Now})
	if diff := cmp.Diff([]string{"01 done", "02 skipped", "03 done", "04 skipped"}, steps(r)); diff != "" || len(findings) > 0 {
		t.Error(diff, findings)
	}
}

// TestASummaryLiesInTheFolderOfItsPhase: beside those of the phase's other blocks, or in a folder that is named after the
// phase; where each block has one of its own, so has the next. So the blocks are read in their phases again.
func TestASummaryLiesInTheFolderOfItsPhase(t *testing.T) {
	t.Parallel()
	const plan = "name: c\nphases:\n  - {name: Build it, steps: [{id: \"01\", run: x}, {id: \"02\", run: x}]}\n  - {name: Ship, steps: [{id: \"03\", run: x}]}\n"
	for _, test := range []struct {
		there format.Files
		want  string
	}{
		{nil, ".grid/phases/01-build-it/01-SUMMARY.md .grid/phases/01-build-it/02-SUMMARY.md .grid/phases/02-ship/03-SUMMARY.md"},
		{folder(".grid/phases/01-make/01-PLAN.md", "x"), ".grid/phases/01-make/01-SUMMARY.md .grid/phases/01-make/02-SUMMARY.md .grid/phases/02-ship/03-SUMMARY.md"},
		{folder(".grid/phases/01-a/01-PLAN.md", "x", ".grid/phases/02-b/02-PLAN.md", "x", ".grid/phases/03-c/03-PLAN.md", "x"),
			".grid/phases/01-a/01-SUMMARY.md .grid/phases/02-b/02-SUMMARY.md .grid/phases/03-c/03-SUMMARY.md"},
		{folder(".grid/00-SUMMARY.md", "x"), ".grid/00-SUMMARY.md .grid/01-SUMMARY.md .grid/02-SUMMARY.md .grid/03-SUMMARY.md"},
	} {
		s := begin(t, plan, test.there)
		s.Add(pawl.EngineStarted{Epoch: 1, PID: 1})
		for _, id := range []pawl.StepID{"01", "02", "03"} {
			s.Add(started(id, 1), done(id, 1, nil))
			s.write(format.StepEnded, pawl.StatusActive)
		}
		var got []string
		for _, pattern := range []string{".grid/*-SUMMARY.md", ".grid/phases/*/*-SUMMARY.md"} {
			for _, f := range s.disk.Match(pattern) {
				got = append(got, f.Path)
			}
		}
		if diff := cmp.Diff(test.want, strings.Join(got, " ")); diff != "" {
			t.Error(diff)
		}
	}
}

// TestIdsKeepTheirForm: a block, phase or thread that is written as "01" is "02" and not "2" afterwards.
func TestIdsKeepTheirForm(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{`"01"`: `"02"`, "01": "02", "1": "2", `"1"`: `"2"`, "'01'": "'02'"} {
		s := begin(t, `{version: 1, name: c, phases: [{name: p, steps: [{id: "01", run: x}, {id: "02", run: x}]}]}`,
			folder(".grid/STATE.md", "---\ncluster: c\nstatus: active\nposition:\n  phase: 1\n  block: "+said+"\n  block_total: 2\n---\n"))
		s.Add(pawl.EngineStarted{Epoch: 1, PID: 1}, started("01", 1), done("01", 1, nil))
		s.write(format.StepEnded, pawl.StatusActive)
		if state := string(s.disk.Find(".grid/STATE.md").Data); !strings.Contains(state, "\n  block: "+want+"\n") {
			t.Errorf("%s: no %s in\n%s", said, want, state)
		}
	}
}

// TestALostSummaryIsWrittenAgain: of a block that was found complete by a summary, which is gone since, there is one again. One that
// only the state called complete has none.
func TestALostSummaryIsWrittenAgain(t *testing.T) {
	t.Parallel()
	s := begin(t, `{version: 1, name: c, phases: [{name: p, steps: [{id: "01", run: x}, {id: "02", run: x}, {id: "03", run: x}]}]}`, folder(".grid/STATE.md", interrupted))
	s.Add(pawl.RunImported{System: "grid"})
	s.Add(pawl.StepDone{Step: "01", Adopted: "imported: grid says that it is done, and all files that it names exist ( 1 )", Outputs: pawl.Outputs{"a.txt": {SHA256: "ab", Size: 1}}})
	s.Add(pawl.StepDone{Step: "02", Adopted: "imported: grid says that it is done, and names no files"})
	s.Add(pawl.EngineStarted{Epoch: 1, PID: 1}, started("03", 1), done("03", 1, nil))
	s.write(format.StepEnded, pawl.StatusActive)
	var got []string
	for _, f := range s.disk.Match(".grid/phases/*/*-SUMMARY.md") {
		got = append(got, f.Path)
	}
	if diff := cmp.Diff([]string{".grid/phases/01-p/01-SUMMARY.md", ".grid/phases/01-p/03-SUMMARY.md"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestAStateThatIsNoYAMLKeepsItsLines: where one line is no YAML, only the lines that say something else now are changed, and
// those keep their form.
func TestAStateThatIsNoYAMLKeepsItsLines(t *testing.T) {
	t.Parallel()
	const state = "---\ncluster: blog\nsession_id: mine\nstatus: interrupted\ncreated_at: \"2026-01-23T14:00:00Z\"\nupdated_at: \"2026-01-23T15:00:00Z\"\n" +
		"last_action: Writing: x\nposition:\n  phase: 1\n  phase_total: 2\n  block: \"01\"\n  note: a: b\nprogress_percent: 0\nenergy_remaining: 5000\nmy_own: keep # it\n---\n\nA body.\n"
	for _, eol := range []string{"\n", "\r\n"} {
		s := begin(t, strings.Replace(blogPlan, "budget: {tokens: 1000}\n", "", 1), folder(".grid/STATE.md", strings.ReplaceAll(state, "\n", eol)))
		s.Add(pawl.EngineStarted{Epoch: 1, PID: 1}, started("setup", 1))
		s.write(format.StepBegan, pawl.StatusActive)
		text := string(s.disk.Find(".grid/STATE.md").Data)
		for _, want := range []string{
			"---\ncluster: blog\nsession_id: mine\nstatus: active\ncreated_at:", "\nlast_action: Writing: x\nposition:\n", "\n  block: \"01\"\n", "\n  note: a: b\nprogress_percent: 0\n",
			"\nenergy_remaining: 5000\nmy_own: keep # it\n", "\n---\n\nA body.\n",
		} {
			if !strings.Contains(text, strings.ReplaceAll(want, "\n", eol)) {
				t.Errorf("no %q in\n%q", want, text)
			}
		}
		if strings.Count(text, "\n") != strings.Count(text, eol) || len(s.disk.Match(".grid/archive/*/*")) > 0 {
			t.Errorf("%q", text)
		}
	}
}

// TestAStateThatIsMadeAnewKeepsItsNumbers: where so much of it is no YAML that it is archived and written anew, a number is one still.
func TestAStateThatIsMadeAnewKeepsItsNumbers(t *testing.T) {
	t.Parallel()
	broken := "---\nstatus: active\nenergy_remaining: 5000\n" + strings.Repeat("a: b: c\n", 30) + "---\n"
	s := begin(t, strings.Replace(blogPlan, "budget: {tokens: 1000}\n", "", 1), folder(".grid/STATE.md", broken))
	s.write(format.StepBegan, pawl.StatusActive)
	if text := string(s.disk.Find(".grid/STATE.md").Data); !strings.Contains(text, "\nenergy_remaining: 5000\n") {
		t.Error(text)
	}
}
