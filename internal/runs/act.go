package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/outputs"
	"pawl/internal/project"
	"pawl/internal/redact"
	"pawl/internal/shellwords"
	"pawl/internal/strictyaml"
	"pawl/internal/supervise"
)

// An Act is a change that a person or an agent makes to a run. It returns the events for the change, or why it is not
// possible. It may be called again on a newer state.
type Act func(p *project.Project, r *Run) ([]pawl.Payload, error)

// Perform journals an act and returns the run afterwards. It needs no engine; a running engine sees the events and
// continues from them.
func Perform(ctx context.Context, p *project.Project, run pawl.RunID, by pawl.Author, act Act) (*Run, error) {
	r, err := Load(ctx, p, run)
	if err != nil {
		return nil, err
	}
	if err := r.Perform(ctx, p, by, act); err != nil {
		return nil, errors.Join(err, r.Log.Close())
	}
	return r, nil
}

// Perform is like the function Perform, for an open run. The mark of a run follows what a person does.
func (r *Run) Perform(ctx context.Context, p *project.Project, by pawl.Author, act Act) error {
	if by.Kind != pawl.ByPerson {
		return r.perform(ctx, p, by, act)
	}
	if err := RequireOwn(p, r.State.Run); err != nil {
		return err
	}
	return errors.Join(r.perform(ctx, p, by, act), Mark(p, r.State.Run))
}

// eventsOf returns the events of an author, without secrets.
func eventsOf(by pawl.Author, payloads []pawl.Payload) ([]pawl.Event, error) {
	events := make([]pawl.Event, 0, len(payloads))
	for _, payload := range payloads {
		event, err := redact.OfProcess().Event(by, payload)
		if err != nil {
			return nil, err
		}
		events = append(events, event)
	}
	return events, nil
}

func (r *Run) perform(ctx context.Context, p *project.Project, by pawl.Author, act Act) error {
	payloads, actErr := act(p, r)
	if err := refuseOutside(ctx, p, r, by, payloads); err != nil {
		return err
	}
	events, err := eventsOf(by, payloads)
	if err != nil {
		return err
	}
	if len(events) > 0 {
		var last pawl.Seq
		err := Announce(p, r.State.Run, events, func() (err error) {
			last, err = r.Log.Append(ctx, 0, events...)
			return err
		})
		if err == nil {
			err = r.Refresh()
		}
		if err == nil {
			err = r.rejectedBetween(last-pawl.Seq(len(events)), last)
		}
		if err != nil {
			return errors.Join(actErr, err)
		}
	}
	if _, alive := p.EngineHolder(); alive || len(events) == 0 {
		return actErr
	}
	if err := WriteViews(p, r); err != nil {
		r.Notes = append(r.Notes, fmt.Sprintf("views: %v", err))
	}
	if r.Log.Uncached() >= actsPerCache {
		save := func() error { return r.Log.SaveState(r.State) }
		if r.Log.Proven() {
			save = func() error { return SaveState(p, r.Log, r.State) }
		}
		_ = save() // a missing cache is rebuilt
	}
	return actErr
}

// actsPerCache is how many events may pass before the state of a run without an engine is cached, as in a session run.
const actsPerCache = 64

// rejectedBetween returns an error if the state rejected one of the events after a number, up to another, because
// another writer was faster.
func (r *Run) rejectedBetween(after, last pawl.Seq) error {
	for _, m := range r.State.RejectedEvents {
		if m.Seq > after && m.Seq <= last {
			return &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("another change came first: %s", m.Why), Hint: "pawl status"}
		}
	}
	return nil
}

// Refresh folds the events journaled since.
func (r *Run) Refresh() error {
	news, err := r.Log.NewEvents()
	for _, event := range news {
		r.State.Apply(event)
	}
	return err
}

// Approve approves a human_verify or human_action gate, if it still shows the content from when it was opened.
func Approve(id pawl.GateID, why string) Act {
	return Reply(pawl.GateAnswered{Gate: id, Answer: pawl.Approved, Why: why})
}

// Reject rejects a gate: the steps it covers rerun and get the reason, or with stop the run fails.
func Reject(id pawl.GateID, why string, stop bool) Act {
	reply := pawl.GateAnswered{Gate: id, Answer: pawl.Rejected, Why: why}
	if stop {
		reply.Answer = pawl.Refused
	}
	return Reply(reply)
}

// Choose answers a decision gate with one of its options.
func Choose(id pawl.GateID, option, why string) Act {
	return Reply(pawl.GateAnswered{Gate: id, Answer: pawl.Chosen, Option: option, Why: why})
}

// checkReply returns why a reply does not fit a gate. A decision without options accepts any answer.
func checkReply(reply pawl.GateAnswered, g *pawl.GateState) error {
	switch decision := g.Type == pawl.DecisionFor; {
	case reply.Answer == pawl.Approved && decision:
		return UsageError(AnswerCommands(g)[0], "gate %s is a decision; choose one of: %s", g.ID, cmp.Or(strings.Join(g.Options, ", "), g.Ask))
	case redact.Sure(reply.Option) != "":
		return UsageError("", "the answer is a secret (%s), and an answer is recorded as it is; set the secret in the environment of pawl, and answer with its name", redact.Sure(reply.Option))
	case reply.Answer == pawl.Chosen && !decision && !slices.Contains(g.Options, reply.Option):
		return UsageError("pawl approve "+string(g.ID), "gate %s is a %s; approve or reject it", g.ID, g.Type)
	case reply.Answer == pawl.Chosen && reply.Option == "", reply.Answer == pawl.Chosen && len(g.Options) > 0 && !slices.Contains(g.Options, reply.Option):
		return UsageError(AnswerCommands(g)[0], "gate %s has no option %q; options: %s", g.ID, reply.Option, strings.Join(g.Options, ", "))
	}
	return nil
}

// Reply closes a gate with an answer that fits its type, if it still shows the content from when it was opened.
func Reply(reply pawl.GateAnswered) Act {
	return func(p *project.Project, r *Run) ([]pawl.Payload, error) {
		g, err := openGateOf(r.State, reply.Gate)
		if err != nil {
			return nil, err
		}
		if err := checkReply(reply, g); err != nil {
			return nil, err
		}
		changed, err := GateChanges(p, r, g)
		if err != nil {
			return nil, err
		}
		if len(changed) > 0 {
			why := ContentChanged(changed)
			return []pawl.Payload{pawl.GateWithdrawn{Gate: g.ID, Why: why}},
				&pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("gate %s: %s; pawl resume asks again", g.ID, why), Hint: "pawl resume"}
		}
		reply.Step, reply.Plan = g.Step, cmp.Or(g.Plan, r.State.Plan.SHA256)
		payloads := []pawl.Payload{reply}
		if g.Purpose == pawl.ForRepeat && reply.Option == TookEffect {
			done, err := markDone(p, r, g.Step, string(g.Item), reply.Why)
			if err != nil { // the gate stays open
				return nil, err
			}
			return append(payloads, done...), nil
		}
		if reply.Answer == pawl.Chosen {
			payloads = append(payloads, pawl.DecisionMade{Decision: pawl.Decision{
				Question: g.Ask, Options: g.Options, Choice: reply.Option, Why: reply.Why, Step: g.Step,
			}})
		}
		return payloads, nil
	}
}

// OpenGate opens a gate of the engine's, unless it is open.
func OpenGate(g pawl.Gate) Act {
	return func(_ *project.Project, r *Run) ([]pawl.Payload, error) {
		if old := r.State.Gate(g.ID); old != nil && old.Open() {
			return nil, nil
		}
		return []pawl.Payload{pawl.GateOpened{Gate: g}}, nil
	}
}

// answerOf says how a gate was answered.
func answerOf(a *pawl.GateAnswered) string {
	if a.Option != "" {
		return "answered: " + a.Option
	}
	return string(a.Answer)
}

func openGateOf(s *pawl.State, id pawl.GateID) (*pawl.GateState, error) {
	g := s.Gate(id)
	switch {
	case g == nil:
		return nil, &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("no gate %s", id), Hint: "pawl gates"}
	case g.Withdrawn != "":
		return nil, &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("gate %s is closed: %s", id, g.Withdrawn), Hint: "pawl gates"}
	case g.Answer != nil:
		return nil, &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("gate %s is already closed: it was %s", id, answerOf(g.Answer)), Hint: ContinueCommand(s)}
	case !g.Open():
		return nil, &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("gate %s is already closed", id), Hint: "pawl gates"}
	}
	return g, nil
}

// RequireOpenGate returns an error of KindUsage that says why a gate is not open.
func RequireOpenGate(s *pawl.State, id pawl.GateID) error {
	_, err := openGateOf(s, id)
	return err
}

// ContentChanged says why a gate is withdrawn that shows paths with other contents than now.
func ContentChanged(paths []string) string {
	return "its content has changed: " + strings.Join(paths, ", ")
}

// GateChanges returns what a gate shows that has changed since the gate was opened.
func GateChanges(p *project.Project, r *Run, g *pawl.GateState) ([]string, error) {
	if g.Purpose == pawl.ForPlan {
		source := PlanSource(p, r.State)
		loaded, err := LoadPlan(p.Root, source)
		if err != nil || SHA256Hex(loaded.Data) != g.Plan { // an unreadable plan is another one
			return []string{source}, nil
		}
		return nil, nil
	}
	step := r.Plan.Step(g.Step)
	if step == nil || step.Gate == nil || g.Purpose != "" {
		return nil, nil
	}
	now, err := GateContent(p.Root, r, step)
	if err != nil {
		return nil, err
	}
	now = LimitShown(now)
	var changed []string
	for _, path := range slices.Sorted(maps.Keys(g.Shown)) {
		if now[path] != g.Shown[path] {
			changed = append(changed, path)
		}
	}
	return changed, nil
}

// GateContent returns what a gate step shows now: the outputs on disk of the steps that it needs and, through those that have none,
// such as skipped steps and gates, of the steps before them. The outputs of a foreach step count as one.
func GateContent(root string, r *Run, step *pawl.Step) (pawl.Outputs, error) {
	all, seen := pawl.Outputs{}, map[pawl.StepID]bool{}
	needs := r.Plan.Order()
	todo := needs[step.ID]
	for len(todo) > 0 {
		need := todo[0]
		todo = todo[1:]
		st := r.State.Steps[need]
		if st == nil || seen[need] {
			continue
		}
		seen[need] = true
		maps.Copy(all, CurrentOutputs(root, st.Outputs))
		switch {
		case st.Items != nil && st.Status != pawl.Skipped:
			items, err := ItemOutputs(r, st.Items)
			if err != nil {
				return nil, err
			}
			all[string(need)+"/*"] = pawl.Content{SHA256: CurrentOutputs(root, items).Hash(), Files: len(items)}
		case len(st.Outputs) == 0:
			todo = append(todo[:len(todo):len(todo)], needs[need]...)
		}
	}
	return all, nil
}

// ItemOutputs returns the recorded outputs of a step's finished items.
func ItemOutputs(r *Run, items *pawl.ItemsState) (pawl.Outputs, error) {
	all := pawl.Outputs{}
	for index := range items.Total {
		if items.Done.At(index) == 0 {
			continue
		}
		done, err := ReadItemDone(r.Log, items, index)
		if err != nil {
			return nil, err
		}
		maps.Copy(all, done.Outputs)
	}
	return all, nil
}

// CurrentOutputs returns the current content of the recorded paths. A path that does not exist has the zero Content.
func CurrentOutputs(root string, recorded pawl.Outputs) pawl.Outputs {
	now := make(pawl.Outputs, len(recorded))
	for path := range recorded {
		c, err := outputs.HashOne(root, path)
		if err != nil {
			c = pawl.Content{}
		}
		now[path] = c
	}
	return now
}

// Ask opens a gate on a person's behalf. With again it also opens one that was answered.
func Ask(action pawl.GateAction, again bool) Act {
	return func(_ *project.Project, r *Run) ([]pawl.Payload, error) {
		gate := action.Gate("", "", time.Now())
		if g := r.State.Gate(gate.ID); g != nil && g.Open() {
			return nil, UsageError("pawl gates", "gate %s already asks this", gate.ID)
		} else if g != nil && g.Answer != nil && !again {
			return nil, UsageError("pawl ask --help", "gate %s asked this, and the answer was %q: --again asks once more", gate.ID, cmp.Or(g.Answer.Option, string(g.Answer.Answer)))
		}
		return []pawl.Payload{pawl.GateOpened{Gate: gate}}, nil
	}
}

// Pause prevents new attempts from starting.
func Pause(why string) Act {
	return func(_ *project.Project, r *Run) ([]pawl.Payload, error) {
		return unlessEnded(r.State, pawl.RunPaused{Why: why})
	}
}

// Stop prevents new attempts from starting and terminates running ones. Without a running engine, call EndLive to
// terminate them.
func Stop(why string) Act {
	return func(_ *project.Project, r *Run) ([]pawl.Payload, error) {
		return unlessEnded(r.State, pawl.RunStopped{Why: cmp.Or(why, "stopped by a person")})
	}
}

func unlessEnded(s *pawl.State, payload pawl.Payload) ([]pawl.Payload, error) {
	if s.Ended() {
		return nil, &pawl.Error{Kind: pawl.KindNothing, Err: fmt.Errorf("run %s is already %s", s.Run, s.Status), Hint: "pawl runs"}
	}
	return []pawl.Payload{payload}, nil
}

// EndLive asks the supervisors of all live attempts to terminate them. It is for runs without an engine.
func EndLive(p *project.Project, r *Run, why string) error {
	var errs []error
	for _, live := range r.State.Live() {
		dir := p.AttemptDir(live.AttemptRef, r.State.Run)
		errs = append(errs, supervise.RequestAbort(dir, pawl.Abort{Reason: pawl.ReasonAbort, Why: why}))
	}
	return errors.Join(errs...)
}

// Retry reruns a step. Finished items of an unfinished foreach step stay finished.
func Retry(id pawl.StepID, why string) Act {
	return func(_ *project.Project, r *Run) ([]pawl.Payload, error) {
		st, err := idleStep(r, id)
		if err != nil {
			return nil, err
		}
		again := pawl.StepReopened{Step: id, Why: cmp.Or(why, pawl.AskedForRetry), Asked: true}
		again.Keep = st != nil && st.Items != nil && st.Status != pawl.Done
		return append(WithdrawGates(r.State, id, "was queued for retry"), reopening(r.State, again, "step "+string(id)+" queued for retry")...), nil
	}
}

// Skip continues the run without a step, or without some of its items.
func Skip(id pawl.StepID, items []string, why string) Act {
	if len(items) > 0 {
		return forEach(items, func(item string) Act { return skipItem(id, item, why) })
	}
	return func(_ *project.Project, r *Run) ([]pawl.Payload, error) {
		if _, err := idleStep(r, id); err != nil {
			return nil, err
		}
		if r.State.Steps[id].Finished() || r.State.Ended() && r.Plan.HandlesEnd(id) {
			return nil, UsageError("pawl status", "step %s is already finished", id)
		}
		return append(WithdrawGates(r.State, id, "was skipped"), reopening(r.State, pawl.StepSkipped{Step: id, Why: why}, "step "+string(id)+" was skipped")...), nil
	}
}

// reopening adds the event that reopens an ended run.
func reopening(s *pawl.State, payload pawl.Payload, why string) []pawl.Payload {
	if s.Ended() {
		return []pawl.Payload{payload, pawl.RunReopened{Why: why}}
	}
	return []pawl.Payload{payload}
}

// CheckStep returns an error if the plan of a run does not have a step.
func CheckStep(r *Run, id pawl.StepID) error {
	if r.Plan.Step(id) != nil {
		return nil
	}
	var ids []string
	for _, step := range slices.Concat(r.Plan.Steps(), r.Plan.Handlers()) {
		ids = append(ids, string(step.ID))
	}
	if step, item, _ := strings.Cut(string(id), "/"); item != "" && slices.Contains(ids, step) {
		return UsageError("pawl status", "%s names an item; pass the step %s (output, skip and done also take --item %s)", id, step, shellwords.Word(item))
	}
	return UsageError("pawl status", "%s", strictyaml.UnknownStep(string(id), ids))
}

// idleStep returns the state of a step without running attempts, nil if it never started.
func idleStep(r *Run, id pawl.StepID) (*pawl.StepState, error) {
	if err := CheckStep(r, id); err != nil {
		return nil, err
	}
	st := r.State.Steps[id]
	if len(st.Live()) > 0 {
		return nil, &pawl.Error{Kind: pawl.KindHeld, Err: fmt.Errorf("step %s is running", id), Hint: "pawl stop"}
	}
	return st, nil
}

// Review scores a finished step.
func Review(id pawl.StepID, reviewer string, score int, comment string) Act {
	return func(_ *project.Project, r *Run) ([]pawl.Payload, error) {
		if err := CheckStep(r, id); err != nil {
			return nil, err
		}
		st := r.State.Steps[id]
		if st == nil || st.Status != pawl.AwaitsReview && st.Status != pawl.Done {
			return nil, UsageError("pawl status", "step %s is not finished, so there is nothing to review", id)
		}
		if score < 0 || score > 100 {
			return nil, UsageError("", "score must be 0 to 100, not %d", score)
		}
		if _, asked := st.Minimum[reviewer]; !asked && len(st.Minimum) > 0 {
			names := slices.Sorted(maps.Keys(st.Minimum))
			return nil, UsageError(fmt.Sprintf("pawl review %s --by %s --score %d", id, shellwords.Word(names[0]), score), "%s is not a reviewer of step %s; reviewers: %s", reviewer, id, strings.Join(names, ", "))
		}
		return []pawl.Payload{pawl.StepReviewed{Step: id, Reviewer: reviewer, Score: score, Comment: comment}}, nil
	}
}

// Learn adds to MEMORY.md and journals the addition unless it was there before.
func Learn(m pawl.Memory) Act {
	return func(p *project.Project, _ *Run) ([]pawl.Payload, error) {
		added, err := p.Learn(m)
		if err != nil || !added {
			return nil, err
		}
		return []pawl.Payload{pawl.MemoryLearned{Memory: m}}, nil
	}
}

// Decide records a decision.
func Decide(d pawl.Decision) Act {
	return func(*project.Project, *Run) ([]pawl.Payload, error) {
		return []pawl.Payload{pawl.DecisionMade{Decision: d}}, nil
	}
}

// Block opens a blocker for a step, or for the whole run.
func Block(b pawl.Blocker) Act {
	return func(_ *project.Project, r *Run) ([]pawl.Payload, error) {
		if b.Step != "" {
			if err := CheckStep(r, b.Step); err != nil {
				return nil, err
			}
		}
		return unlessEnded(r.State, pawl.BlockerOpened{Blocker: b})
	}
}

// NameItem records the status of an item that an agent reports outside of any step.
func NameItem(item pawl.ItemNamed) Act {
	return func(*project.Project, *Run) ([]pawl.Payload, error) {
		item.Step = pawl.TasksStep
		return []pawl.Payload{item}, nil
	}
}

// Unblock clears a blocker.
func Unblock(id int, how string) Act {
	return func(_ *project.Project, r *Run) ([]pawl.Payload, error) {
		for _, b := range r.State.OpenBlockers() {
			if b.ID == id {
				return []pawl.Payload{pawl.BlockerCleared{ID: id, How: how}}, nil
			}
		}
		return nil, UsageError("pawl status", "blocker %d is not open", id)
	}
}

// Settle records that a tool call in doubt was checked. call is the number of the event that announced it.
func Settle(call pawl.Seq, why string) Act {
	return func(_ *project.Project, r *Run) ([]pawl.Payload, error) {
		for id, o := range r.State.Operations {
			if o.Seq == call {
				return []pawl.Payload{pawl.OperationSettled{Operation: id, Why: why}}, nil
			}
		}
		return nil, UsageError("pawl status", "no tool call in doubt has the number %d: it is settled already, or never was in doubt", call)
	}
}

func UsageError(hint, format string, args ...any) error {
	return &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf(format, args...), Hint: hint}
}

// MaxShown is how many paths a gate lists one by one. More are combined into one hash.
const MaxShown = 200

// LimitShown combines what a gate shows into one hash if it has more than MaxShown paths.
func LimitShown(shown pawl.Outputs) pawl.Outputs {
	if len(shown) <= MaxShown && CheckSize(shown) == nil {
		return shown
	}
	return pawl.Outputs{allShown: {SHA256: shown.Hash(), Files: len(shown)}}
}

// RefsOf returns the references of live attempts.
func RefsOf(live []*pawl.AttemptState) []pawl.AttemptRef {
	names := make([]pawl.AttemptRef, 0, len(live))
	for _, a := range live {
		names = append(names, a.AttemptRef)
	}
	return slices.Clip(names)
}

// allShown is the name of the combined entry.
const allShown = "*"
