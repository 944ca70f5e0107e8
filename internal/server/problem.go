package server

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"pawl"
	"pawl/internal/cli/failure"
	"pawl/internal/tokens"
)

// Problem is an error for a client: an RFC 9457 problem with a hint.
type Problem struct {
	huma.ErrorModel
	Success bool           `json:"success"` // false
	Message string         `json:"message,omitempty" doc:"what was refused, in words"`
	Kind    pawl.Kind      `json:"kind,omitempty" doc:"kind of the error, as commands print it with --json"`
	State   pawl.RunStatus `json:"state,omitempty" doc:"status of the run"`
	Hint    string         `json:"hint,omitempty" doc:"command that helps"`
	Right   tokens.Right   `json:"right,omitempty" doc:"right that the token lacks"`
}

// problem returns the problem of a status code.
func problem(code int, detail, hint string) *Problem {
	return &Problem{ErrorModel: huma.ErrorModel{Status: code, Title: http.StatusText(code), Detail: detail}, Hint: hint}
}

// useProblems makes huma report its own errors as problems too. Input that does not fit the document is a bad request.
var useProblems = sync.OnceFunc(func() {
	huma.NewError = func(status int, detail string, errs ...error) huma.StatusError {
		if status == http.StatusUnprocessableEntity {
			status = http.StatusBadRequest
		}
		p := problem(status, detail, "")
		for _, err := range errs {
			if err != nil {
				p.Add(err)
			}
		}
		return p
	}
})

// write sends a problem.
func (p *Problem) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", p.ContentType("application/json"))
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // the client has gone
}

// statusCodes maps kinds of errors to HTTP status codes.
var statusCodes = map[pawl.Kind]int{
	pawl.KindUsage: http.StatusConflict, pawl.KindAtGate: http.StatusPreconditionRequired, pawl.KindHeld: http.StatusLocked,
	pawl.KindNothing: http.StatusConflict, pawl.KindDamaged: http.StatusConflict, pawl.KindRunFailed: http.StatusConflict,
}

// problemOf returns the problem that an error is.
func problemOf(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	said := failure.Of(err)
	if failed, ok := errors.AsType[*CommandError](err); ok {
		said = failed.Failure
	}
	code := cmp.Or(statusCodes[said.Kind], http.StatusInternalServerError)
	if errors.Is(err, pawl.ErrNoRun) || errors.Is(err, pawl.ErrNoProject) {
		code = http.StatusNotFound
	}
	p := problem(code, said.Message, said.Hint)
	p.Kind = said.Kind
	return p
}

func notFound(format string, args ...any) *Problem {
	return problem(http.StatusNotFound, fmt.Sprintf(format, args...), "")
}

// missing returns the problem that there is no such thing as a client named, which is err.
func missing(err error) *Problem {
	p := problemOf(err)
	p.Status, p.Title = http.StatusNotFound, http.StatusText(http.StatusNotFound)
	return p
}

func badRequest(format string, args ...any) *Problem {
	return problem(http.StatusBadRequest, fmt.Sprintf(format, args...), "")
}
