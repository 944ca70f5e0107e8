// Package client calls the HTTP API of `pawl serve`. Its types are those that the server answers with.
//
// A client sends its token only to the server that it was made for: it follows no redirects, and uses http only to this machine. It
// repeats a request once if the connection breaks; a key makes sure that the server does it once.
package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl"
	"pawl/internal/brief"
	"pawl/internal/cli/checkpointview"
	"pawl/internal/cli/resumeview"
	"pawl/internal/cli/statusview"
	"pawl/internal/disk"
	"pawl/internal/oneline"
)

// Client is a client of one server.
type Client struct {
	base  string
	token string
	http  *http.Client
}

// Limits of a request.
const (
	answerLimit = 90 * time.Second // the server has 60 s to write
	maxAnswer   = 64 << 20         // bytes
)

// CheckURL returns an error if a client must not send a token to an address.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.RawQuery != "" || u.Fragment != "":
		return usage("", "invalid server %s: use a URL such as https://pawl.example.com", oneline.Printable(text))
	case u.User != nil:
		return usage("", "the URL of a server contains no password: the token is in a file")
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return usage("", "%s needs https: without it, others on the way can read the token", u.Host)
	}
	return nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// New returns a client of the server at an address, with a token.
func New(address, token string) (*Client, error) {
	if err := CheckURL(address); err != nil {
		return nil, err
	}
	return &Client{strings.TrimRight(address, "/"), token, &http.Client{
		Timeout:       answerLimit,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// problem is what the server answers if it does not do a request.
type problem struct {
	Detail string    `json:"detail"`
	Hint   string    `json:"hint"`
	Kind   pawl.Kind `json:"kind"`
	Errors []struct {
		Message  string `json:"message"`
		Location string `json:"location"`
	} `json:"errors"`
}

// kinds are the kinds of problems that name none.
var kinds = map[int]pawl.Kind{
	http.StatusNotFound: pawl.KindNothing, http.StatusLocked: pawl.KindHeld, http.StatusPreconditionRequired: pawl.KindAtGate,
	http.StatusForbidden: pawl.KindDamaged, http.StatusInternalServerError: pawl.KindInternal, http.StatusBadGateway: pawl.KindInternal,
	http.StatusServiceUnavailable: pawl.KindInternal, http.StatusTooManyRequests: pawl.KindInternal, http.StatusGatewayTimeout: pawl.KindInternal,
}

// known are the kinds that problems name.
var known = []pawl.Kind{pawl.KindInternal, pawl.KindUsage, pawl.KindAtGate, pawl.KindRunFailed, pawl.KindDamaged, pawl.KindHeld, pawl.KindNothing}

// Error is a request that the server did not do.
type Error struct {
	Status  int // of HTTP
	Message string
}

func (e *Error) Error() string { return e.Message }

// problemOf returns the error that an answer is.
func problemOf(status int, contentType string, data []byte) error {
	var p problem
	if !strings.Contains(contentType, "json") || json.Unmarshal(data, &p) != nil || p.Detail == "" && len(p.Errors) == 0 {
		p.Detail = fmt.Sprintf("the server returned %d %s", status, http.StatusText(status))
	}
	text := p.Detail
	for _, e := range p.Errors {
		text += "; " + strings.TrimPrefix(e.Location+": "+e.Message, ": ")
	}
	kind := p.Kind
	if !slices.Contains(known, kind) { // none, or one of a newer server
		kind = cmp.Or(kinds[status], pawl.KindUsage)
	}
	return &pawl.Error{Kind: kind, Err: &Error{status, oneline.Printable(text)}, Hint: oneline.Printable(p.Hint)}
}

// call sends a request, and decodes the answer. in is the body; nil for none.
func (c *Client) call(ctx context.Context, method, path string, query url.Values, in, out any) error {
	data, err := c.send(ctx, method, path, query, in)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("%s %s: the answer of the server: %w", method, path, err)
	}
	return nil
}

// send sends a request, once more if the connection breaks, and returns the answer.
func (c *Client) send(ctx context.Context, method, path string, query url.Values, in any) ([]byte, error) {
	var body []byte
	header := http.Header{"Authorization": {"Bearer " + c.token}}
	if method != http.MethodGet {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return nil, err
		}
		header.Set("Content-Type", "application/json")
		header.Set("Idempotency-Key", disk.RandomHex(16))
	}
	address := c.base + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	var err error
	for range 2 {
		var data []byte
		if data, err = c.once(ctx, method, address, header, body); err == nil || !errors.Is(err, errConnection) || ctx.Err() != nil {
			return data, err
		}
	}
	return nil, err
}

// errConnection is that a server cannot be reached, or did not answer.
var errConnection = errors.New("no answer from the server")

func (c *Client) once(ctx context.Context, method, address string, header http.Header, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header = header
	response, err := c.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errConnection, err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", errConnection, err)
	case len(data) > maxAnswer:
		return nil, fmt.Errorf("%s: the answer has more than %d MiB", address, maxAnswer>>20)
	case response.StatusCode >= http.StatusMultipleChoices:
		return nil, problemOf(response.StatusCode, response.Header.Get("Content-Type"), data)
	}
	return data, nil
}

func usage(hint, format string, args ...any) error {
	return &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf(format, args...), Hint: hint}
}

// path joins the parts of a path, and escapes those that are names.
func path(format string, names ...string) string {
	escaped := make([]any, len(names))
	for i, name := range names {
		escaped[i] = url.PathEscape(name)
	}
	return fmt.Sprintf(format, escaped...)
}

// pages calls for each page of a list until the last one.
func pages(query url.Values, one func(url.Values) (next string, err error)) error {
	query.Set("limit", "200")
	for {
		next, err := one(query)
		if err != nil || next == "" {
			return err
		}
		if next == query.Get("cursor") {
			return errSamePage
		}
		query.Set("cursor", next)
	}
}

// errSamePage is that a list would never end.
var errSamePage = errors.New("the server returned the same page of a list again")

// Projects returns all projects that the server serves.
func (c *Client) Projects(ctx context.Context) (all []Project, err error) {
	err = pages(url.Values{}, func(query url.Values) (string, error) {
		var page Projects
		err := c.call(ctx, http.MethodGet, "/api/projects", query, nil, &page)
		all = append(all, page.Projects...)
		return page.Next, err
	})
	return all, err
}

// Project returns a project as it is now.
func (c *Client) Project(ctx context.Context, id string) (p Project, err error) {
	err = c.call(ctx, http.MethodGet, path("/api/projects/%s", id), nil, nil, &p)
	return p, err
}

// Runs returns all runs of a project, the newest first.
func (c *Client) Runs(ctx context.Context, project string) (all []RunLine, err error) {
	err = pages(url.Values{}, func(query url.Values) (string, error) {
		var page RunLines
		err := c.call(ctx, http.MethodGet, path("/api/projects/%s/runs", project), query, nil, &page)
		all = append(all, page.Runs...)
		return page.Next, err
	})
	return all, err
}

// Run names a run of a project.
type Run struct {
	Project string // its id
	ID      pawl.RunID
}

func (r Run) query() url.Values { return url.Values{"project": {r.Project}} }

// Status returns the status of a run.
func (c *Client) Status(ctx context.Context, run Run) (report statusview.Report, err error) {
	err = c.call(ctx, http.MethodGet, path("/api/runs/%s", string(run.ID)), run.query(), nil, &report)
	return report, err
}

// Events calls do for each event of a run after one, of the last so many; 0: all. It returns the number of the last one.
func (c *Client) Events(ctx context.Context, run Run, after pawl.Seq, last int, do func(EventLine) error) (pawl.Seq, error) {
	query := run.query()
	query.Set("limit", "1000")
	query.Set("after", fmt.Sprint(after))
	if last > 0 {
		query.Set("last", strconv.Itoa(last))
	}
	for {
		var page Events
		if err := c.call(ctx, http.MethodGet, path("/api/runs/%s/events", string(run.ID)), query, nil, &page); err != nil {
			return after, err
		}
		for _, e := range page.Events {
			if err := do(e); err != nil {
				return after, err
			}
			after = e.Seq
		}
		if !page.More {
			return after, nil
		}
		if next := fmt.Sprint(page.Next); next == query.Get("after") && !query.Has("last") {
			return after, errSamePage
		}
		query.Del("last")
		query.Set("after", fmt.Sprint(page.Next))
	}
}

// Checkpoints returns the checkpoints of a run, the oldest first; related: also those of newer session runs.
func (c *Client) Checkpoints(ctx context.Context, run Run, related bool) (list Checkpoints, err error) {
	query := run.query()
	query.Set("related", strconv.FormatBool(related))
	err = c.call(ctx, http.MethodGet, path("/api/runs/%s/checkpoints", string(run.ID)), query, nil, &list)
	return list, err
}

// Checkpoint shows a checkpoint.
func (c *Client) Checkpoint(ctx context.Context, run Run, name string, leftOut bool) (shown checkpointview.Shown, err error) {
	query := run.query()
	query.Set("checkpoint", name)
	query.Set("left_out", strconv.FormatBool(leftOut))
	err = c.call(ctx, http.MethodGet, path("/api/runs/%s/checkpoint", string(run.ID)), query, nil, &shown)
	return shown, err
}

// File prints a file in a checkpoint.
func (c *Client) File(ctx context.Context, run Run, checkpoint, file string) ([]byte, error) {
	query := run.query()
	query.Set("checkpoint", checkpoint)
	query.Set("path", file)
	return c.send(ctx, http.MethodGet, path("/api/runs/%s/file", string(run.ID)), query, nil)
}

// Why shows what a resume would do with each step.
func (c *Client) Why(ctx context.Context, run Run) (forecast resumeview.Forecast, err error) {
	err = c.call(ctx, http.MethodGet, path("/api/runs/%s/why", string(run.ID)), run.query(), nil, &forecast)
	return forecast, err
}

// Difference is what to compare.
type Difference struct {
	From, To string // checkpoints; without To, the current files
	Paths    []string
	Form     string // patch, stat, names or json
}

// Patch prints a difference.
func (c *Client) Patch(ctx context.Context, run Run, d Difference) ([]byte, error) {
	query := run.query()
	for name, value := range map[string]string{"from": d.From, "to": d.To, "form": d.Form} {
		if value != "" {
			query.Set(name, value)
		}
	}
	query["path"] = d.Paths
	return c.send(ctx, http.MethodGet, path("/api/runs/%s/patch", string(run.ID)), query, nil)
}

// Rollback shows what a rollback to a checkpoint undoes, and, with the plan of that, does it. Without a checkpoint it continues the
// interrupted rollback.
func (c *Client) Rollback(ctx context.Context, run Run, checkpoint, plan string) (done RolledBack, err error) {
	in := struct {
		Checkpoint string `json:"checkpoint,omitempty"`
		Plan       string `json:"plan,omitempty"`
	}{checkpoint, plan}
	err = c.call(ctx, http.MethodPost, path("/api/runs/%s/rollback", string(run.ID)), run.query(), in, &done)
	return done, err
}

// Brief returns the brief of a run.
func (c *Client) Brief(ctx context.Context, run Run, options brief.Options, since string) (b brief.Brief, err error) {
	query := run.query()
	query.Set("for", string(options.For))
	query.Set("budget", strconv.Itoa(options.Budget))
	query.Set("since", since)
	err = c.call(ctx, http.MethodGet, path("/api/runs/%s/brief", string(run.ID)), query, nil, &b)
	return b, err
}

// Gates returns the open gates of a project's current run.
func (c *Client) Gates(ctx context.Context, project string) ([]OpenGate, error) {
	var list Gates
	err := c.call(ctx, http.MethodGet, "/api/gates", url.Values{"project": {project}}, nil, &list)
	return list.Gates, err
}

// Stopping is the message of a stop whose steps have not ended yet.
const Stopping = "Project stopping"

// Action is what to do with a project's current run.
type Action struct {
	Step  pawl.StepID `json:"step,omitempty"`
	Items []string    `json:"items,omitempty"`
	Why   string      `json:"why,omitempty"`
	By    string      `json:"by,omitempty"`    // the reviewer, of a review
	Score *int        `json:"score,omitempty"` // of a review
}

// Act does an action: resume, pause, stop, retry, skip, done or review.
func (c *Client) Act(ctx context.Context, project, verb string, a Action) (done Acted, err error) {
	err = c.call(ctx, http.MethodPost, path("/api/projects/%s/%s", project, verb), nil, a, &done)
	return done, err
}

// Reply is an answer to a gate. Shown is that of the gate.
type Reply struct {
	Shown    string `json:"shown"`
	Why      string `json:"why,omitempty"`      // to approve and answer
	Option   string `json:"option,omitempty"`   // to answer
	Feedback string `json:"feedback,omitempty"` // to deny
	Stop     bool   `json:"stop,omitempty"`     // to deny
}

// Answer answers a gate; verb is approve, deny or answer.
func (c *Client) Answer(ctx context.Context, gate, verb string, r Reply) (done Answered, err error) {
	err = c.call(ctx, http.MethodPost, path("/api/gates/%s/%s", gate, verb), nil, r, &done)
	return done, err
}
