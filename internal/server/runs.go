package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"pawl"
	"pawl/internal/brief"
	"pawl/internal/cli/background"
	"pawl/internal/cli/logview"
	"pawl/internal/cli/outputview"
	"pawl/internal/cli/statusview"
	"pawl/internal/config"
	"pawl/internal/disk"
	"pawl/internal/project"
	"pawl/internal/redact"
	"pawl/internal/runs"
	"pawl/internal/server/client"
	"pawl/internal/sessions"
	"pawl/internal/tokens"
)

func (a *api) runRoutes(h huma.API) {
	missing := []int{http.StatusNotFound, http.StatusConflict}
	run := route{id: "get-run", method: http.MethodGet, path: "/api/runs/{run}", right: tokens.Read, summary: "Show a run, as `pawl status --json` prints it", errors: missing}
	huma.Register(h, run.operation(), func(ctx context.Context, in *RunPath) (*tagged[statusview.Report], error) {
		p, run, err := a.find(*in)
		if err != nil {
			return nil, problemOf(err)
		}
		return a.status(ctx, p, run)
	})
	register(h, route{id: "list-events", method: http.MethodGet, path: "/api/runs/{run}/events", right: tokens.Read, summary: "List the events of a run, as `pawl log --json` prints them, each with its text", errors: missing}, a.listEvents)
	register(h, route{id: "get-brief", method: http.MethodGet, path: "/api/runs/{run}/brief", right: tokens.Read, summary: "Print where a run stands and what to do next, as `pawl brief --json` does", errors: missing}, a.brief)
	stream(h, route{
		id: "get-output", method: http.MethodGet, path: "/api/runs/{run}/steps/{step}/output", right: tokens.Read, errors: append(missing, http.StatusRequestedRangeNotSatisfiable),
		summary: "Show the output of a step, with secrets redacted; Range selects bytes of the redacted output",
	}, "text/plain", a.output)
	register(h, route{
		id: "start-run", method: http.MethodPost, path: "/api/projects/{id}/runs", right: tokens.Run, status: http.StatusCreated,
		summary: "Start a run of a plan of the project in the background, like `pawl run --background`", errors: append(missing, http.StatusLocked, http.StatusPreconditionRequired),
	}, a.startRun)
}

type eventsInput struct {
	RunPath
	After pawl.Seq `query:"after" doc:"only events after this number" minimum:"0"`
	Last  int      `query:"last" doc:"only so many of the newest events" minimum:"0"`
	Limit int      `query:"limit" default:"200" minimum:"1" maximum:"10000"`
}

// maxEventBytes is how much a page of events may have.
const maxEventBytes = 4 << 20

func (a *api) listEvents(ctx context.Context, in *eventsInput) (client.Events, error) {
	page := client.Events{Events: []client.EventLine{}, Next: in.After}
	p, run, err := a.find(in.RunPath)
	if err != nil {
		return page, err
	}
	r, err := load(ctx, p, run)
	if err != nil {
		return page, err
	}
	defer r.Log.Close()
	size, names, after := 0, r.ItemNames(), in.After
	if last := pawl.Seq(in.Last); last > 0 {
		after = max(after, r.State.Seq-last)
	}
	for e, err := range r.Log.Events(after) {
		if err != nil {
			return page, err
		}
		if len(page.Events) == in.Limit || size > maxEventBytes {
			page.More = true
			break
		}
		text, _ := logview.Describe(e)
		line := client.EventLine{Event: e, Text: names.In(text)}
		size += len(line.Data) + len(line.Text)
		page.Events, page.Next = append(page.Events, line), e.Seq
	}
	return page, nil
}

type briefInput struct {
	RunPath
	For    string `query:"for" doc:"the reader: claude, codex, gemini, opencode, copilot, kernel or human" default:"human" maxLength:"40"`
	Budget int    `query:"budget" doc:"at most so many bytes; 0: as many as suit the reader" minimum:"0" maximum:"1000000"`
	Since  string `query:"since" doc:"list changes since this checkpoint; by default, the newest one that is no emergency or heartbeat checkpoint" maxLength:"200"`
}

func (a *api) brief(ctx context.Context, in *briefInput) (brief.Brief, error) {
	reader, err := brief.ParseAudience(in.For)
	if err != nil {
		return brief.Brief{}, badRequest("%v", err)
	}
	if in.Budget > 0 && in.Budget < brief.MinBudget {
		return brief.Brief{}, badRequest("budget %d is too small; the minimum is %d bytes", in.Budget, brief.MinBudget)
	}
	p, run, err := a.find(in.RunPath)
	if err == nil {
		err = runs.RequireOwn(p, run)
	}
	if err != nil {
		return brief.Brief{}, err
	}
	cfg, err := config.Of(p)
	if err != nil {
		return brief.Brief{}, err
	}
	return sessions.Brief(ctx, p, run, sessions.Briefing{Options: brief.Options{For: reader, Budget: in.Budget}, Since: in.Since, Snapshots: cfg.Snapshots})
}

type outputInput struct {
	RunPath
	Step    string `path:"step" doc:"id of a step" maxLength:"200"`
	Stream  string `query:"stream" default:"out" enum:"out,err" doc:"standard output or standard error"`
	Attempt int    `query:"attempt" doc:"number of the attempt; the newest one by default" minimum:"0"`
	Item    string `query:"item" doc:"value of the item of a foreach step" maxLength:"4096"`
	Range   string `header:"Range" doc:"bytes=FROM-, bytes=FROM-TO or bytes=-LAST" maxLength:"64"`
}

// maxRange is how much of an output one answer to a Range has.
const maxRange = 4 << 20

// output writes the output of an attempt. The bytes that a Range counts are those of the redacted output. They never change: while the
// attempt runs, the end of the output is held back as long as it may turn out to be a part of a secret.
func (a *api) output(ctx context.Context, in *outputInput) (func(huma.Context), error) {
	p, run, err := a.find(in.RunPath)
	if err != nil {
		return nil, err
	}
	r, err := load(ctx, p, run)
	if err != nil {
		return nil, err
	}
	defer r.Log.Close()
	step, err := pawl.ParseStepID(in.Step)
	if err != nil {
		return nil, notFound("no step %s", in.Step)
	}
	ref := pawl.AttemptRef{Step: step, Attempt: in.Attempt}
	if in.Item != "" {
		ref.Item = pawl.ItemIDOf(in.Item)
	}
	path, err := outputview.Path(p, r, ref, outputview.Options{Stderr: in.Stream == "err"})
	if err != nil {
		return nil, missing(err)
	}
	w, ok := parseRange(in.Range)
	if !ok {
		return nil, problem(http.StatusRequestedRangeNotSatisfiable, "Range must be bytes=FROM-, bytes=FROM-TO or bytes=-LAST", "")
	}
	running := runs.AttemptAlive(filepath.Dir(path))
	attempt := filepath.Base(filepath.Dir(path))
	if w == nil {
		return func(ctx huma.Context) {
			ctx.SetHeader(client.AttemptHeader, attempt)
			ctx.SetHeader("Content-Type", "text/plain; charset=utf-8")
			ctx.SetStatus(http.StatusOK)
			_ = copyRedacted(ctx.BodyWriter(), path, running) // the client has gone, or sees a short answer
		}, nil
	}
	if err := copyRedacted(w, path, running); err != nil {
		return nil, err
	}
	from, data := w.result()
	if len(data) == 0 {
		return nil, problem(http.StatusRequestedRangeNotSatisfiable, fmt.Sprintf("the output has %d bytes", w.total), "")
	}
	return func(ctx huma.Context) {
		ctx.SetHeader(client.AttemptHeader, attempt)
		ctx.SetHeader("Content-Type", "text/plain; charset=utf-8")
		ctx.SetHeader("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, from+int64(len(data))-1, w.total))
		ctx.SetStatus(http.StatusPartialContent)
		_, _ = ctx.BodyWriter().Write(data) // the client has gone
	}, nil
}

// copyRedacted writes the output in a file without secrets, and without NUL bytes, which fill the hole where output was dropped. Of an
// attempt that is running it holds back an end that may become a secret.
func copyRedacted(w io.Writer, path string, running bool) error {
	clean := redact.OfProcess().Writer(w)
	f, err := disk.Open(path)
	if err != nil {
		return notFound("no output yet")
	}
	defer f.Close()
	if _, err := io.Copy(withoutNUL{clean}, f); err != nil || running {
		return err
	}
	return clean.Flush()
}

type withoutNUL struct{ to io.Writer }

func (w withoutNUL) Write(data []byte) (int, error) {
	if _, err := w.to.Write(bytes.ReplaceAll(data, []byte{0}, nil)); err != nil {
		return 0, err
	}
	return len(data), nil
}

// window keeps a part of what is written to it.
type window struct {
	from, last int64 // from is negative: the last bytes. last is that of the part; negative: as many as fit
	total      int64
	data       []byte
}

// parseRange reads a Range header of one range; none is nil.
func parseRange(header string) (w *window, ok bool) {
	if header == "" {
		return nil, true
	}
	spec, isBytes := strings.CutPrefix(header, "bytes=")
	from, last, dash := strings.Cut(spec, "-")
	if !isBytes || !dash || from == "" && last == "" {
		return nil, false
	}
	w = &window{last: -1}
	var errs [2]error
	if from == "" {
		w.from, errs[0] = strconv.ParseInt(last, 10, 64)
		w.from = -min(w.from, maxRange)
		return w, errs[0] == nil && w.from < 0
	}
	w.from, errs[0] = strconv.ParseInt(from, 10, 64)
	if last != "" {
		w.last, errs[1] = strconv.ParseInt(last, 10, 64)
	}
	return w, errors.Join(errs[:]...) == nil && w.from >= 0 && (last == "" || w.last >= w.from)
}

func (w *window) fromEnd() bool { return w.from < 0 }

func (w *window) Write(data []byte) (int, error) {
	begin := w.total
	w.total += int64(len(data))
	if w.fromEnd() {
		w.data = append(w.data, data...)
		if over := int64(len(w.data)) + w.from; over > 0 && int64(len(w.data)) > 2*maxRange {
			w.data = append(w.data[:0], w.data[over:]...)
		}
		return len(data), nil
	}
	end := w.from + maxRange
	if w.last >= 0 {
		end = min(end, w.last+1)
	}
	low, high := max(0, w.from-begin), min(int64(len(data)), end-begin)
	if low < high {
		w.data = append(w.data, data[low:high]...)
	}
	return len(data), nil
}

// result returns the part, and where it begins.
func (w *window) result() (from int64, data []byte) {
	if !w.fromEnd() {
		return w.from, w.data
	}
	data = w.data[max(0, int64(len(w.data))+w.from):]
	return w.total - int64(len(data)), data
}

type startInput struct {
	ProjectPath
	Body struct {
		Plan   string            `json:"plan" doc:"file of the plan, relative to the project's folder" minLength:"1" maxLength:"1024"`
		Params map[string]string `json:"params,omitempty" doc:"parameters of the plan" maxProperties:"200"`
	}
}

// startRun starts a run of a plan in the project's folder. If an earlier try of the same request has created a run, it returns that.
func (a *api) startRun(ctx context.Context, in *startInput) (client.Started, error) {
	e, err := entry(in.ID)
	if err != nil {
		return client.Started{}, err
	}
	p, err := find(e)
	if err != nil {
		return client.Started{}, err
	}
	plan := filepath.Clean(filepath.FromSlash(in.Body.Plan))
	if !filepath.IsLocal(plan) || plan == project.Folder || strings.HasPrefix(plan, project.Folder+string(filepath.Separator)) {
		return client.Started{}, badRequest("plan %q is not a file in the project's folder", in.Body.Plan)
	}
	if err := regularBelow(p.Root, plan); err != nil {
		return client.Started{}, badRequest("plan %s: %v", in.Body.Plan, err)
	}
	defer a.visitSoon(p.ID)
	request := requestOf(ctx)
	started := client.Started{}
	if started.Run, err = runs.FindRequested(ctx, p, request); err != nil || started.Run != "" {
		return started, err
	}
	args := []string{"run", "--background", "--json", "--" + background.RequestFlag, request}
	if len(in.Body.Params) > 0 { // in a file: other users can see arguments
		file, err := a.paramFile(in.Body.Params)
		if err != nil {
			return client.Started{}, err
		}
		defer disk.Remove(file)
		args = append(args, "--params", file)
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	out, err := a.Pawl(ctx, p.Root, append(args, "."+string(filepath.Separator)+plan)...) // behind --, it would be a command
	if err != nil {
		if before, findErr := runs.FindRequested(context.WithoutCancel(ctx), p, request); findErr == nil && before != "" {
			return client.Started{Run: before}, nil // the server resumes it if it has no engine
		}
		return client.Started{}, err
	}
	if err := json.Unmarshal(bytes.TrimSpace(out), &started); err != nil {
		return started, fmt.Errorf("pawl run: %w", err)
	}
	return started, nil
}

// paramFile writes parameters to a file in the user's state folder. The engine has read it once it has opened the run.
func (a *api) paramFile(params map[string]string) (path string, err error) {
	data, err := json.Marshal(params)
	if err != nil {
		return "", err
	}
	path = filepath.Join(a.store.Folder, "params-"+disk.RandomHex(8)+".json")
	return path, disk.Put(path, data)
}

// regularBelow returns an error if a path below root is not a regular file that is reached without links.
func regularBelow(root, path string) error {
	data, err := disk.ReadBelow(root, path, disk.PlanLimit)
	if err == nil && len(data) == 0 {
		err = errors.New("the file is empty")
	}
	return err
}
