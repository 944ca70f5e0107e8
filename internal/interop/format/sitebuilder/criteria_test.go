package sitebuilder_test

import (
	"strings"
	"testing"

	"pawl/internal/interop/format"
	"pawl/internal/interop/format/formattest"
	"pawl/internal/interop/format/sitebuilder"
)

// TestCriteria: claims about files are checked on disk; every other claim is reported as the agent's word.
func TestCriteria(t *testing.T) {
	t.Parallel()
	const point = `{"status": "in_progress", "files_created": ["a.md", "b.md"], "subtasks": {"items": [{"id": "c", "status": "complete", "output": "c.md"}]},
		"acceptance_criteria_met": {"2_files_created": false, "3_files_created": true, "links_work": true, "titles": false, "new\nline": true}}`
	files := append(one("content-T001.json", point), format.File{Path: base + "tasks/TASK-REGISTRY.md",
		Data: []byte("```yaml\nid: T001\nstream: CONTENT\ndone_when: {files_created: [a.md, gone.md, ../out.md], review_scores: {agent_4: 70}}\n```\n")})
	env := testEnv("a.md", "b.md", "out.md")
	for name, want := range map[string]struct {
		met bool
		why string
	}{
		"2_files_created":    {true, "2 exist, 2 are required"},
		"3_files_created":    {false, "2 exist, 3 are required"},
		"links_work":         {true, "attested: " + points + "content-T001.json says that it is met; nothing else proves it"},
		"titles":             {false, "content-T001.json does not say that it is met"},
		"never heard":        {false, "does not say that it is met"},
		"new\nline":          {true, "attested"},
		"a.md is there":      {true, "a.md exists"},
		"gone.md is there":   {false, "gone.md is missing"},
		"../out.md is there": {false, "is missing"},
		"b.md is there":      {false, "does not say that it is met"}, // nobody asks for it
	} {
		if met, why := sitebuilder.Format().CheckCriterion(files, env, "T001", name); met != want.met || !strings.Contains(why, want.why) {
			t.Errorf("%s: %v, %s", name, met, why)
		}
	}
	if met, why := sitebuilder.Format().CheckCriterion(files, env, "T001", ""); met || !strings.Contains(why, "3_files_created: files that are claimed as created: 2 exist") || strings.Contains(why, "links_work") {
		t.Errorf("all: %v, %s", met, why)
	}
	whole := one("content-T001.json", `{"status": "complete", "acceptance_criteria_met": {"links_work": true, "titles": true}}`)
	if met, why := sitebuilder.Format().CheckCriterion(whole, env, "T001", ""); !met || strings.Count(why, "attested") != 2 {
		t.Errorf("all: %v, %s", met, why)
	}
	r, _ := sitebuilder.Format().Read(files, env)
	s := formattest.Step(t, r, "T001")
	checks := s.Checks("sitebuilder", "a folder's", false)
	if got, want := checks["links_work"], `pawl verify --as sitebuilder --step T001 --criterion='links_work' -- 'a folder'\''s'`; got != want {
		t.Errorf("%s", got)
	}
	if len(checks) != 9 || s.Criteria["gone.md is there"] || !s.Criteria["a.md is there"] {
		t.Errorf("%d %v", len(checks), s.Criteria)
	}
	plan := format.PlanOf(r, "claude").Step("T001")
	if plan.Review["agent_4"] != 70 || !strings.Contains(plan.Agent.Prompt, "set it to true in "+points+"content-T001.json") {
		t.Errorf("%+v", plan)
	}
}

// TestFilesAreCountedByTheirKind: modified files are not created ones. An output of a subtask is created, unless it is claimed as
// modified.
func TestFilesAreCountedByTheirKind(t *testing.T) {
	t.Parallel()
	files := one("content-T001.json", `{"status": "in_progress", "files_created": ["a.md", "b.md", "gone.md"], "files_modified": ["index.md", "old.md"],
		"subtasks": {"items": [{"id": "c", "status": "complete", "output": "c.md"}, {"id": "d", "status": "complete", "output": "old.md"}]}}`)
	env := testEnv("a.md", "b.md", "c.md", "index.md", "old.md")
	for name, want := range map[string]bool{
		"3_files_created": true, "4_files_created": false, "2_files_modified": true, "3_files_modified": false, "5_files": true, "6_files": false,
	} {
		if met, why := sitebuilder.Format().CheckCriterion(files, env, "T001", name); met != want {
			t.Errorf("%s: %v, %s", name, met, why)
		}
	}
}

// TestCriteriaOfTheRegistry: without criteria in a checkpoint, the registry's count; finished tasks have them for a rerun.
func TestCriteriaOfTheRegistry(t *testing.T) {
	t.Parallel()
	r, _ := read(t, team(t))
	if got := formattest.Step(t, r, "T001").Checks("sitebuilder", "", false); got["links_work"] == "" || got["It says who we are"] != "" || got["site/index.html is there"] == "" {
		t.Errorf("%v", got)
	}
	if got := formattest.Step(t, r, "T040").Checks("sitebuilder", "", false); got["compiles"] == "" {
		t.Errorf("it is done, and if it runs again, nothing checks it: %v", got)
	}
	files := format.Files{*team(t).Find(base + "tasks/TASK-REGISTRY.md")}
	r, _ = read(t, files)
	s := formattest.Step(t, r, "T001")
	for _, name := range []string{"It says who we are", "It links to all others", "It has a head with: title, date", "HTML is valid", "site/index.html is there"} {
		if s.Checks("sitebuilder", "", false)[name] == "" {
			t.Errorf("nobody checks %q: %v", name, s.Criteria)
		}
	}
	if met, why := sitebuilder.Format().CheckCriterion(files, testEnv(), "T001", "HTML is valid"); met || !strings.Contains(why, points+"content-T001.json") {
		t.Errorf("%v %s", met, why)
	}
	if _, why := sitebuilder.Format().CheckCriterion(nil, testEnv(), "T001", "x"); why != "there is no task T001" {
		t.Errorf("%s", why)
	}
}
