package decide

import (
	"reflect"
	"testing"

	"pawl"
	"pawl/internal/resume"
)

// forecast forecasts a resume without changes of the plan, while the attempts of services run.
func (w *world) forecast(listed ...string) map[pawl.StepID]Decision {
	w.t.Helper()
	u, err := resume.PlanUpdate(nil, nil, w.plan)
	if err != nil {
		w.t.Fatal(err)
	}
	f := newForecast(w.state, u.Diff(w.plan), w.now, func(command string) string { return command })
	f.values = func(pawl.StepID) ([]string, error) { return listed, nil }
	for _, live := range w.state.Live() {
		f.interrupted = append(f.interrupted, resume.Judged{Step: live.Step, Live: live, Alive: true})
	}
	f.adopt(f.interrupted)
	for _, live := range f.interrupted {
		f.conclude(live)
	}
	all, err := f.decisions()
	if err != nil {
		w.t.Fatal(err)
	}
	byID := map[pawl.StepID]Decision{}
	for _, x := range all {
		byID[x.Step] = x
	}
	return byID
}

// TestForecastOfItemsBehindAService: a foreach step that was begun runs all its items again if its service starts again, which depends on
// what the service needs.
func TestForecastOfItemsBehindAService(t *testing.T) {
	for name, tt := range map[string]struct {
		was    pawl.StepDone
		byItem map[Do][]int
		unless []pawl.StepID
		why    string
	}{
		"the outputs may change": {
			pawl.StepDone{Outputs: pawl.Outputs{"f": {SHA256: "1"}}}, map[Do][]int{Skip: {0}, Run: {1}}, []pawl.StepID{"db"},
			"1 of 2 items are finished; 1 will run; not started yet; all items run if the outputs of db change",
		},
		"the outputs changed": {pawl.StepDone{Digest: "another definition's"}, nil, nil, "outputs of step db changed"},
	} {
		t.Run(name, func(t *testing.T) {
			outputs := ""
			if len(tt.was.Outputs) > 0 {
				outputs = ", outputs: [f]"
			}
			w := newWorld(t, `
name: p
steps:
  - {id: a, run: ":"`+outputs+`}
  - {id: db, run: ":", needs: [a], service: {}}
  - {id: list, run: ":", needs: [db], foreach: {items: [x, y]}}
`)
			begins := func(id, need pawl.StepID) pawl.Key {
				return pawl.Key{Definition: pawl.DefinitionOf(w.plan, w.plan.Step(id), ""), Needs: map[pawl.StepID]string{need: w.state.Steps[need].Gives()}}
			}
			a := w.begin("a", "", 0)
			tt.was.Step, tt.was.Attempt, tt.was.Token = "a", 1, a.Token
			w.say(tt.was)
			db := pawl.AttemptRef{Step: "db", Attempt: 1, Token: "db"}
			w.say(pawl.AttemptStarted{AttemptRef: db, Key: begins("db", "a")}, pawl.ServiceReady{AttemptRef: db})
			w.say(pawl.StepListed{Step: "list", Key: begins("list", "db"), Items: []string{"x", "y"}})
			w.say(pawl.ItemDone{AttemptRef: w.begin("list", "x", 0)}, pawl.StepReopened{Step: "a", Why: "again", Asked: true})
			x := w.forecast("x", "y")["list"]
			if x.Do != Run || !reflect.DeepEqual(x.ByItem, tt.byItem) || !reflect.DeepEqual(x.Unless, tt.unless) || x.Why != tt.why {
				t.Errorf("%+v", x)
			}
		})
	}
}

// TestForecastOfAnItemThatAsks: after a step has failed, a run fails once the other items of a begun foreach step have run. It does not
// wait for the answer about an item.
func TestForecastOfAnItemThatAsks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `
name: p
on_failure: ./no
steps:
  - {id: list, run: ":", needs: [], foreach: {items: [x, y]}, idempotent: false}
  - {id: b, run: ":", needs: []}
`)
	w.say(pawl.StepListed{Step: "list", Key: pawl.Key{Definition: pawl.DefinitionOf(w.plan, w.plan.Step("list"), "")}, Items: []string{"x", "y"}})
	w.say(pawl.AttemptEnded{AttemptRef: w.begin("list", "x", 0), Outcome: pawl.Lost})
	w.fails("b", end)
	w.say(pawl.StepFailed{Step: "b", Why: "exit 1"})
	all := w.forecast("x", "y")
	if x := all["list"]; !reflect.DeepEqual(x.ByItem, map[Do][]int{Ask: {0}, Run: {1}}) {
		t.Errorf("%+v", x)
	}
	if x := all[pawl.OnFailure]; x.Do != Run {
		t.Errorf("%+v", x)
	}
}
