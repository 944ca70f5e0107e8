package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"pawl"
	"pawl/internal/cli/failure"
	"pawl/internal/cli/statusview"
	"pawl/internal/httpaccess"
	"pawl/internal/project"
	"pawl/internal/redact"
	"pawl/internal/runs"
	"pawl/internal/shellwords"
)

// handler serves the API to clients with the token, and the state of the server itself to anybody on this machine.
func (r *recovery) handler(address string, c Config) http.Handler {
	guarded := http.NewServeMux()
	r.operations(newAPI(guarded, c.Version))
	mux := http.NewServeMux()
	mux.Handle("/api/", http.MaxBytesHandler(authorized(c, routed(guarded)), maxBody))
	mux.Handle("GET /openapi.json", guarded)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !r.ready() {
			http.Error(w, "recovering", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ready")
	})
	mux.Handle("GET /metrics", r.metricsHandler(c))
	return r.counted(httpaccess.RequireLocal(address, http.NewCrossOriginProtection().Handler(routed(mux))))
}

// authorized accepts only requests with the token.
func authorized(c Config, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if httpaccess.HasToken(r, c.Token) {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("WWW-Authenticate", `Bearer realm="pawl"`)
		problem := refusal(http.StatusUnauthorized, "", "missing or wrong token: send it as Authorization: Bearer TOKEN", "cat "+shellwords.Word(c.TokenFile), "")
		w.Header().Set("Content-Type", problem.ContentType("application/json"))
		w.WriteHeader(problem.Status)
		_ = json.NewEncoder(w).Encode(problem) // the client has gone
	})
}

// newAPI returns the API without operations. Its document is at /openapi.json.
func newAPI(mux *http.ServeMux, version string) huma.API {
	config := huma.DefaultConfig("pawl", version)
	config.DocsPath, config.SchemasPath, config.CreateHooks = "", "", nil // no page from elsewhere, no links in answers
	config.OpenAPIPath = "/openapi"
	config.Info.Description = "The projects and runs of the user who runs `pawl serve`."
	config.Components.SecuritySchemes = map[string]*huma.SecurityScheme{"token": {Type: "http", Scheme: "bearer"}}
	config.Security = []map[string][]string{{"token": {}}}
	return humago.New(mux, config)
}

// Projects is a page of projects.
type Projects struct {
	Projects []Project `json:"projects"`
	Next     string    `json:"next,omitempty" doc:"cursor of the next page; missing: this is the last one"`
	Ready    bool      `json:"ready" doc:"the server has looked at all projects"`
}

// Filter selects projects.
type Filter struct {
	Status string `query:"status" doc:"only projects whose current run has this status" enum:"active,waiting,paused,interrupted,completed,failed"`
	Query  string `query:"q" doc:"only projects with this text in their path or in the name of their run" maxLength:"200"`
	Cursor string `query:"cursor" doc:"next of the page before" maxLength:"64"`
	Limit  int    `query:"limit" default:"50" minimum:"1" maximum:"200"`
}

func (f *Filter) selects(s *Project) bool {
	return (f.Status == "" || string(s.Status) == f.Status) && s.ID > f.Cursor &&
		(strings.Contains(s.Path, f.Query) || strings.Contains(s.Name, f.Query))
}

type projectPath struct {
	ID string `path:"id" doc:"id of a project" maxLength:"64"`
}

type body[T any] struct{ Body T }

// operations adds the operations to the API.
func (r *recovery) operations(api huma.API) {
	huma.Register(api, huma.Operation{
		OperationID: "list-projects", Method: http.MethodGet, Path: "/api/projects", Summary: "List the projects, as the server saw them last",
		Errors: []int{http.StatusUnauthorized},
	}, func(_ context.Context, f *Filter) (*body[Projects], error) { return &body[Projects]{r.page(f)}, nil })
	huma.Register(api, huma.Operation{
		OperationID: "get-project", Method: http.MethodGet, Path: "/api/projects/{id}", Summary: "Show a project as it is now",
		Errors: []int{http.StatusUnauthorized, http.StatusNotFound},
	}, func(ctx context.Context, in *projectPath) (*body[Project], error) {
		s, err := r.now(ctx, in.ID)
		return &body[Project]{s}, err
	})
	huma.Register(api, huma.Operation{
		OperationID: "get-project-state", Method: http.MethodGet, Path: "/api/projects/{id}/state",
		Summary: "Show the current run of a project, as `pawl status --json` prints it", Errors: []int{http.StatusUnauthorized, http.StatusNotFound},
	}, func(ctx context.Context, in *projectPath) (*body[statusview.Report], error) {
		report, err := r.state(ctx, in.ID)
		return &body[statusview.Report]{report}, err
	})
	for _, act := range []action{resumeAction, pauseAction} {
		huma.Register(api, huma.Operation{
			OperationID: act.verb + "-project", Method: http.MethodPost, Path: "/api/projects/{id}/" + act.verb, Summary: act.summary,
			Errors: []int{http.StatusUnauthorized, http.StatusNotFound, http.StatusConflict, http.StatusLocked, http.StatusPreconditionRequired},
		}, func(ctx context.Context, in *projectPath) (*body[Acted], error) {
			done, err := r.act(ctx, in.ID, act)
			return &body[Acted]{done}, err
		})
	}
}

// page returns the projects that a filter selects, by id.
func (r *recovery) page(f *Filter) Projects {
	r.mu.Lock()
	defer r.mu.Unlock()
	page := Projects{Projects: []Project{}, Ready: r.done}
	for _, s := range r.known {
		if f.selects(s) {
			page.Projects = append(page.Projects, s.shown())
		}
	}
	slices.SortFunc(page.Projects, func(a, b Project) int { return cmp.Compare(a.ID, b.ID) })
	if len(page.Projects) > f.Limit {
		page.Projects = page.Projects[:f.Limit]
		page.Next = page.Projects[f.Limit-1].ID
	}
	return page
}

// shown returns the status without secrets.
func (s *Project) shown() Project {
	clean, c := redact.OfProcess().Text, *s
	c.Why, c.Error, c.Recovery = clean(s.Why), clean(s.Error), clean(s.Recovery)
	return c
}

// entry returns the registered project with an id.
func entry(id string) (project.Entry, error) {
	entries, err := project.List()
	for _, e := range entries {
		if e.ID == id {
			return e, nil
		}
	}
	if err != nil {
		return project.Entry{}, err
	}
	return project.Entry{}, huma.Error404NotFound("no project " + id)
}

// now reads a project. It does not resume it.
func (r *recovery) now(ctx context.Context, id string) (Project, error) {
	e, err := entry(id)
	if err != nil {
		return Project{}, err
	}
	s := Project{ID: e.ID, Path: e.Path}
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

// state returns the report of a project's current run.
func (r *recovery) state(ctx context.Context, id string) (report statusview.Report, err error) {
	e, err := entry(id)
	if err != nil {
		return report, err
	}
	s := Project{ID: e.ID, Path: e.Path}
	p, run, err := s.read(ctx)
	if err != nil && run == nil {
		return report, huma.Error404NotFound(failure.Of(err).Message)
	}
	full, err := runs.Load(ctx, p, s.Run)
	if err != nil {
		return report, err
	}
	defer full.Log.Close()
	return statusview.Of(p, full), nil
}
