package grid_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/formattest"
	"pawl/internal/interop/format/grid"
	"pawl/internal/textedit"
	"pawl/internal/textedit/markdown"
	"pawl/internal/textedit/yamledit"
)

// folder returns files with these contents, by path, a pair each.
func folder(pairs ...string) format.Files {
	var files format.Files
	for i := 0; i+1 < len(pairs); i += 2 {
		files = append(files, format.File{Path: pairs[i], Data: []byte(pairs[i+1]), Changed: now.Add(-time.Hour)})
	}
	return files
}

// steps returns the steps of a reading as "id status", in order.
func steps(r format.Project) []string {
	var all []string
	for _, phase := range r.Phases {
		for _, s := range phase.Steps {
			all = append(all, string(s.ID)+" "+string(s.Status))
		}
	}
	return all
}

func has(findings []pawl.Finding, what string) bool {
	return slices.ContainsFunc(findings, func(f pawl.Finding) bool { return strings.Contains(f.What, what) })
}

const interrupted = "---\ncluster: c\nstatus: interrupted\nupdated_at: \"2026-01-23T15:00:00Z\"\nposition: {phase: 1, block: 3, block_total: 4}\n---\n"

// The document looks for phases/*/SUMMARY.md, which never matches 01-SUMMARY.md, so that all blocks run again.
func TestSummariesAreFoundWhereverTheyLie(t *testing.T) {
	t.Parallel()
	summary := "---\nstatus: complete\n---\n"
	r, _ := grid.Format().Read(folder(
		".grid/STATE.md", interrupted, ".grid/phases/01-a/01-SUMMARY.md", summary, ".grid/02-SUMMARY.md", summary, "03-SUMMARY.md", summary,
		".grid/phases/04-d/SUMMARY.md", summary, ".grid/plans/c-PLAN-SUMMARY.md", "no summary", ".grid/phases/04-d/c-PLAN-SUMMARY.md", "neither",
	), format.Env{Now: now})
	if diff := cmp.Diff([]string{"01 done", "02 done", "03 done", "04 done"}, steps(r)); diff != "" {
		t.Error(diff)
	}
}

// A summary without anything in it, or cut off in its front matter, proves nothing: the block is to be looked at again, and
// pawl writes another one in its place once it is done. What has no front matter, or ends it without a line, is one.
func TestATornSummaryProvesNothing(t *testing.T) {
	t.Parallel()
	const name = ".grid/phases/01-a/01-SUMMARY.md"
	for data, want := range map[string]string{
		"": name + ":1", "-": name + ":1", "---": name + ":1", "---\n---\n": name + ":2", "\x00\x00": name + ":1",
		"---\nblock: \"01\"\nstatus: complete\ncommits:\n  - ha": name + ":5",
		"# Block 01\n\nAll is done.\n":                           "", "---\nblock: \"01\"\nstatus: complete\n\n## Tasks Completed\n": "", "---\nblock: \"01\"\n---\n": "",
	} {
		files := folder(".grid/STATE.md", interrupted, ".grid/phases/01-a/01-PLAN.md", "---\nid: 01\n---\n", name, data)
		r, findings := grid.Format().Read(files, format.Env{Now: now})
		at := slices.IndexFunc(findings, func(f pawl.Finding) bool { return strings.Contains(f.What, "an invalid summary") })
		if s := formattest.Step(t, r, "01"); want == "" {
			if at >= 0 || s.Status != pawl.Done {
				t.Errorf("%q: %s, %v", data, s.Status, findings)
			}
		} else if at < 0 || findings[at].Where != want || s.Status != pawl.Pending || !strings.Contains(s.Resume, "First check") {
			t.Errorf("%q: %s, %v", data, s.Status, findings)
		}
		if r, _ := grid.Format().Read(append(files, folder(".grid/01-SUMMARY.md", "---\nstatus: complete\n---\n")...), format.Env{Now: now}); formattest.Step(t, r, "01").Status != pawl.Done {
			t.Errorf("%q: the summary beside it does not count", data)
		}
	}
}

// A checkpoint of a block that has a summary since asks nobody any more; one of a block that has none does.
func TestAnOldCheckpointAsksNobody(t *testing.T) {
	t.Parallel()
	files := folder(".grid/STATE.md", interrupted, ".grid/CHECKPOINT.md", "---\ntype: human_verify\nblock: \"03\"\nawaiting: Look\n---\n")
	if r, _ := grid.Format().Read(files, format.Env{Now: now}); len(r.Gates) != 1 || r.Gates[0].Purpose != pawl.ForImported {
		t.Error(r.Gates)
	}
	r, findings := grid.Format().Read(append(files, folder(".grid/03-SUMMARY.md", "---\nstatus: complete\n---\n")...), format.Env{Now: now})
	if len(r.Gates) != 0 || !has(findings, "this checkpoint is outdated") {
		t.Error(r.Gates, findings)
	}
}

// A value of the wrong kind is reported with its line, never skipped silently.
func TestWrongKindsAreTold(t *testing.T) {
	t.Parallel()
	state := "---\ncluster: {a: b}\nstatus: wibble\nupdated_at: [x]\nprogress_percent: [1, 2]\nposition: 5\n---\n"
	_, findings := grid.Format().Read(folder(".grid/STATE.md", state), format.Env{Now: now})
	_, counts := grid.Format().Read(folder(".grid/STATE.md", "---\ncluster: c\nstatus: stale\nposition:\n  phase: {a: 1}\n  wave: x\n---\n"), format.Env{Now: now})
	var got []string
	for _, f := range append(findings, counts...) {
		got = append(got, f.Where+" "+f.What)
	}
	slices.Sort(got)
	want := []string{
		".grid/STATE.md:2 cluster is not text", `.grid/STATE.md:3 "wibble" is not a known status; it is treated as interrupted`, ".grid/STATE.md:4 updated_at is not text",
		".grid/STATE.md:5 phase is not a number", ".grid/STATE.md:5 progress_percent is not a number",
		".grid/STATE.md:6 position is not a mapping with phase, block, wave and thread", `.grid/STATE.md:6 wave is not a number: "x"`,
	}
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("nothing says: %s", line)
		}
	}
	if len(got) != len(want) {
		t.Error(got)
	}
}

// In YAML 01 is the number 1, 08 is none, 02.3 a fraction, 0e12345 is zero and 1234567 no hash.
func TestIDsAreTakenAsWritten(t *testing.T) {
	t.Parallel()
	r, findings := grid.Format().Read(folder(
		".grid/STATE.md", strings.Replace(interrupted, "block: 3, block_total: 4", "block: 08, block_total: 10", 1),
		".grid/CHECKPOINT.md", "---\ntype: session_death\nblock: 08\ncurrent_thread: {id: 08.3, name: x}\ncompleted_threads:\n- {id: 8.1, commit: 0e12345}\n- {id: \"08.2\", commit: 1234567}\n---\n",
		".grid/010-SUMMARY.md", "---\nblock: 010\ncommits: [1234567, 0e12345, 0012345]\n---\n",
		".grid/09-SUMMARY.md", "---\nblock: 09\n---\n",
	), format.Env{Now: now})
	if len(findings) != 1 || !has(findings, "nothing proves that these are complete: 01, 02") {
		t.Error(findings)
	}
	var threads []string
	for _, item := range formattest.Step(t, r, "08").Items {
		threads = append(threads, item.ID+" "+item.Commit)
	}
	if diff := cmp.Diff([]string{"08.1 0e12345", "08.2 1234567", "08.3 "}, threads); diff != "" {
		t.Error(diff)
	}
	var hashes []string
	for _, c := range formattest.Step(t, r, "10").Commits {
		hashes = append(hashes, c.Hash)
	}
	if diff := cmp.Diff([]string{"1234567", "0e12345", "0012345"}, hashes); diff != "" || formattest.Step(t, r, "09").Status != pawl.Done {
		t.Error(diff)
	}
}

// An unquoted value with a colon, @ or % is no YAML, and duplicate keys fail into a map.
func TestBrokenYAMLIsReadLineByLine(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"last_action: Writing: x", "by: @me", "percent: %5", "why: `x`", "type: session_death"} {
		r, findings := grid.Format().Read(folder(".grid/STATE.md", interrupted,
			".grid/CHECKPOINT.md", "---\ntype: session_death\nblock: \"03\"\nthread: 2\n"+line+"\ncompleted_threads:\n  - id: \"03.1\"\n    name: a\n---\n"), format.Env{Now: now})
		if len(findings) == 0 || findings[0].Where == "" || !strings.HasPrefix(findings[0].Where, ".grid/CHECKPOINT.md:") {
			t.Errorf("%s: %v", line, findings)
		}
		if !strings.HasPrefix(r.Next, "continue with thread 03.2") || formattest.Step(t, r, "03").Items[0].Status != pawl.ItemIsDone {
			t.Errorf("%s: %s, %v", line, r.Next, formattest.Step(t, r, "03"))
		}
	}
}

// The document resumes at the highest complete block plus one, which fails on texts and skips gaps.
func TestPendingIsWhatIsNotComplete(t *testing.T) {
	t.Parallel()
	r, _ := grid.Format().Read(folder(".grid/01-SUMMARY.md", "---\nblock: \"01\"\n---\n", ".grid/04-SUMMARY.md", "---\nblock: 4\n---\n",
		".grid/plans/c-block-02.md", "x", ".grid/plans/c-block-03.md", "x", ".grid/plans/c-block-04.md", "x"), format.Env{Now: now})
	if r.Position.StepID != "02" || r.Next != "next: block 02" {
		t.Errorf("%s: %+v", r.Next, r.Position)
	}
	if diff := cmp.Diff([]string{"01 done", "02 pending", "03 pending", "04 done"}, steps(r)); diff != "" {
		t.Error(diff)
	}
	if r.Facts["confidence"] != "medium" || r.Resume != "rebuilt: review it first" {
		t.Errorf("%v %s", r.Facts, r.Resume)
	}
}

// The document asks git for feat( and fix( and the last 20: that misses chore(01) and counts feat(content).
func TestCommitsOfEveryTypeCount(t *testing.T) {
	t.Parallel()
	log := commits(t, strings.Repeat("aaaa000 2026-01-23T15:59:00Z feat(content): write a post\n", 30)+
		"aaaa003 2026-01-23T15:50:00Z docs(02): add block summary\naaaa002 2026-01-23T15:49:00Z test(02): check the store\naaaa001 2026-01-23T15:48:00Z chore(02)!: set up the store\n")
	r, _ := grid.Format().Read(folder(".grid/STATE.md", strings.Replace(interrupted, "block: 3", "block: 2", 1)), format.Env{Now: now, Commits: log})
	var threads []string
	for _, item := range formattest.Step(t, r, "02").Items {
		threads = append(threads, item.ID+" "+item.Name+" "+item.Commit)
	}
	if diff := cmp.Diff([]string{"02.1 set up the store aaaa001", "02.2 check the store aaaa002", "02.3  "}, threads); diff != "" {
		t.Error(diff)
	}
	if len(r.Checkpoints) != 1 || r.Checkpoints[0].ID != "synthetic" || r.Checkpoints[0].Step != "02" {
		t.Error(r.Checkpoints)
	}
	for _, p := range r.Phases {
		for _, s := range p.Steps {
			if s.ID == "content" || strings.Contains(s.Name, "content") {
				t.Errorf("the scope content is a block: %+v", s)
			}
		}
	}
}

// A naive time compared with one in UTC raises in Python, and without updated_at nothing is ever stale.
func TestTimesWithoutAZoneAreLocal(t *testing.T) {
	t.Parallel()
	state := func(updated string) format.Files {
		return folder(".grid/STATE.md", "---\ncluster: c\nstatus: active\n"+updated+"\n---\n")
	}
	tests := []struct {
		updated, resume, finding string
		changed                  time.Time
	}{
		{"updated_at: 2026-01-23T17:25:00.123456", "still active: do not resume", "has no time zone", now},
		{"updated_at: 2026-01-23T17:19:00", "stale: last activity 11 minutes ago", "has no time zone", now},
		{"updated_at: \"2026-01-23T16:25:00Z\"", "still active: do not resume", "", now},
		{"updated_at: \"2026-01-24T16:25:00Z\"", "stale: last activity 3 hours ago", "is in the future", now.Add(-3 * time.Hour)},
		{"", "stale: last activity 60 minutes ago", "", now.Add(-time.Hour)},
		{"", "still active: do not resume", "", now.Add(-time.Minute)},
		{"", "stale: its last activity is unknown", "", time.Time{}},
		{"updated_at: tomorrow", "stale: last activity 60 minutes ago", "not a time", now.Add(-time.Hour)},
	}
	for _, tt := range tests {
		files := state(tt.updated)
		files[0].Changed = tt.changed
		r, findings := grid.Format().Read(files, format.Env{Now: now})
		if r.Resume != tt.resume || (tt.finding == "") != (len(findings) == 0) || !has(append(findings, pawl.Finding{}), tt.finding) {
			t.Errorf("%s, written %v: %s, %v", tt.updated, tt.changed, r.Resume, findings)
		}
	}
}

// A scratchpad that is written to is a sign of life, however old the state is.
func TestTheScratchpadIsAHeartbeat(t *testing.T) {
	t.Parallel()
	files, _ := project(t, "testdata/read/alive.txtar")
	files.Find(".grid/SCRATCHPAD.md").Changed = now.Add(-2 * time.Minute)
	if r, _ := grid.Format().Read(files, format.Env{Now: now}); r.Status != pawl.StatusActive || r.Resume != "still active: do not resume" {
		t.Errorf("%s: %s", r.Status, r.Resume)
	}
	files.Find(".grid/SCRATCHPAD.md").Changed = now.Add(-11 * time.Minute)
	if r, _ := grid.Format().Read(files, format.Env{Now: now}); r.Status != pawl.StatusInterrupted {
		t.Errorf("%s: %s", r.Status, r.Resume)
	}
}

// The document writes state and checkpoint in no fixed order. Whatever prefix of what pawl writes reaches the disk, what
// is read of it is no worse: nothing complete is forgotten, and no checkpoint is spoken of that is not there.
func TestAnyPrefixOfAWriteIsRead(t *testing.T) {
	t.Parallel()
	s := begin(t, blogPlan, nil)
	check := func(why format.Trigger, status pawl.RunStatus) {
		t.Helper()
		before := slices.Clone(s.disk)
		complete := completeBlocks(t, before)
		out := s.write(why, status)
		after := s.disk
		for n := range out {
			s.disk = slices.Clone(before)
			for _, f := range out[:n] {
				s.disk = formattest.Without(s.disk, f.Path)
				if f.Data != nil {
					s.disk = append(s.disk, f)
				}
			}
			if got := completeBlocks(t, s.disk); got < complete {
				t.Errorf("%s: %d of %d files written: %d blocks are complete, not %d", why, n, len(out), got, complete)
			}
			state := s.disk.Find(".grid/STATE.md")
			if state != nil && strings.Contains(string(state.Data), "last_checkpoint") && s.disk.Find(".grid/CHECKPOINT.md") == nil {
				t.Errorf("%s: %d of %d files written: the state speaks of a checkpoint that is not there", why, n, len(out))
			}
		}
		s.disk = after
	}
	s.Add(pawl.EngineStarted{Epoch: 1, PID: 1}, started("setup", 1))
	check(format.Began, pawl.StatusActive)
	s.Add(done("setup", 1, nil), started("layout", 1), pawl.EngineStopped{Why: "interrupted"})
	check(format.Interrupted, pawl.StatusInterrupted)
	s.Add(pawl.EngineStarted{Epoch: 2, PID: 1}, done("layout", 1, nil))
	check(format.StepEnded, pawl.StatusActive)
	s.Add(pawl.GateOpened{Gate: s.Plan.Step("look").Gate.Gate("look", "", s.Now)})
	check(format.GateOpened, pawl.StatusWaiting)
	s.memories = []pawl.Memory{{Kind: pawl.Gotcha, Text: "x"}}
	s.Add(pawl.RunEnded{Status: pawl.StatusFailed})
	check(format.RunEnded, pawl.StatusFailed)
}

// completeBlocks returns how many blocks are read as complete.
func completeBlocks(t *testing.T, files format.Files) int {
	t.Helper()
	r, _ := grid.Format().Read(wanted(files), format.Env{Now: now})
	n := 0
	for _, s := range steps(r) {
		if strings.HasSuffix(s, " done") {
			n++
		}
	}
	return n
}

// A failed executor's partial work is reported and never rolled back: what pawl writes are the files of The Grid alone.
func TestNothingButItsOwnFilesIsWritten(t *testing.T) {
	t.Parallel()
	s, _ := resumed(t, "testdata/read/prose.txtar")
	s.Add(pawl.EngineStarted{Epoch: 1, PID: 1}, started("05", 1), done("05", 1, nil), pawl.RunEnded{Status: pawl.StatusCompleted})
	for _, f := range s.write(format.RunEnded, pawl.StatusCompleted) {
		for _, kept := range []string{"debug/", "refinement/", "daemon/", "clusters/", "plans/", "config.json"} {
			if !strings.HasPrefix(f.Path, ".grid/") || strings.HasPrefix(f.Path, ".grid/"+kept) {
				t.Errorf("%s was written", f.Path)
			}
		}
	}
	if f := s.disk.Find("packages/api/.grid/STATE.md"); f == nil || !strings.Contains(string(f.Data), "completed") {
		t.Error("another cluster was touched")
	}
}

// A block's memory may be added while the block runs. The block is named as a source when it is complete.
func TestWarmthNamesBlocksThatTaughtWhileTheyRan(t *testing.T) {
	t.Parallel()
	s := begin(t, blogPlan, nil)
	s.Add(pawl.EngineStarted{Epoch: 1, PID: 1}, started("setup", 1))
	s.memories = []pawl.Memory{{Kind: pawl.Gotcha, Text: "g"}}
	s.learned = map[pawl.StepID][]pawl.Memory{"setup": s.memories}
	named := func() bool {
		s.write(format.StepEnded, pawl.StatusActive)
		return strings.Contains(string(s.disk.Find(".grid/WARMTH.md").Data), "executor-01 (block 01)")
	}
	if named() {
		t.Error("the source is named while its block runs")
	}
	s.Add(done("setup", 1, nil))
	if !named() {
		t.Errorf("the source is not named:\n%s", s.disk.Find(".grid/WARMTH.md").Data)
	}
	there := s.disk.Find(".grid/WARMTH.md").Data
	s.Add(started("layout", 1), done("layout", 1, nil))
	if s.write(format.StepEnded, pawl.StatusActive); !bytes.Equal(there, s.disk.Find(".grid/WARMTH.md").Data) {
		t.Errorf("a block without memories changed the file:\n%s", s.disk.Find(".grid/WARMTH.md").Data)
	}
}

// The document's function overwrites the bullets by YAML, forgets two categories and fails where one is missing.
func TestWarmthKeepsItsShapeAndAllSixCategories(t *testing.T) {
	t.Parallel()
	all := []pawl.Memory{
		{Kind: pawl.Pattern, Text: "p"}, {Kind: pawl.Gotcha, Text: "g"}, {Kind: pawl.Preference, Text: "u"}, {Kind: pawl.DecisionMem, Text: "d"},
		{Kind: pawl.RejectedIdea, Text: "r"}, {Kind: pawl.Fragile, Text: "f: \"x\""}, {Kind: pawl.Gotcha, Text: "g"}, {Kind: pawl.Gotcha, Text: "old"},
	}
	for name, there := range map[string]string{
		"bullets":         "---\ncluster: c\naccumulated_from:\n- executor-01 (block 01)\n---\n\n## Gotchas\n- \"old\"\n\n## Mine\n- kept\n",
		"lists":           "cluster: c\ngotchas:\n- old # mine\nmine: [kept]\n",
		"fenced lists":    "---\ngotchas: [old]\nmine: kept\n---\n",
		"one category":    "## Gotchas\n\n* old",
		"no YAML":         "gotchas: [old]\nwhy: a: b\n",
		"lists and words": "gotchas: old\nalmost_did:\n",
	} {
		s := begin(t, blogPlan, folder(".grid/WARMTH.md", there))
		s.memories = all
		s.write(format.StepEnded, pawl.StatusActive)
		data := string(s.disk.Find(".grid/WARMTH.md").Data)
		r, _ := grid.Format().Read(s.wanted(), format.Env{Now: now})
		slices.SortFunc(r.Memories, func(a, b pawl.Memory) int { return strings.Compare(a.Text, b.Text) })
		var texts []string
		for _, m := range r.Memories {
			texts = append(texts, m.Text)
		}
		if diff := cmp.Diff([]string{"d", "f: \"x\"", "g", "old", "p", "r", "u"}, texts); diff != "" {
			t.Errorf("%s: %s\n%s", name, diff, data)
		}
		if name != "no YAML" && (strings.Contains(there, "mine") || strings.Contains(there, "Mine")) && !strings.Contains(data, "kept") {
			t.Errorf("%s: what is not ours is gone:\n%s", name, data)
		}
		if (strings.Contains(there, "## ")) != (strings.Contains(data, "## ")) && name != "no YAML" {
			t.Errorf("%s: it has another shape:\n%s", name, data)
		}
	}
}

// The document's prompt asks for pending_plan, where its context has pending_plans.
func TestThePromptHasWarmthThreadsPointAndPlan(t *testing.T) {
	t.Parallel()
	r, _ := readAll(project(t, "testdata/read/approved.txtar"))
	for _, want := range []string{
		"~/.claude/agents/grid-executor.md", "<warmth>\n", "Dark mode uses class strategy", "<completed_threads>\n", "| 02.3 | Implement dark mode toggle | fed789 |",
		"<resume_point>\nContinue from: Thread 02.5\n", "User feedback: approved", "<plan>\n---\nid: \"02\"", "Execute the remaining threads.",
	} {
		if !strings.Contains(r.Prompt, want) {
			t.Errorf("%q is missing in the prompt:\n%s", want, r.Prompt)
		}
	}
}

// TestReadsWithoutLoss: every value in the front matter of each fixture, and every bullet, is somewhere in what is read.
func TestReadsWithoutLoss(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"document", "verify", "schemas", "approved", "death", "corrupt", "prose", "decision", "failure", "feedback"} {
		files, log := project(t, "testdata/read/"+name+".txtar")
		r, _ := readAll(files, log)
		data, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var all any
		if err := json.Unmarshal(data, &all); err != nil {
			t.Fatal(err)
		}
		said := strings.Join(textsOf(all), "\n")
		for _, f := range wanted(files) {
			for _, value := range valuesOf(f.Data) {
				if !strings.Contains(said, value) {
					t.Errorf("%s, %s: %q is lost", name, f.Path, value)
				}
			}
		}
	}
}

// textsOf returns all texts and numbers of a JSON value.
func textsOf(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case map[string]any:
		var all []string
		for _, value := range v {
			all = append(all, textsOf(value)...)
		}
		return all
	case []any:
		var all []string
		for _, value := range v {
			all = append(all, textsOf(value)...)
		}
		return all
	}
	return nil
}

// valuesOf returns the words of a file that must not be lost: scalars of its YAML and bullets, but for numbers, times,
// truths, statuses that have a word of pawl's, and paths that lead outside.
func valuesOf(file []byte) []string {
	part, body, _, ok := markdown.Front(file)
	var values []string
	if ok {
		root := yamledit.Scan(file, part)
		if y, err := yamledit.Read(file, part); err == nil {
			root = y.Root
		}
		values = scalarsOf(root)
	}
	for _, l := range textedit.Lines(body.Bytes(file)) {
		if text, ok := markdown.Bullet(l.Text); ok && !strings.HasPrefix(text, "✅") && !strings.HasPrefix(text, "⏳") && !strings.HasPrefix(text, "[") && !strings.HasPrefix(text, "block 01 needs") && !strings.HasPrefix(text, "found the old") {
			values = append(values, text)
		}
	}
	return slices.DeleteFunc(values, func(v string) bool {
		return strings.Trim(v, "0123456789-+:TZ. ") == "" || slices.Contains([]string{"null", "in_progress", "active", "fast"}, v) || strings.Contains(v, "/etc/") ||
			strings.HasPrefix(v, "No answer") || v == "false" || v == "true" || v == ".grid/CHECKPOINT.md" || strings.Contains(v, "T15:4")
	})
}

func scalarsOf(v *yamledit.Value) []string {
	values := v.Texts()
	for _, item := range v.Items {
		if item.Kind != yamledit.Scalar {
			values = append(values, scalarsOf(item)...)
		}
	}
	for _, p := range v.Pairs {
		values = append(values, scalarsOf(p.Value)...)
	}
	return values
}

// TestClustersFurtherDownAreLeftAlone: a mission at the top has files of its own, and the end of a block behind all threads
// that it named is the next thread.
func TestClustersFurtherDownAreLeftAlone(t *testing.T) {
	t.Parallel()
	s := begin(t, "name: top\nsteps:\n  - {id: a, run: x}\n", format.Files{{Path: "packages/api/.grid/STATE.md", Data: []byte(interrupted)}})
	s.items["a"] = []format.Item{{ID: "one", Name: "One", Status: pawl.ItemIsDone}}
	s.Add(pawl.EngineStarted{Epoch: 1, PID: 1, Why: "run"}, pawl.AttemptStarted{AttemptRef: pawl.AttemptRef{Step: "a", Attempt: 1, Token: "t"}})
	for _, f := range s.write(format.Interrupted, pawl.StatusInterrupted) {
		if !strings.HasPrefix(f.Path, ".grid/") {
			t.Errorf("%s was written", f.Path)
		}
	}
	if c := string(s.disk.Find(".grid/CHECKPOINT.md").Data); !strings.Contains(c, "thread: 2\n") || !strings.Contains(c, `id: "01.2"`) {
		t.Error(c)
	}
	named := grid.Format().At("packages/api/.grid").Write(s.wanted(), s.view(format.Interrupted, pawl.StatusInterrupted))
	for _, f := range named {
		if !strings.HasPrefix(f.Path, "packages/api/.grid/") {
			t.Errorf("%s was written", f.Path)
		}
	}
}

// A cluster below clusters has all that the first one has: plans, summaries in the folders of phases, settings and an archive.
func TestAClusterBelowClustersIsReadWhole(t *testing.T) {
	t.Parallel()
	files := wanted(folder(
		".grid/STATE.md", interrupted, ".grid/clusters/docs/STATE.md", interrupted,
		".grid/clusters/docs/plans/docs-block-02.md", "---\nname: Write\n---\n",
		".grid/clusters/docs/phases/01-a/01-SUMMARY.md", "---\nstatus: complete\n---\n",
		".grid/clusters/docs/phases/03-c/03-PLAN.md", "---\nname: Print\n---\n",
		".grid/clusters/docs/config.json", `{"model_tier": "quality"}`,
	))
	r, _ := grid.Format().At(".grid/clusters/docs").Read(files, format.Env{Now: now})
	if diff := cmp.Diff([]string{"01 done", "02 pending", "03 running", "04 pending"}, steps(r)); diff != "" {
		t.Error(diff)
	}
	if formattest.Step(t, r, "02").Name != "Write" || r.Facts["config.model_tier"] != "quality" {
		t.Error(r.Facts, formattest.Step(t, r, "02"))
	}
	first, _ := grid.Format().Read(files, format.Env{Now: now})
	if diff := cmp.Diff([]string{"03 running"}, steps(first)); len(first.Phases) > 0 && diff == "" {
		t.Error("the first cluster has taken what is another one's")
	}
	if first.Facts["config.model_tier"] != "" {
		t.Error(first.Facts)
	}
	if w := grid.Format().Archived; !format.Wanted(w, ".grid/clusters/docs/archive/run/STATE.md") {
		t.Error(w)
	}
}

// A wave is complete before the next one begins, whatever the plans of its blocks need beside that; and what the master plan
// says of waves holds for plans that say nothing of theirs. Waves may be counted anew in every phase.
func TestAWaveIsCompleteBeforeTheNext(t *testing.T) {
	t.Parallel()
	plan := func(wave, more string) string { return "---\nwave: " + wave + "\n" + more + "---\n" }
	for name, files := range map[string]format.Files{
		"01[] 02[] 03[01 02] 04[03]": folder(
			".grid/plans/c-block-01.md", plan("1", "depends_on: []\n"), ".grid/plans/c-block-02.md", plan("1", "depends_on: []\n"),
			".grid/plans/c-block-03.md", plan("2", "depends_on: [\"01\"]\n"), ".grid/plans/c-block-04.md", plan("3", "depends_on: []\n")),
		"01[] 02[01] 03[02 01]": folder(
			".grid/plans/c-block-01.md", plan("1", ""), ".grid/plans/c-block-02.md", plan("2", ""), ".grid/plans/c-block-03.md", plan("3", "depends_on: [2, 1]\n")),
		"01[] 02[01]": folder(
			".grid/plans/c-PLAN-SUMMARY.md", "---\nwave_structure:\n  1: [\"01\"]\n  2: [\"02\"]\n---\n",
			".grid/plans/c-block-01.md", "---\ndepends_on: []\n---\n", ".grid/plans/c-block-02.md", "---\ndepends_on: []\n---\n"),
		"01[] 02[01] 03[] 04[03]": folder(
			".grid/plans/c-block-01.md", plan("1", "phase: 1\n"), ".grid/plans/c-block-02.md", plan("2", "phase: 1\n"),
			".grid/plans/c-block-03.md", plan("1", "phase: 2\n"), ".grid/plans/c-block-04.md", plan("2", "phase: 2\n")),
	} {
		r, findings := grid.Format().Read(append(files, folder(".grid/STATE.md", "---\ncluster: c\nstatus: interrupted\nposition: {phase: 1}\n---\n")...), format.Env{Now: now})
		var got []string
		for _, phase := range r.Phases {
			for _, s := range phase.Steps {
				got = append(got, fmt.Sprint(s.ID, s.Needs))
			}
		}
		if strings.Join(got, " ") != name {
			t.Errorf("%v, not %s", got, name)
		}
		if len(findings) > 0 {
			t.Error(findings)
		}
	}
}

// A limit in dollars that is enforced becomes the plan's budget. Any other limit stays a fact.
func TestAHardLimitIsTheBudget(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]float64{
		`{"budget_limit": 5, "currency": "USD", "enforcement": "hard"}`:       5,
		`{"budget_limit": "2.50", "currency": "usd", "enforcement": "Hard"}`:  2.5,
		`{"budget_limit": 5, "currency": "USD", "enforcement": "soft"}`:       0,
		`{"budget_limit": 5, "currency": "EUR", "enforcement": "hard"}`:       0,
		`{"budget_limit": 5, "enforcement": "hard"}`:                          0,
		`{"budget_limit": null, "currency": "USD", "enforcement": "hard"}`:    0,
		`{"budget_limit": -5, "currency": "USD", "enforcement": "hard"}`:      0,
		`{"budget_limit": "NaN", "currency": "USD", "enforcement": "hard"}`:   0,
		`{"budget_limit": "1e400", "currency": "USD", "enforcement": "hard"}`: 0,
	} {
		for _, name := range []string{"budget.json", "config.json"} {
			r, findings := grid.Format().Read(folder(".grid/STATE.md", interrupted, ".grid/"+name, data), format.Env{Now: now})
			if got := format.PlanOf(r, "claude").Budget; got != (pawl.Budget{USD: want}) {
				t.Errorf("%s: %+v", data, got)
			}
			if told := has(findings, "not enforced by pawl"); told != (want == 0 && !strings.Contains(data, "soft") && !strings.Contains(data, "null")) {
				t.Errorf("%s: %v", data, findings)
			}
		}
	}
}

// What a refinement swarm wrote down is a fact, and goes along where the files are copied. Pictures are not read.
func TestRefinementIsAFact(t *testing.T) {
	t.Parallel()
	files := wanted(folder(".grid/STATE.md", interrupted, ".grid/refinement/e2e/login.md", "# Login\n", ".grid/refinement/personas/mia.md", "# Mia\n",
		".grid/refinement/e2e/run.json", "{}", ".grid/refinement/screenshots/home.png", "\x89PNG"))
	r, _ := grid.Format().Read(files, format.Env{Now: now})
	if got := r.Facts["refinement"]; got != "refinement/e2e/login.md; refinement/e2e/run.json; refinement/personas/mia.md" {
		t.Error(got)
	}
}
