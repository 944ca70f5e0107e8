package tracing

import (
	"cmp"
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"pawl"
)

// Record exports the spans that an event ends.
func (t *Tracer) Record(ctx context.Context, e pawl.Event, s *pawl.State, plan *pawl.Plan) {
	of, ok := runContext(s)
	if !ok || !of.IsSampled() || t.err != nil {
		return
	}
	if t.started == nil {
		t.started = map[pawl.Token]time.Time{}
		for _, live := range s.Live() { // of earlier engines
			t.started[live.Token] = live.Started
		}
	}
	switch e.Type {
	case pawl.AttemptStarted{}.Event(), pawl.AttemptEnded{}.Event(), pawl.ItemDone{}.Event(), pawl.StepDone{}.Event(), pawl.StepFailed{}.Event(),
		pawl.StepSkipped{}.Event(), pawl.RunEnded{}.Event():
	default:
		return
	}
	payload, err := e.Payload()
	if err != nil {
		return // the state has reported it
	}
	r := recorder{Tracer: t, ctx: ctx, run: of, at: e.Time, state: s, plan: plan}
	switch p := payload.(type) {
	case pawl.AttemptStarted:
		t.started[p.Token] = e.Time
	case pawl.AttemptEnded:
		r.attempt(p.AttemptRef, attemptOf(p), p.Stats, p.Usage, p.Verdict)
	case pawl.ItemDone:
		r.attempt(p.AttemptRef, done, p.Stats, p.Usage, p.Verdict)
	case pawl.StepDone:
		r.attempt(pawl.AttemptRef{Step: p.Step, Attempt: p.Attempt, Token: p.Token}, done, p.Stats, p.Usage, p.Verdict)
		r.step(p.Step, resultSuccess)
	case pawl.StepFailed:
		r.step(p.Step, resultFailure)
	case pawl.StepSkipped:
		r.step(p.Step, resultSkip)
	case pawl.RunEnded:
		r.ended(p.Status)
	}
}

// recorder exports the spans that one event ends.
type recorder struct {
	*Tracer
	ctx   context.Context
	run   trace.SpanContext
	at    time.Time
	state *pawl.State
	plan  *pawl.Plan
}

// end is how an attempt ended.
type end struct {
	outcome string
	result  string // of a pipeline's task; empty: it has none yet
	failed  string // why; empty: it did not fail
	exit    *int
}

var done = end{outcome: "done", result: resultSuccess}

func attemptOf(p pawl.AttemptEnded) end {
	e := end{outcome: string(p.Outcome), exit: p.Exit}
	switch p.Outcome {
	case pawl.WaitsFor:
	case pawl.Aborted:
		e.result = resultCancellation
	case pawl.Lost, pawl.NotStarted:
		e.result, e.failed = resultError, string(p.Outcome)
	default:
		e.result, e.failed = resultFailure, string(cmp.Or(p.Reason, pawl.EndReason(p.Outcome)))
		switch p.Reason {
		case pawl.ReasonTimeout, pawl.ReasonStalled, pawl.ReasonNotReady:
			e.result = resultTimeout
		case pawl.ReasonError:
			e.result = resultError
		}
	}
	return e
}

// attempt exports the span of an attempt that this engine or an earlier one has started.
func (r recorder) attempt(ref pawl.AttemptRef, how end, stats *pawl.AttemptStats, usage pawl.Usage, verdict *pawl.Verdict) {
	start, known := r.started[ref.Token]
	if !known { // adopted from another run, for example
		return
	}
	delete(r.started, ref.Token)
	ended := ended{
		id: attemptID(ref), parent: contextOf(r.run.TraceID(), stepID(r.state.Run, ref.Step), true), name: "attempt " + string(ref.Step),
		kind: trace.SpanKindInternal, start: start, end: r.at, failed: how.failed, attributes: []attribute.KeyValue{
			r.text(taskName, string(ref.Step)), attribute.Int(attemptNumber, ref.Attempt), attribute.String(attemptEnd, how.outcome),
		},
	}
	add := func(a attribute.KeyValue) { ended.attributes = append(ended.attributes, a) }
	if stats != nil && stats.Seconds > 0 { // it may have ended while no engine was there
		if at := start.Add(time.Duration(stats.Seconds * float64(time.Second))); at.Before(r.at) {
			ended.end = at
		}
	}
	if ref.Item != "" {
		add(r.text(itemID, string(ref.Item)))
	}
	if how.exit != nil {
		add(attribute.Int(exitCode, *how.exit))
	}
	if how.failed != "" {
		add(attribute.String(errorType, how.failed))
	}
	if verdict != nil {
		add(attribute.String(verdictWord, string(verdict.Word)))
	}
	if usage != (pawl.Usage{}) {
		ended.attributes = append(ended.attributes, attribute.Int64(usageTokens, usage.Tokens), attribute.Float64(usageUSD, usage.USD))
	}
	if step := r.plan.Step(ref.Step); step != nil && step.Agent != nil {
		ended.name = invokeAgent + " " + string(step.Agent.Use)
		ended.attributes = append(ended.attributes, r.agent(step.Agent, ref)...)
	}
	r.export(r.ctx, r.run.TraceID(), ended)
}

// agent returns the attributes of an attempt that a coding agent makes.
func (r recorder) agent(a *pawl.AgentAction, ref pawl.AttemptRef) []attribute.KeyValue {
	attributes := []attribute.KeyValue{attribute.String(operationName, invokeAgent), attribute.String(agentName, string(a.Use))}
	if a.Model != "" {
		attributes = append(attributes, r.text(requestModel, a.Model))
	}
	if c := r.state.Conversation(ref); c != nil {
		attributes = append(attributes, r.text(conversation, c.ID))
	}
	return attributes
}

// step exports the span of a step: from its first attempt to its end.
func (r recorder) step(id pawl.StepID, result string) {
	start := r.at
	if st := r.state.Steps[id]; st != nil && !st.Started.IsZero() {
		start = st.Started
	}
	ended := ended{
		id: stepID(r.state.Run, id), parent: r.run, name: string(id), kind: trace.SpanKindInternal, start: start, end: r.at,
		attributes: []attribute.KeyValue{
			r.text(taskName, string(id)), r.text(taskRun, string(r.state.Run)+"/"+string(id)), attribute.String(taskResult, result),
		},
	}
	if result == resultFailure {
		ended.failed = "failed"
	}
	r.gates(id, contextOf(r.run.TraceID(), ended.id, true))
	r.export(r.ctx, r.run.TraceID(), ended)
}

// gates exports the spans of the gates of a step, or of those without a step: how long the run waited for a person. They are exported
// with what they belong to, because they may be answered while no engine works on the run.
func (r recorder) gates(step pawl.StepID, parent trace.SpanContext) {
	for _, g := range r.state.Gates {
		if g.Step != step || g.Open() || g.Opened.IsZero() {
			continue
		}
		answer := "withdrawn"
		switch {
		case g.Answer != nil:
			answer = string(g.Answer.Answer)
		case g.Expired:
			answer = "expired"
		}
		r.export(r.ctx, r.run.TraceID(), ended{
			id: spanID("gate", string(r.state.Run), string(g.ID), g.Opened.String()), parent: parent, name: "gate " + string(cmp.Or(step, "run")), kind: trace.SpanKindInternal,
			start: g.Opened, end: cmp.Or(g.Closed, r.at), attributes: []attribute.KeyValue{attribute.String(gateType, string(g.Type)), attribute.String(gateAnswer, answer)},
		})
	}
}

// ended exports the span of the run.
func (r recorder) ended(status pawl.RunStatus) {
	result, failed := resultSuccess, ""
	if status == pawl.StatusFailed {
		result, failed = resultFailure, "failed"
	}
	var parent trace.SpanContext
	if span := (trace.SpanID{}); parseID(span[:], r.state.Trace.Parent) {
		parent = contextOf(r.run.TraceID(), span, true)
	}
	r.gates("", r.run)
	r.export(r.ctx, r.run.TraceID(), ended{
		id: r.run.SpanID(), parent: parent, name: "RUN " + r.state.Name, kind: trace.SpanKindServer, start: r.state.Created, end: r.at, failed: failed,
		attributes: []attribute.KeyValue{
			r.text(pipelineName, r.state.Name), r.text(pipelineRun, string(r.state.Run)), attribute.String(pipelineResult, result),
			attribute.Int(engineCount, r.state.Engines), attribute.Int(engineDeaths, r.state.Deaths),
		},
	})
}
