package server

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"pawl/internal/disk"
	"pawl/internal/oneline"
	"pawl/internal/tokens"
)

// audit records each write of a client, in a file of the user's state folder: one line before anything is done, and one with the result.
// What cannot be recorded is not done.
type audit struct {
	path      string
	partSize  int64 // bytes, at which a new file begins
	forwarded bool  // requests come through a proxy
}

// auditLine is a line of the file.
type auditLine struct {
	Time   time.Time    `json:"time"`
	Call   string       `json:"call"` // the same in both lines of a call
	Name   string       `json:"name"`
	Token  string       `json:"token"` // its id
	Right  tokens.Right `json:"right,omitempty"`
	From   string       `json:"from"`          // address of the client, or of the proxy
	For    string       `json:"for,omitempty"` // the client, according to the proxy
	Do     string       `json:"do"`            // the operation
	Path   string       `json:"path"`
	Status int          `json:"status,omitempty"` // missing: the call is about to be done
	Shown  string       `json:"shown,omitempty"`  // hash of what the client was shown of a gate
	Detail string       `json:"detail,omitempty"` // why it was refused
}

type auditKey struct{}

// note returns the line of the audit to which an operation adds what only it knows.
func note(ctx context.Context) *auditLine {
	if line, ok := ctx.Value(auditKey{}).(*auditLine); ok {
		return line
	}
	return &auditLine{}
}

func (a *audit) lineOf(ctx huma.Context) auditLine {
	t, u := clientOf(ctx.Context()), ctx.URL()
	line := auditLine{
		Time: time.Now().UTC(), Call: disk.RandomHex(4), Name: t.Name, Token: t.ID, Right: rightOf(ctx.Operation()), From: ctx.RemoteAddr(),
		Do: ctx.Operation().OperationID, Path: u.Path,
	}
	if a.forwarded {
		line.For = oneline.Clip(oneline.Printable(ctx.Header("X-Forwarded-For")), maxForwarded)
	}
	return line
}

// maxForwarded is how much of a proxy's header the audit has, in bytes.
const maxForwarded = 200

func (a *audit) write(line auditLine) error {
	if a.path == "" { // a document without a server
		return nil
	}
	data, err := json.Marshal(line)
	if err != nil {
		return err
	}
	return a.append(data)
}

// refused records a write that a client may not do.
func (a *audit) refused(ctx huma.Context, p *Problem) {
	if ctx.Method() == http.MethodGet {
		return
	}
	line := a.lineOf(ctx)
	line.Status, line.Detail = p.Status, p.Detail
	_ = a.write(line) // nothing was done
}

// record surrounds each write with its two lines.
func (a *audit) record(ctx huma.Context, next func(huma.Context)) {
	if ctx.Method() == http.MethodGet {
		next(ctx)
		return
	}
	line := a.lineOf(ctx)
	if err := a.write(line); err != nil {
		_, w := humago.Unwrap(ctx)
		problem(http.StatusServiceUnavailable, "the audit cannot be written: "+err.Error(), "").write(w)
		return
	}
	noted := huma.WithValue(ctx, auditKey{}, &line)
	next(noted)
	line.Time, line.Status = time.Now().UTC(), noted.Status()
	_ = a.write(line) // the first line says that it may have been done
}
