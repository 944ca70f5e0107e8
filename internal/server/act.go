package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"pawl"
	"pawl/internal/cli/failure"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/server/client"
	"pawl/internal/tokens"
)

// CommandError is the error of a command that failed.
type CommandError struct{ Failure failure.Error }

func (e *CommandError) Error() string {
	if e.Failure.Hint == "" {
		return e.Failure.Message
	}
	return e.Failure.Message + "; " + e.Failure.Hint
}

// ParseFailure returns the error that a command with --json printed to standard error, nil if it printed none. Notes may precede it.
func ParseFailure(printed []byte) *CommandError {
	for line := range bytes.Lines(printed) {
		var d failure.Document
		if json.Unmarshal(line, &d) == nil && d.Error.Message != "" {
			return &CommandError{d.Error}
		}
	}
	return nil
}

// request is what an action is asked to do.
type request struct {
	by    pawl.Author
	match string // the tag that the client expects; empty: any
	step  pawl.StepID
	items []string
	why   string

	reviewer string
	score    int
}

// action is what a client can have done with the current run of a project.
type action struct {
	verb    string
	right   tokens.Right
	summary string
	done    string // what is said of success
	refused string // what is said if the run's status does not allow it
	allowed func(pawl.RunStatus) bool
	do      func(ctx context.Context, a *api, p *project.Project, run pawl.RunID, q request) (client.Acted, error)
}

func always(pawl.RunStatus) bool { return true }

// unended reports whether a run has not ended.
func unended(s pawl.RunStatus) bool { return s != pawl.StatusCompleted && s != pawl.StatusFailed }

var (
	resumeAction = action{
		verb: "resume", right: tokens.Operate, summary: "Resume the current run of a project in the background, like `pawl resume --background`",
		done: "Project resumed", refused: "Project not paused",
		allowed: func(s pawl.RunStatus) bool { return s == pawl.StatusPaused || s == pawl.StatusInterrupted },
		do:      resumeRun,
	}
	pauseAction = action{
		verb: "pause", right: tokens.Operate, summary: "Pause the current run of a project, like `pawl pause`",
		done: "Project paused", refused: "Project not active",
		allowed: func(s pawl.RunStatus) bool { return unended(s) && s != pawl.StatusPaused },
		do:      journaled(func(q request) runs.Act { return runs.Pause(cmp.Or(q.why, "over HTTP")) }),
	}
	stopAction = action{
		verb: "stop", right: tokens.Operate, summary: "Stop the current run of a project and terminate its running steps, like `pawl stop`",
		done: "Project stopped", refused: "Project not active", allowed: unended, do: stopRun,
	}
	retryAction = action{
		verb: "retry", right: tokens.Operate, summary: "Queue a step of the current run to rerun, like `pawl retry`",
		done: "Step queued for retry", refused: "Step not queued for retry", allowed: always,
		do: onStep(func(q request) runs.Act { return runs.Retry(q.step, q.why) }),
	}
	skipAction = action{
		verb: "skip", right: tokens.Operate, summary: "Skip a step of the current run, or items of a foreach step, like `pawl skip`",
		done: "Step skipped", refused: "Step not skipped", allowed: always,
		do: onStep(func(q request) runs.Act { return runs.Skip(q.step, q.items, q.why) }),
	}
	doneAction = action{
		verb: "done", right: tokens.Approve, summary: "Mark a step of the current run, or items of a foreach step, as done, like `pawl done`",
		done: "Step marked as done", refused: "Step not marked as done", allowed: always,
		do: onStep(func(q request) runs.Act { return runs.Done(q.step, q.items, q.why) }),
	}
	reviewAction = action{
		verb: "review", right: tokens.Approve, summary: "Score a finished step of the current run, like `pawl review`",
		done: "Step reviewed", refused: "Step not reviewed", allowed: always,
		do: onStep(func(q request) runs.Act { return runs.Review(q.step, q.reviewer, q.score, q.why) }),
	}
)

// journaled returns an action that only journals an act.
func journaled(act func(request) runs.Act) func(context.Context, *api, *project.Project, pawl.RunID, request) (client.Acted, error) {
	return func(ctx context.Context, a *api, p *project.Project, run pawl.RunID, q request) (client.Acted, error) {
		return client.Acted{}, a.perform(ctx, p, run, q, act(q))
	}
}

// onStep is journaled for an act on a step, which must exist.
func onStep(act func(request) runs.Act) func(context.Context, *api, *project.Project, pawl.RunID, request) (client.Acted, error) {
	return journaled(func(q request) runs.Act {
		return func(p *project.Project, r *runs.Run) ([]pawl.Payload, error) {
			if err := runs.CheckStep(r, q.step); err != nil {
				return nil, missing(err)
			}
			return act(q)(p, r)
		}
	})
}

// perform journals an act, if the run still has the tag that the client expects.
func (a *api) perform(ctx context.Context, p *project.Project, run pawl.RunID, q request, act runs.Act) error {
	r, err := runs.Perform(runs.ByClient(ctx, clientOf(ctx).May(tokens.Approve)), p, run, q.by, func(p *project.Project, r *runs.Run) ([]pawl.Payload, error) {
		if err := checkTag(q.match, r.State.Seq); err != nil {
			return nil, err
		}
		return act(p, r)
	})
	if err != nil {
		return err
	}
	a.visitSoon(p.ID)
	return r.Log.Close()
}

// checkTag returns an error if a client expects another state of a run.
func checkTag(match string, seq pawl.Seq) error {
	if match == "" || match == "*" || match == tagOf(seq) {
		return nil
	}
	return problem(http.StatusPreconditionFailed, "the run has changed: its tag is "+tagOf(seq), "")
}

// resumeRun starts an engine.
func resumeRun(ctx context.Context, a *api, p *project.Project, run pawl.RunID, q request) (client.Acted, error) {
	if q.match != "" {
		s, err := runs.LoadState(ctx, p, run)
		if err == nil {
			err = checkTag(q.match, s.Seq)
		}
		if err != nil {
			return client.Acted{}, err
		}
	}
	found, err := examine(ctx, p, run)
	if err != nil {
		return client.Acted{}, err
	}
	if err := a.start(ctx, p, run); err != nil {
		refused := problemOf(err)
		if failed, ok := errors.AsType[*CommandError](err); ok && failed.Failure.Kind == pawl.KindUsage { // it needs a confirmation
			refused.Status, refused.Title = http.StatusPreconditionRequired, http.StatusText(http.StatusPreconditionRequired)
		}
		return client.Acted{}, refused
	}
	a.visitSoon(p.ID)
	return client.Acted{Verdicts: verdictsOf(found)}, nil
}

// verdictWords are the verdicts as clients know them.
var verdictWords = map[pawl.VerdictWord]string{
	pawl.Continue: "continue_task", pawl.Restart: "restart_task", pawl.Next: "next_task", pawl.HumanReview: "human_review",
}

// verdictsOf returns the verdicts on interrupted attempts.
func verdictsOf(r *client.Recovery) []client.Judgement {
	var all []client.Judgement
	for _, j := range r.Examination.Verdicts {
		all = append(all, client.Judgement{Step: j.Step, Item: j.Item, Attempt: j.Attempt, Verdict: verdictWords[j.Verdict.Word], Reasons: append([]string{}, j.Verdict.Reasons...)})
	}
	return all
}

// stopLimit is how long a client waits for the end of running steps.
const stopLimit = 20 * time.Second

// stopRun ends a run's steps. If they take long to end, it does not wait for them.
func stopRun(ctx context.Context, a *api, p *project.Project, run pawl.RunID, q request) (client.Acted, error) {
	if err := a.perform(ctx, p, run, q, runs.Stop(cmp.Or(q.why, "stopped by "+q.by.Name))); err != nil {
		return client.Acted{}, err
	}
	r, err := runs.Glance(ctx, p, run)
	if err != nil {
		return client.Acted{}, err
	}
	defer r.Log.Close()
	waiting, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit) // also if the client leaves
	defer cancel()
	if err := runs.AwaitStop(waiting, p, r, func(string) {}); waiting.Err() != nil {
		return client.Acted{Message: client.Stopping}, nil
	} else if err != nil {
		return client.Acted{}, err
	}
	return client.Acted{}, nil
}

type actInput struct {
	ProjectPath
	Match  string `header:"If-Match" doc:"tag of the run's state: if it has another one, nothing is done" maxLength:"64"`
	DryRun bool   `query:"dry_run" doc:"of a resume: only show what it would find and do"`
	Body   *actBody
}

type actBody struct {
	Step  pawl.StepID `json:"step,omitempty" doc:"for retry, skip and done" maxLength:"200"`
	Items []string    `json:"items,omitempty" doc:"for skip and done: only these items of a foreach step" maxItems:"1000"`
	Why   string      `json:"why,omitempty" doc:"reason" maxLength:"4000"`
	By    string      `json:"by,omitempty" doc:"for review: the reviewer's name" maxLength:"200"`
	Score *int        `json:"score,omitempty" doc:"for review: 0 to 100"`
}

func (a *api) actionRoutes(h huma.API) {
	for _, act := range []action{resumeAction, pauseAction, stopAction, retryAction, skipAction, doneAction, reviewAction} {
		register(h, route{
			id: act.verb + "-project", method: http.MethodPost, path: "/api/projects/{id}/" + act.verb, right: act.right, summary: act.summary,
			errors: []int{http.StatusNotFound, http.StatusConflict, http.StatusPreconditionFailed, http.StatusLocked, http.StatusPreconditionRequired},
		}, func(ctx context.Context, in *actInput) (client.Acted, error) { return a.act(ctx, in, act) })
	}
}

// authorOf returns the author of what a client does.
func authorOf(ctx context.Context) pawl.Author {
	return pawl.Author{Kind: pawl.ByPerson, Name: clientOf(ctx).Name}
}

// act does an action with the current run of a project.
func (a *api) act(ctx context.Context, in *actInput, act action) (client.Acted, error) {
	e, err := entry(in.ID)
	if err != nil {
		return client.Acted{}, err
	}
	q := request{by: authorOf(ctx), match: in.Match}
	if in.Body != nil {
		q.step, q.items, q.why = in.Body.Step, in.Body.Items, strings.TrimSpace(in.Body.Why)
	}
	if act.verb == reviewAction.verb {
		if in.Body == nil || in.Body.By == "" || in.Body.Score == nil {
			return client.Acted{}, badRequest("review needs by and score")
		}
		q.reviewer, q.score = in.Body.By, *in.Body.Score
	}
	if _, stepless := map[string]bool{"resume": true, "pause": true, "stop": true}[act.verb]; stepless == (q.step != "") {
		return client.Acted{}, badRequest("%s %s", act.verb, map[bool]string{true: "takes no step", false: "needs a step"}[stepless])
	}
	s := watched{Project: client.Project{ID: e.ID, Path: e.Path}}
	p, _, err := s.read(ctx)
	if err != nil {
		return client.Acted{}, act.refusal(err, s.Status)
	}
	if in.DryRun && act.verb == resumeAction.verb {
		found, err := examine(ctx, p, s.Run)
		if err != nil {
			return client.Acted{}, act.refusal(err, s.Status)
		}
		return client.Acted{Success: true, Message: "Dry run", Run: s.Run, Verdicts: verdictsOf(found), Recovery: found}, nil
	}
	if !act.allowed(s.Status) {
		return client.Acted{}, act.refusal(problem(http.StatusConflict, s.Why, ""), s.Status)
	}
	done, err := act.do(ctx, a, p, s.Run, q)
	if err != nil {
		return client.Acted{}, act.refusal(err, s.Status)
	}
	done.Success, done.Run, done.Message = true, s.Run, cmp.Or(done.Message, act.done)
	return done, nil
}

// refusal returns the problem that an action was not done.
func (a action) refusal(err error, state pawl.RunStatus) *Problem {
	p := *problemOf(err)
	p.Message, p.State = a.refused, state
	return &p
}
