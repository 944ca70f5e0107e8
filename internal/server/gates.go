package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/config"
	"pawl/internal/disk"
	"pawl/internal/history"
	"pawl/internal/project"
	"pawl/internal/redact"
	"pawl/internal/runs"
	"pawl/internal/server/client"
	"pawl/internal/snapshot"
	"pawl/internal/tokens"
)

// maxGates is how many gates a list of all projects has at least before it ends.
const maxGates = 200

type gatesInput struct {
	Project string `query:"project" doc:"id of a project: only its gates, with their diffs" maxLength:"64"`
}

// GatePath names a gate.
type GatePath struct {
	ID string `path:"id" doc:"<run>~<gate>" maxLength:"300"`
}

type approveInput struct {
	GatePath
	Body struct {
		Shown string `json:"shown" doc:"shown of the gate" maxLength:"64"`
		Why   string `json:"why,omitempty" maxLength:"4000"`
	}
}

type denyInput struct {
	GatePath
	Body struct {
		Shown    string      `json:"shown" doc:"shown of the gate" maxLength:"64"`
		Feedback string      `json:"feedback,omitempty" doc:"required: what the next attempt should do differently" maxLength:"16000"`
		ToStep   pawl.StepID `json:"to_step,omitempty" doc:"an earlier step that reruns too" maxLength:"200"`
		Stop     bool        `json:"stop,omitempty" doc:"fail the run instead of rerunning steps"`
	}
}

type answerInput struct {
	GatePath
	Body struct {
		Shown  string `json:"shown" doc:"shown of the gate" maxLength:"64"`
		Option string `json:"option" minLength:"1" maxLength:"4000"`
		Why    string `json:"why,omitempty" maxLength:"4000"`
	}
}

// Limits of a gate's diff.
const (
	maxDiffFiles = 200
	maxDiffLines = 5000
)

func (a *api) gateRoutes(h huma.API) {
	register(h, route{id: "list-gates", method: http.MethodGet, path: "/api/gates", right: tokens.Read, summary: "List the open gates", errors: []int{http.StatusNotFound}}, a.listGates)
	one := []int{http.StatusNotFound, http.StatusConflict}
	register(h, route{id: "get-gate", method: http.MethodGet, path: "/api/gates/{id}", right: tokens.Read, summary: "Show an open gate", errors: one}, a.getGate)
	answer := append(one, http.StatusLocked)
	register(h, route{id: "approve-gate", method: http.MethodPost, path: "/api/gates/{id}/approve", right: tokens.Approve, errors: answer, summary: "Approve exactly what a gate shows"},
		func(ctx context.Context, in *approveInput) (client.Answered, error) {
			return a.answer(ctx, in.GatePath, in.Body.Shown, "approved", func(g pawl.GateID) runs.Act {
				return runs.Reply(pawl.GateAnswered{Gate: g, Answer: pawl.Approved, Why: in.Body.Why, Via: ownName})
			})
		})
	register(h, route{id: "deny-gate", method: http.MethodPost, path: "/api/gates/{id}/deny", right: tokens.Approve, errors: answer, summary: "Reject what a gate shows: its steps rerun with the feedback"},
		func(ctx context.Context, in *denyInput) (client.Answered, error) {
			if strings.TrimSpace(in.Body.Feedback) == "" {
				return client.Answered{}, badRequest("feedback is missing: say what the next attempt should do differently")
			}
			return a.answer(ctx, in.GatePath, in.Body.Shown, "rejected", in.act)
		})
	register(h, route{id: "answer-gate", method: http.MethodPost, path: "/api/gates/{id}/answer", right: tokens.Approve, errors: answer, summary: "Answer a gate with one of its options"},
		func(ctx context.Context, in *answerInput) (client.Answered, error) {
			return a.answer(ctx, in.GatePath, in.Body.Shown, "answered", func(g pawl.GateID) runs.Act {
				return runs.Reply(pawl.GateAnswered{Gate: g, Answer: pawl.Chosen, Option: in.Body.Option, Why: in.Body.Why, Via: ownName})
			})
		})
}

// act returns the act of a rejection.
func (in *denyInput) act(g pawl.GateID) runs.Act {
	reply := pawl.GateAnswered{Gate: g, Answer: pawl.Rejected, Why: in.Body.Feedback, Via: ownName}
	if in.Body.Stop {
		reply.Answer = pawl.Refused
	}
	return func(p *project.Project, r *runs.Run) ([]pawl.Payload, error) {
		payloads, err := runs.Reply(reply)(p, r)
		if err != nil || in.Body.ToStep == "" || in.Body.Stop {
			return payloads, err
		}
		if r.Plan.Step(in.Body.ToStep) == nil {
			return nil, badRequest("no step %s", in.Body.ToStep)
		}
		again, err := runs.Retry(in.Body.ToStep, in.Body.Feedback)(p, r)
		return append(payloads, again...), err
	}
}

func (a *api) listGates(ctx context.Context, in *gatesInput) (client.Gates, error) {
	if in.Project == "" {
		return a.gatesOfAll(ctx, maxGates), nil
	}
	list := client.Gates{Gates: []client.OpenGate{}}
	e, err := entry(in.Project)
	if err != nil {
		return list, err
	}
	list.Gates = append(list.Gates, a.gatesOf(ctx, e, true)...)
	sortGates(list.Gates)
	return list, nil
}

// sortGates orders gates by age.
func sortGates(gates []client.OpenGate) {
	slices.SortFunc(gates, func(a, b client.OpenGate) int { return cmp.Or(a.Opened.Compare(b.Opened), strings.Compare(a.ID, b.ID)) })
}

// gatesOfAll returns the open gates of the projects that have waited longest. It reads projects until it has most gates.
func (a *api) gatesOfAll(ctx context.Context, most int) client.Gates {
	list := client.Gates{Gates: []client.OpenGate{}}
	for _, id := range a.waiting() {
		if len(list.Gates) >= most {
			list.More = true
			break
		}
		if e, err := entry(id); err == nil { // else it was removed meanwhile
			list.Gates = append(list.Gates, a.gatesOf(ctx, e, false)...)
		}
	}
	sortGates(list.Gates)
	return list
}

// waiting returns the ids of the projects that had an open gate at the last look, those that wait longest first.
func (a *api) waiting() (ids []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for id, s := range a.known {
		if s.Waiting != nil {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(x, y string) int {
		return cmp.Or(a.known[x].Waiting.Compare(*a.known[y].Waiting), strings.Compare(x, y))
	})
	return ids
}

// gatesOf returns the open gates of a project's current run. A project that cannot be read has none.
func (a *api) gatesOf(ctx context.Context, e project.Entry, diffs bool) (list []client.OpenGate) {
	p, run, err := a.current(ctx, e.ID)
	if err != nil {
		return nil
	}
	r, err := load(ctx, p, run)
	if err != nil {
		return nil
	}
	defer r.Log.Close()
	for _, g := range r.State.OpenGates() {
		list = append(list, a.gateOf(ctx, p, r, g, diffs))
	}
	return list
}

// findGate returns the project, the run and the id of a gate.
func (a *api) findGate(in GatePath) (*project.Project, pawl.RunID, pawl.GateID, error) {
	run, gate, ok := strings.Cut(in.ID, "~")
	if !ok {
		return nil, "", "", notFound("no gate %s: an id is <run>~<gate>", in.ID)
	}
	p, id, err := a.find(RunPath{Run: run})
	return p, id, pawl.GateID(gate), err
}

func (a *api) getGate(ctx context.Context, in *GatePath) (client.OpenGate, error) {
	p, run, id, err := a.findGate(*in)
	if err != nil {
		return client.OpenGate{}, err
	}
	r, err := load(ctx, p, run)
	if err != nil {
		return client.OpenGate{}, err
	}
	defer r.Log.Close()
	g := r.State.Gate(id)
	if g == nil || !g.Open() {
		return client.OpenGate{}, notOpen(r, id)
	}
	shown, first := a.gateOf(ctx, p, r, g, true), false
	if shown.Viewers, first = a.seen.opened(shown.ID, clientOf(ctx), time.Now()); first {
		a.hub.publish("gate", GateChanged{shown.ID, p.ID, run, id, true}) // other clients show who has opened it
	}
	return shown, nil
}

// notOpen returns the problem that a gate is not open.
func notOpen(r *runs.Run, id pawl.GateID) *Problem {
	return missing(runs.RequireOpenGate(r.State, id))
}

// gateOf returns a gate as clients see it.
func (a *api) gateOf(ctx context.Context, p *project.Project, r *runs.Run, g *pawl.GateState, diff bool) client.OpenGate {
	clean := redact.OfProcess().Text
	report := layout.GateReportOf(r.Plan, r.State, g)
	shown := client.OpenGate{
		ID: string(r.State.Run) + "~" + string(g.ID), Project: p.ID, Path: p.Root, Run: r.State.Run, Gate: g.ID, Type: g.Type, Purpose: g.Purpose,
		Step: g.Step, Item: g.Item, Ask: g.Ask, Options: append([]string{}, g.Options...), Default: g.Default, Expect: g.Expect,
		Opened: g.Opened, Expires: report.Expires, Outputs: g.Shown, Covers: append([]runs.ScopeStep{}, report.Scope...), Checks: []client.Check{}, Diff: []snapshot.FileDiff{},
	}
	for _, c := range g.Checks {
		shown.Checks = append(shown.Checks, client.Check{Name: c.Name, OK: c.Exit == 0, Text: clean(c.Output)})
	}
	between := sidesOf(r, g, report.Since)
	if diff {
		shown.Diff, shown.More, shown.Changed = a.gateDiff(ctx, p, r, g, between)
	}
	if changed, err := runs.GateChanges(p, r, g); err != nil {
		shown.Changed = []string{clean(err.Error())}
	} else if len(changed) > 0 {
		shown.Changed = changed
	}
	shown.Shown = hashOf(g, report.Scope, between)
	if len(shown.Changed) > 0 { // what is seen now is not what the gate asks about
		shown.Shown = ""
	}
	return shown
}

// sides are the checkpoints between which a gate's diff is: that of the gate before it or, without one, the run's first, and the newest one
// before the gate was opened. They never change, and the hash of what is shown names them.
type sides struct{ From, To pawl.CheckpointID }

func sidesOf(r *runs.Run, g *pawl.GateState, since pawl.StepID) (s sides) {
	for _, c := range history.GoodCheckpoints(r.Log) {
		if c.Time.After(g.Opened) {
			break
		}
		if s.From == "" || since != "" && c.Step == since {
			s.From = c.ID
		}
		s.To = c.ID
	}
	return s
}

// hashOf returns the hash of what a gate shows.
func hashOf(g *pawl.GateState, scope []runs.ScopeStep, s sides) string {
	data, err := json.Marshal([]any{g.Gate, scope, s})
	if err != nil {
		panic("a gate holds only strings: " + err.Error())
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// gateDiff returns the diff of a gate: nothing if the checkpoints cannot be read. changed names files whose content in the diff is not the
// one that the gate shows.
func (a *api) gateDiff(ctx context.Context, p *project.Project, r *runs.Run, g *pawl.GateState, s sides) (files []snapshot.FileDiff, more bool, changed []string) {
	none := []snapshot.FileDiff{}
	if g.Purpose == pawl.ForPlan {
		return planDiff(p, r, g)
	}
	paths := pathsOf(r, g)
	if len(paths) == 0 || s.From == "" {
		return none, false, nil
	}
	if slices.ContainsFunc(paths, func(path string) bool { return strings.Contains(path, "*") }) {
		paths = nil // many: all of them
	}
	for _, to := range []string{string(s.To), ""} { // files that were edited since the newest checkpoint are compared as they are now
		if to == string(s.From) {
			continue
		}
		var err error
		if files, more, err = compare(ctx, p, string(s.From), to, paths, maxDiffFiles, maxDiffLines); err != nil {
			return none, true, nil
		}
		if changed = notShown(files, g.Shown); len(changed) == 0 {
			return files, more, nil
		}
	}
	return files, more, changed
}

// notShown returns the files of a diff with another content than the gate shows.
func notShown(files []snapshot.FileDiff, shown pawl.Outputs) (changed []string) {
	for _, f := range files {
		if c, is := shown[f.Path]; is && c.Files == 0 && f.SHA256 != "" && f.SHA256 != c.SHA256 {
			changed = append(changed, f.Path)
		}
	}
	return changed
}

// pathsOf returns the paths that a gate shows, and those of the steps that it covers.
func pathsOf(r *runs.Run, g *pawl.GateState) (paths []string) {
	for path := range g.Shown {
		paths = append(paths, path)
	}
	for _, s := range runs.GateScope(r.Plan, r.State, g).Steps {
		for _, o := range s.Outputs {
			paths = append(paths, o.Path)
		}
	}
	return paths
}

// planDiff returns the change of the plan that a gate asks about. changed names the plan if it is another one by now.
func planDiff(p *project.Project, r *runs.Run, g *pawl.GateState) (files []snapshot.FileDiff, more bool, changed []string) {
	source := runs.PlanSource(p, r.State)
	before, err := disk.ReadFile(p.PlanFile(r.State.Run, r.State.Plan.Revision), disk.PlanLimit)
	if err != nil {
		return []snapshot.FileDiff{}, true, nil
	}
	now, err := disk.ReadFile(source, disk.PlanLimit)
	if err != nil {
		return []snapshot.FileDiff{}, true, []string{source}
	}
	if runs.SHA256Hex(now) != g.Plan {
		changed = []string{source}
	}
	return []snapshot.FileDiff{cleanDiff(snapshot.FileDiff{Path: source, Kind: "changed", Hunks: snapshot.HunksOf(string(before), string(now))})}, false, changed
}

// cleanDiff returns a diff without secrets.
func cleanDiff(f snapshot.FileDiff) snapshot.FileDiff {
	clean := redact.OfProcess().Text
	for i := range f.Hunks {
		for j := range f.Hunks[i].Lines {
			f.Hunks[i].Lines[j].Text = clean(f.Hunks[i].Lines[j].Text)
		}
	}
	return f
}

// compare returns the changes between two checkpoints, or since one.
func compare(ctx context.Context, p *project.Project, from, to string, paths []string, maxFiles, maxLines int) (files []snapshot.FileDiff, more bool, err error) {
	err = withComparison(ctx, p, from, to, paths, func(c *snapshot.Comparison) (err error) {
		files, more, err = c.Hunks(maxFiles, maxLines)
		return err
	})
	for i := range files {
		files[i] = cleanDiff(files[i])
	}
	return files, more, err
}

// withComparison compares two checkpoints, or one with the current files.
func withComparison(ctx context.Context, p *project.Project, from, to string, paths []string, do func(*snapshot.Comparison) error) (err error) {
	cfg, err := config.Of(p)
	if err != nil {
		return err
	}
	store, err := runs.OpenSnapshotsReadOnly(ctx, p, cfg.Snapshots)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	record := func(name string) (*snapshot.Record, error) {
		saved, err := findCheckpoint(ctx, p, store, name)
		if err != nil {
			return nil, err
		}
		record, err := saved.SnapshotRecord()
		return &record, err
	}
	old, err := record(from)
	if err != nil {
		return err
	}
	var now *snapshot.Record
	if to != "" {
		if now, err = record(to); err != nil {
			return err
		}
	}
	compared, err := store.Compare(ctx, *old, now, paths)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, compared.Close()) }()
	return do(compared)
}

// answer closes a gate that still shows what the client was shown.
func (a *api) answer(ctx context.Context, in GatePath, shown, word string, act func(pawl.GateID) runs.Act) (client.Answered, error) {
	note(ctx).Shown = shown
	p, run, id, err := a.findGate(in)
	if err != nil {
		return client.Answered{}, err
	}
	by := authorOf(ctx)
	err = a.perform(ctx, p, run, request{by: by}, func(p *project.Project, r *runs.Run) ([]pawl.Payload, error) {
		g := r.State.Gate(id)
		if g == nil || !g.Open() {
			return nil, notOpen(r, id)
		}
		report := layout.GateReportOf(r.Plan, r.State, g)
		changed, err := runs.GateChanges(p, r, g)
		if err == nil && len(changed) == 0 && hashOf(g, report.Scope, sidesOf(r, g, report.Since)) != shown {
			return nil, problem(http.StatusConflict, "the gate has changed since it was shown: look at it again", "")
		}
		return act(id)(p, r)
	})
	if err != nil {
		return client.Answered{}, err
	}
	return client.Answered{Success: true, Message: "Gate " + word, Gate: id, Run: run, ResolvedBy: by.Name}, nil
}
