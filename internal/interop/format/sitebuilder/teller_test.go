package sitebuilder_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/formattest"
	"pawl/internal/interop/format/sitebuilder"
	"pawl/internal/planfile"
)

// teller appends the events of a run, a minute apart, and updates the files of its mirror.
type teller struct {
	*formattest.Run
	files format.Files
	items map[pawl.StepID][]format.Item
}

func newTeller(t testing.TB, plan *pawl.Plan, files format.Files) *teller {
	s := &teller{Run: formattest.New(t, plan, now), files: files, items: map[pawl.StepID][]format.Item{}}
	s.AddEach(pawl.RunCreated{Format: 1, Run: "site-20260302-120000-ab12", Kind: pawl.PlanRun, Name: "site"},
		pawl.RunPlanned{Revision: 1, File: "plan.yaml", Steps: len(plan.Steps())}, pawl.EngineStarted{Epoch: 1, PID: 1, Why: "run"})
	return s
}

// imported is a run that is made of files, as an import makes it.
func imported(t testing.TB, files format.Files) *teller {
	r, _ := sitebuilder.Format().Read(files, format.Env{Now: now})
	plan := format.PlanOf(r, "claude")
	for i, step := range plan.Steps() {
		step.Accept = r.Phases[0].Steps[i].Checks(sitebuilder.System, "", false)
	}
	data, err := planfile.Write(plan)
	if err != nil {
		t.Fatal(err)
	}
	s := newTeller(t, formattest.Plan(t, string(data)), files)
	for _, step := range r.Phases[0].Steps {
		for _, item := range step.Items {
			s.AddEach(pawl.ItemNamed{Step: step.ID, Item: pawl.ItemIDOf(item.ID), Status: item.Status, Outputs: item.Outputs})
		}
		if step.Status == pawl.Done {
			s.AddEach(pawl.StepDone{Step: step.ID, Adopted: "imported: sitebuilder says so", Started: step.Started})
		}
	}
	for _, b := range r.Blockers {
		s.AddEach(pawl.BlockerOpened{Blocker: b})
	}
	return s
}

// done is the end of a step's attempt all of whose checks passed.
func (s *teller) done(step pawl.StepID, attempt int) pawl.StepDone {
	return pawl.StepDone{Step: step, Attempt: attempt, Token: ref(step, attempt).Token, Accept: pawl.AcceptOf(s.Plan.Step(step))}
}

func ref(step pawl.StepID, attempt int) pawl.AttemptRef {
	return pawl.AttemptRef{Step: step, Attempt: attempt, Token: pawl.Token(fmt.Sprint(step, attempt))}
}

func (s *teller) view() format.Export {
	return format.Export{Now: now.Add(24 * time.Hour), State: s.State, Plan: s.Plan, Status: s.State.StatusNow(true), Trigger: format.Exported, Items: func(id pawl.StepID) []format.Item {
		if items := s.items[id]; items != nil {
			return items
		}
		var items []format.Item
		if st := s.State.Steps[id]; st != nil {
			for _, name := range sorted(st.Named) {
				n := st.Named[name]
				items = append(items, format.Item{ID: string(name), Status: n.Status, Outputs: n.Outputs})
			}
		}
		return items
	}}
}

func sorted(m map[pawl.ItemID]pawl.ItemNamed) []pawl.ItemID {
	var ids []pawl.ItemID
	for id := range m {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// write writes the files. Written again they do not change, and any prefix of them is read and made up for.
func (s *teller) write() []string {
	s.T.Helper()
	made := sitebuilder.Format().Write(s.files, s.view())
	var paths []string
	for i, f := range made {
		paths = append(paths, strings.TrimPrefix(f.Path, base))
		if f.Data == nil {
			s.T.Errorf("%s is removed", f.Path)
		}
		prefix := formattest.With(s.files, made[:i])
		if _, findings := sitebuilder.Format().Read(prefix, format.Env{Now: now.Add(24 * time.Hour)}); found(findings, pawl.Bad, "", "") && !found(findings, pawl.Bad, "", "invalid JSON") {
			s.T.Errorf("cut off before %s: %+v", f.Path, findings)
		}
		if whole := formattest.With(prefix, sitebuilder.Format().Write(prefix, s.view())); !slices.EqualFunc(byPath(whole), byPath(formattest.With(s.files, made)), same) {
			s.T.Errorf("cut off before %s, and written again, it is something else", f.Path)
		}
	}
	s.files = formattest.With(s.files, made)
	if again := sitebuilder.Format().Write(s.files, s.view()); len(again) > 0 {
		s.T.Errorf("written again, %s differs:\n%s", again[0].Path, cmp.Diff(string(s.files.Find(again[0].Path).Data), string(again[0].Data)))
	}
	return paths
}

func byPath(files format.Files) []format.File {
	all := slices.Clone(files)
	slices.SortFunc(all, func(a, b format.File) int { return strings.Compare(a.Path, b.Path) })
	return all
}

func same(a, b format.File) bool { return a.Path == b.Path && string(a.Data) == string(b.Data) }

func (s *teller) has(name string, texts ...string) {
	s.T.Helper()
	f := s.files.Find(base + name)
	if f == nil {
		s.T.Fatalf("there is no %s", name)
	}
	for _, text := range texts {
		if !strings.Contains(string(f.Data), text) {
			s.T.Errorf("%s does not say %q:\n%s", name, text, f.Data)
		}
	}
}

// changes returns the lines of a file that are gone or new.
func changes(t testing.TB, before, after format.Files, name string) []string {
	t.Helper()
	a, b := strings.Split(string(before.Find(name).Data), "\n"), strings.Split(string(after.Find(name).Data), "\n")
	var diff []string
	for _, line := range a {
		if !slices.Contains(b, line) {
			diff = append(diff, "-"+strings.TrimSuffix(line, "\r"))
		}
	}
	for _, line := range b {
		if !slices.Contains(a, line) {
			diff = append(diff, "+"+strings.TrimSuffix(line, "\r"))
		}
	}
	return diff
}
