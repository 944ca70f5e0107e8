package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"pawl"
	"pawl/internal/cli/hints"
	"pawl/internal/cli/statusview"
	"pawl/internal/disk"
	"pawl/internal/journal"
	"pawl/internal/project"
	"pawl/internal/redact"
	"pawl/internal/runs"
	"pawl/internal/server/client"
	"pawl/internal/tokens"
)

// Filter selects a page of projects.
type Filter struct {
	Selection
	Cursor string `query:"cursor" doc:"next of the page before" maxLength:"64"`
	Limit  int    `query:"limit" default:"50" minimum:"1" maximum:"200"`
}

// ProjectPath names a project.
type ProjectPath struct {
	ID string `path:"id" doc:"id of a project" maxLength:"64"`
}

// RunPath names a run.
type RunPath struct {
	Run     string `path:"run" doc:"id of a run" maxLength:"200"`
	Project string `query:"project" doc:"id of its project, where several have a run with this id" maxLength:"64"`
}

// tagged is a body with the number of the run's newest event as its tag, for If-Match.
type tagged[T any] struct {
	ETag string `header:"ETag"`
	Body T
}

func tagOf(seq pawl.Seq) string { return fmt.Sprintf("%q", fmt.Sprint(seq)) }

func (a *api) projectRoutes(h huma.API) {
	register(h, route{id: "list-projects", method: http.MethodGet, path: "/api/projects", right: tokens.Read, summary: "List the projects, as the server saw them last"},
		func(_ context.Context, f *Filter) (client.Projects, error) { return a.page(f), nil })
	register(h, route{id: "get-project", method: http.MethodGet, path: "/api/projects/{id}", right: tokens.Read, summary: "Show a project as it is now", errors: []int{http.StatusNotFound}},
		func(ctx context.Context, in *ProjectPath) (client.Project, error) { return a.now(ctx, in.ID) })
	state := route{
		id: "get-project-state", method: http.MethodGet, path: "/api/projects/{id}/state", right: tokens.Read,
		summary: "Show the current run of a project, as `pawl status --json` prints it", errors: []int{http.StatusNotFound, http.StatusConflict},
	}
	huma.Register(h, state.operation(), func(ctx context.Context, in *ProjectPath) (*tagged[statusview.Report], error) {
		p, run, err := a.current(ctx, in.ID)
		if err != nil {
			return nil, problemOf(err)
		}
		return a.status(ctx, p, run)
	})
	register(h, route{
		id: "get-project-recovery", method: http.MethodGet, path: "/api/projects/{id}/recovery", right: tokens.Read,
		summary: "Show what a resume of the current run would find and do, as `pawl resume --dry-run --json` prints it", errors: []int{http.StatusNotFound, http.StatusConflict},
	}, func(ctx context.Context, in *ProjectPath) (*client.Recovery, error) {
		p, run, err := a.current(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		return examine(ctx, p, run)
	})
	register(h, route{
		id: "list-runs", method: http.MethodGet, path: "/api/projects/{id}/runs", right: tokens.Read, summary: "List the runs of a project, newest first", errors: []int{http.StatusNotFound, http.StatusConflict},
	}, a.listRuns)
	a.actionRoutes(h)
}

// page returns the projects that a filter selects, by id.
func (r *recovery) page(f *Filter) client.Projects {
	r.mu.Lock()
	defer r.mu.Unlock()
	page := client.Projects{Projects: []client.Project{}, Ready: r.done}
	if f.Failing {
		every := f.Selection
		every.Reason = ""
		page.Reasons = reasons(r.selected(&every))
	}
	for _, s := range r.selected(&f.Selection) {
		if s.ID <= f.Cursor {
			continue
		}
		if len(page.Projects) == f.Limit {
			page.Next = page.Projects[f.Limit-1].ID
			break
		}
		page.Projects = append(page.Projects, s.shown())
	}
	return page
}

// selected returns the projects of a selection, by id. The caller holds mu.
func (r *recovery) selected(f *Selection) (list []*watched) {
	now := time.Now()
	for _, s := range r.known {
		if f.selects(s, now) {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b *watched) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// shown returns the status without secrets.
func (s *watched) shown() client.Project {
	clean, c := redact.OfProcess().Text, s.Project
	c.Why, c.Error, c.Recovery = clean(s.Why), clean(s.Error), clean(s.Recovery)
	return c
}

// entries returns the projects that are served.
func entries() ([]project.Entry, error) {
	all, err := project.List()
	return slices.DeleteFunc(all, func(e project.Entry) bool { return e.Unserved }), err
}

// entry returns the served project with an id.
func entry(id string) (project.Entry, error) {
	e, err := project.Lookup(id)
	if errors.Is(err, fs.ErrNotExist) || e.Unserved {
		return e, notFound("no project %s", id)
	}
	return e, err
}

// find returns the project of an entry, if the user trusts it and it is still there.
func find(e project.Entry) (*project.Project, error) {
	p, err := project.Find(e.Path)
	if err == nil {
		err = p.Trusted()
	}
	if err == nil && (p.ID != e.ID || p.Root != e.Path) {
		err = &pawl.Error{Kind: pawl.KindNothing, Err: errors.New("the project is not there any more")}
	}
	return p, err
}

// now reads a project. It does not resume it.
func (r *recovery) now(ctx context.Context, id string) (client.Project, error) {
	e, err := entry(id)
	if err != nil {
		return client.Project{}, err
	}
	s := watched{Project: client.Project{ID: e.ID, Path: e.Path}}
	if _, _, err := s.read(ctx); err != nil && !errors.Is(err, pawl.ErrNoRun) {
		s.Error = err.Error()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.known[id]; known != nil {
		s.Recovery, s.Looked = known.Recovery, known.Looked
		s.Error = cmp.Or(s.Error, known.Error)
	}
	return s.shown(), nil
}

// current returns a project and its current run.
func (a *api) current(ctx context.Context, id string) (*project.Project, pawl.RunID, error) {
	e, err := entry(id)
	if err != nil {
		return nil, "", err
	}
	p, err := find(e)
	if err != nil {
		return nil, "", err
	}
	run, err := runs.FindRun(ctx, p, "")
	return p, run, err
}

// find returns the project that has a run.
func (a *api) find(in RunPath) (*project.Project, pawl.RunID, error) {
	run, err := pawl.ParseRunID(in.Run)
	if err != nil {
		return nil, "", notFound("no run %s", in.Run)
	}
	if in.Project != "" {
		return a.findIn(in.Project, run)
	}
	all, err := entries()
	if err != nil && len(all) == 0 {
		return nil, "", err
	}
	var found []project.Entry
	for _, e := range all {
		if disk.Exists(filepath.Join(e.Path, project.Folder, "runs", string(run))) {
			found = append(found, e)
		}
	}
	switch len(found) {
	case 0:
		return nil, "", notFound("no run %s", run)
	case 1:
		p, err := find(found[0])
		return p, run, err
	}
	return nil, "", problem(http.StatusConflict, fmt.Sprintf("%d projects have a run %s: add ?project=ID", len(found), run), "")
}

// findIn returns a project that has a run, by its id.
func (a *api) findIn(id string, run pawl.RunID) (*project.Project, pawl.RunID, error) {
	e, err := entry(id)
	if err == nil && !disk.Exists(filepath.Join(e.Path, project.Folder, "runs", string(run))) {
		err = notFound("no run %s", run)
	}
	if err != nil {
		return nil, "", err
	}
	p, err := find(e)
	return p, run, err
}

// load reads a run that this user's pawl made. The caller closes its journal.
func load(ctx context.Context, p *project.Project, run pawl.RunID) (*runs.Run, error) {
	if err := runs.RequireOwn(p, run); err != nil {
		return nil, err
	}
	if stored, err := journal.StoredIn(p.Runs(), run); err == nil && stored != "" {
		return runs.Load(ctx, p, run) // the copy may be behind
	}
	return runs.Glance(ctx, p, run)
}

// status returns the report of a run.
func (a *api) status(ctx context.Context, p *project.Project, run pawl.RunID) (*tagged[statusview.Report], error) {
	r, err := load(ctx, p, run)
	if err != nil {
		return nil, problemOf(err)
	}
	defer r.Log.Close()
	report := statusview.Of(p, r)
	report.NameRun(hints.Namer(ctx, p, run))
	report.AddSessions(ctx, p, r.State)
	report.CheckGates(p, r)
	if err := report.AddRestore(ctx, p); err != nil {
		return nil, problemOf(err)
	}
	return &tagged[statusview.Report]{tagOf(r.State.Seq), report}, nil
}

type runsInput struct {
	ProjectPath
	Cursor string `query:"cursor" doc:"next of the page before" maxLength:"200"`
	Limit  int    `query:"limit" default:"50" minimum:"1" maximum:"200"`
}

func (a *api) listRuns(ctx context.Context, in *runsInput) (client.RunLines, error) {
	page := client.RunLines{Runs: []client.RunLine{}}
	e, err := entry(in.ID)
	if err != nil {
		return page, err
	}
	p, err := find(e)
	if err != nil {
		return page, err
	}
	all, err := runs.List(p)
	if err != nil {
		return page, err
	}
	if i := slices.Index(all, pawl.RunID(in.Cursor)); i >= 0 {
		all = all[i+1:]
	} else if in.Cursor != "" {
		return page, badRequest("no run %s", in.Cursor)
	}
	if len(all) > in.Limit {
		all, page.Next = all[:in.Limit], string(all[in.Limit-1])
	}
	for _, run := range all {
		page.Runs = append(page.Runs, runLine(ctx, p, run))
	}
	return page, nil
}

func runLine(ctx context.Context, p *project.Project, run pawl.RunID) client.RunLine {
	r, err := load(ctx, p, run)
	if err != nil {
		return client.RunLine{Run: run, Error: redact.OfProcess().Text(err.Error())}
	}
	defer r.Log.Close()
	report := statusview.Of(p, r)
	report.CountSessions(r.State)
	return client.RunLine{
		Run: run, Name: report.Name, Kind: report.Kind, Status: report.Status, Standing: report.StandingWord(), Percent: report.Percent,
		Created: report.Created, Updated: report.Updated,
	}
}
