package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"pawl"
	"pawl/internal/cli/failure"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// CommandError is the error of a command that failed.
type CommandError struct{ Failure failure.Error }

func (e *CommandError) Error() string {
	if e.Failure.Hint == "" {
		return e.Failure.Message
	}
	return e.Failure.Message + "; " + e.Failure.Hint
}

// Acted is the answer to an action.
type Acted struct {
	Success bool       `json:"success"`
	Message string     `json:"message"`
	Run     pawl.RunID `json:"run"`
}

// action is what a client can have done with the current run of a project.
type action struct {
	verb    string
	summary string
	done    string // what is said of success
	refused string // what is said if the run's status does not allow it
	allowed func(pawl.RunStatus) bool
	do      func(ctx context.Context, r *recovery, p *project.Project, run pawl.RunID) error
}

var (
	resumeAction = action{
		verb: "resume", summary: "Resume the current run of a project in the background, like `pawl resume --background`",
		done: "Project resumed", refused: "Project not paused",
		allowed: func(s pawl.RunStatus) bool { return s == pawl.StatusPaused || s == pawl.StatusInterrupted },
		do: func(ctx context.Context, r *recovery, p *project.Project, run pawl.RunID) error {
			return r.start(ctx, p, run)
		},
	}
	pauseAction = action{
		verb: "pause", summary: "Pause the current run of a project, like `pawl pause`",
		done: "Project paused", refused: "Project not active",
		allowed: func(s pawl.RunStatus) bool {
			return s == pawl.StatusActive || s == pawl.StatusWaiting || s == pawl.StatusInterrupted
		},
		do: func(ctx context.Context, _ *recovery, p *project.Project, run pawl.RunID) error {
			paused, err := runs.Perform(ctx, p, run, pawl.Author{Kind: pawl.ByPerson, Name: "pawl serve"}, runs.Pause("over HTTP"))
			if err != nil {
				return err
			}
			return paused.Log.Close()
		},
	}
)

// Refusal is the problem (RFC 9457) that an action is not possible.
type Refusal struct {
	huma.ErrorModel
	Success bool           `json:"success"` // false
	Message string         `json:"message,omitempty"`
	State   pawl.RunStatus `json:"state,omitempty" doc:"status of the run"`
	Hint    string         `json:"hint,omitempty" doc:"command that helps"`
}

func refusal(code int, message, detail, hint string, state pawl.RunStatus) *Refusal {
	return &Refusal{
		ErrorModel: huma.ErrorModel{Status: code, Title: http.StatusText(code), Detail: detail},
		Message:    message, State: state, Hint: hint,
	}
}

// act does an action with the current run of a project.
func (r *recovery) act(ctx context.Context, id string, a action) (Acted, error) {
	e, err := entry(id)
	if err != nil {
		return Acted{}, err
	}
	s := Project{ID: e.ID, Path: e.Path}
	p, _, err := s.read(ctx)
	if err != nil {
		return Acted{}, refusal(http.StatusConflict, a.refused, failure.Of(err).Message, failure.Of(err).Hint, s.Status)
	}
	if !a.allowed(s.Status) {
		return Acted{}, refusal(http.StatusConflict, a.refused, s.Why, "", s.Status)
	}
	if err := a.do(ctx, r, p, s.Run); err != nil {
		return Acted{}, problemOf(err, a, s.Status)
	}
	return Acted{Success: true, Message: a.done, Run: s.Run}, nil
}

// statusCodes maps kinds of errors to HTTP status codes.
var statusCodes = map[pawl.Kind]int{
	pawl.KindUsage: http.StatusPreconditionRequired, pawl.KindAtGate: http.StatusPreconditionRequired,
	pawl.KindHeld: http.StatusLocked, pawl.KindNothing: http.StatusConflict, pawl.KindDamaged: http.StatusConflict,
}

// problemOf returns the problem that the error of an action is.
func problemOf(err error, a action, state pawl.RunStatus) error {
	said := failure.Of(err)
	if failed, ok := errors.AsType[*CommandError](err); ok {
		said = failed.Failure
	}
	code := statusCodes[said.Kind]
	if code == 0 {
		code = http.StatusInternalServerError
	}
	return refusal(code, a.refused, said.Message, said.Hint, state)
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
