package decide

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pawl"
	"pawl/internal/planfile"
	"pawl/internal/runs"
)

// TestNextEndsServicesAfterAFailure: after a failure a service starts again only if the foreach step that uses it does more without a
// person. Else the run would start the service and end it for ever.
func TestNextEndsServicesAfterAFailure(t *testing.T) {
	for name, tt := range map[string]struct {
		before func(*world)
		want   string
	}{
		"an item has yet to start": {func(*world) {}, "start db"},
		"an item waits for an answer": {func(w *world) {
			y := w.begin("list", "y", 1)
			w.say(pawl.AttemptEnded{AttemptRef: y, Outcome: pawl.Lost, Why: "its supervisor died"})
			gate := Next(runs.NewOutline(w.plan), w.state, w.now, 8)[0].Gate
			gate.ID = gate.Identify()
			w.say(pawl.GateOpened{Gate: gate})
		}, "fail"},
		"the step is blocked": {func(w *world) {
			w.say(pawl.BlockerOpened{Blocker: pawl.Blocker{Text: "no key", Step: "list"}})
		}, "fail"},
		"a step that it needs is pending": {func(w *world) {
			w.say(pawl.StepReopened{Step: "first", Why: "again", Asked: true})
		}, "fail"},
		"all items are done": {func(w *world) {
			y := w.begin("list", "y", 1)
			w.say(pawl.ItemDone{AttemptRef: y})
		}, "start db"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, `
name: p
steps:
  - {id: first, run: ":"}
  - {id: db, run: ":", needs: [], service: {}}
  - {id: list, run: ":", needs: [first, db], foreach: {items: [x, y]}, idempotent: false}
  - {id: other, run: ":", needs: []}
`)
			w.done("first")
			db := w.begin("db", "", 0)
			w.say(pawl.ServiceReady{AttemptRef: db}, pawl.StepListed{Step: "list", Items: []string{"x", "y"}})
			w.say(pawl.ItemDone{AttemptRef: w.begin("list", "x", 0)})
			tt.before(w)
			w.fails("other", pawl.AttemptEnded{Outcome: pawl.Failed, Final: true})
			w.say(pawl.StepFailed{Step: "other", Why: "no"}, pawl.AttemptEnded{AttemptRef: db, Outcome: pawl.Aborted})
			w.want(8, tt.want)
		})
	}
}

// TestNextEndsWithServices drives random plans with services and foreach steps: whatever happens, the run ends, or waits for a person.
func TestNextEndsWithServices(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		yaml := servicePlan(t)
		plan, err := planfile.Read("plan.yaml", []byte(yaml))
		if err != nil {
			t.Fatal(err)
		}
		x := &play{T: t, plan: runs.NewOutline(plan), state: pawl.NewState(), now: time.Unix(1_000_000, 0).UTC(), luck: 20}
		x.say(pawl.RunCreated{Run: "r"}, pawl.EngineStarted{Epoch: 1})
		if blocked := rapid.SampledFrom(x.plan.InOrder).Draw(t, "blocked"); x.one("blocker", 4) {
			x.say(pawl.BlockerOpened{Blocker: pawl.Blocker{Text: "no key", Step: blocked.ID}})
		}
		for range 300 {
			if !x.advance() {
				return
			}
		}
		t.Fatalf("the run does not end\n%s", yaml)
	})
}

// servicePlan returns a random plan. Its last step needs each service.
func servicePlan(t *rapid.T) string {
	kinds := []string{"", ", idempotent: false", ", service: {}", ", service: {}", ", foreach: {items: [x, y]}", ", foreach: {items: [x, y]}, idempotent: false"}
	var yaml strings.Builder
	yaml.WriteString("name: p\nsteps:\n")
	var services []string
	for i, n := 0, rapid.IntRange(2, 6).Draw(t, "steps"); i < n; i++ {
		var needs []string
		for j := range i {
			if rapid.Bool().Draw(t, "need") {
				needs = append(needs, fmt.Sprintf("s%d", j))
			}
		}
		kind := rapid.SampledFrom(kinds).Draw(t, "kind")
		if i == n-1 {
			needs, kind = append(needs, services...), strings.ReplaceAll(kind, ", service: {}", "")
			slices.Sort(needs)
			needs = slices.Compact(needs)
		}
		if strings.Contains(kind, "service") {
			services = append(services, fmt.Sprintf("s%d", i))
		}
		condition := rapid.SampledFrom([]string{"", "", "", "", "", ", if: always()", ", if: failure()", ", continue_on_error: true"}).Draw(t, "if")
		fmt.Fprintf(&yaml, "  - {id: s%d, run: ':', needs: [%s]%s%s}\n", i, strings.Join(needs, ", "), kind, condition)
	}
	return yaml.String()
}

// play is a run whose attempts end at random, and all well once luck is used up.
type play struct {
	*rapid.T
	plan  *runs.Outline
	state *pawl.State
	now   time.Time
	luck  int
}

func (x *play) one(label string, of int) bool { return rapid.IntRange(1, of).Draw(x.T, label) == 1 }

func (x *play) say(payloads ...pawl.Payload) {
	x.Helper()
	foldInto(x.state, x.now, payloads)
	if x.state.RejectedCount > 0 {
		x.Fatalf("%+v does not fit: %v", payloads, x.state.RejectedEvents)
	}
}

// advance carries out the next actions, and ends an attempt. It reports whether there was anything to do.
func (x *play) advance() (moved bool) {
	for _, a := range Next(x.plan, x.state, x.now, 3) {
		moved = moved || a.Kind != Sleep || !a.NeedsPerson
		x.act(a)
	}
	live := x.state.Working()
	if x.luck > 0 {
		live = x.state.Live()
	}
	if len(live) == 0 {
		return moved
	}
	x.end(rapid.SampledFrom(live).Draw(x.T, "which"))
	return true
}

func (x *play) key(id pawl.StepID) pawl.Key {
	return pawl.Key{Definition: string(id), Needs: runs.OutputDigests(x.plan.Needs, x.plan.Needs[id], x.state)}
}

func (x *play) act(a Action) {
	switch a.Kind {
	case Start:
		ref := pawl.AttemptRef{Step: a.Step.ID, Attempt: 1, Token: pawl.Token(fmt.Sprint(x.state.Seq))}
		st := x.state.Steps[a.Step.ID]
		if st != nil {
			ref.Attempt = max(st.Retries.Attempt, st.BaseAttempt) + 1
		}
		if a.Index >= 0 {
			ref.Item, ref.Index = pawl.ItemID(fmt.Sprint(a.Index)), a.Index
			if t := st.Items.Retries[a.Index]; t != nil {
				ref.Attempt = max(t.Attempt, st.BaseAttempt) + 1
			}
		}
		x.say(pawl.AttemptStarted{AttemptRef: ref, Key: x.key(a.Step.ID)})
	case List:
		x.say(pawl.StepListed{Step: a.Step.ID, Key: x.key(a.Step.ID), Items: []string{"x", "y"}})
	case Finish:
		x.say(pawl.StepDone{Step: a.Step.ID, Key: x.state.Steps[a.Step.ID].Key})
	case Open:
		a.Gate.ID = a.Gate.Identify()
		x.say(pawl.GateOpened{Gate: a.Gate})
	case Sleep:
		x.now = a.Until
	case StopLive, Release:
		for _, live := range x.state.Live() {
			if a.Kind == StopLive || live.Step == a.Step.ID {
				x.stop(live)
			}
		}
	default:
		x.say(a.Payloads(x.state)...)
	}
}

// stop ends a service.
func (x *play) stop(live *pawl.AttemptState) {
	if Unneeded(x.plan, x.state, live) {
		x.say(pawl.StepDone{Step: live.Step, Attempt: live.Attempt, Token: live.Token, Key: live.Key})
	} else {
		x.say(pawl.AttemptEnded{AttemptRef: live.AttemptRef, Outcome: pawl.Aborted})
	}
}

// end ends an attempt, or makes a service ready.
func (x *play) end(live *pawl.AttemptState) {
	step, luck := x.plan.ByID[live.Step], 9
	if x.luck > 0 {
		x.luck--
		luck = rapid.IntRange(0, 4).Draw(x.T, "luck")
	}
	end := pawl.AttemptEnded{AttemptRef: live.AttemptRef, Outcome: pawl.Lost}
	switch {
	case luck == 0:
		x.say(end)
	case luck == 1:
		end.Outcome, end.Final = pawl.Failed, true
		x.say(end)
		if live.Item == "" {
			x.say(pawl.StepFailed{Step: live.Step, Continued: step.ContinueOnError})
		}
	case step.Service != nil && live.Ready.IsZero():
		x.say(pawl.ServiceReady{AttemptRef: live.AttemptRef})
	case step.Service != nil:
	case live.Item != "":
		x.say(pawl.ItemDone{AttemptRef: live.AttemptRef})
	default:
		x.say(pawl.StepDone{Step: live.Step, Attempt: live.Attempt, Token: live.Token, Key: live.Key})
	}
}

// TestNextSettlesServicesBehindOthers: a service that a person queued does not start for a service that ends because no step needs it.
func TestNextSettlesServicesBehindOthers(t *testing.T) {
	w := newWorld(t, `
name: p
steps:
  - {id: first, run: ":", service: {}}
  - {id: second, run: ":", needs: [first], service: {}}
  - {id: last, run: ":", needs: [second]}
`)
	w.say(pawl.StepSkipped{Step: "first"})
	second := w.begin("second", "", 0)
	w.say(pawl.ServiceReady{AttemptRef: second})
	w.done("last")
	w.say(pawl.StepReopened{Step: "first", Why: "a person asked for a retry", Asked: true})
	w.want(8, "settle first, release second")
	w.say(pawl.StepDone{Step: "first"})
	w.want(8, "release second")
}
