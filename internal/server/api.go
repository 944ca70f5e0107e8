package server

import (
	"context"
	"fmt"
	"net/http"
	"path"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"pawl/internal/httpaccess"
	"pawl/internal/server/page"
	"pawl/internal/tokens"
)

// api serves the operations that clients can do.
type api struct {
	*recovery
	store  tokens.Store
	cookie string // name of the cookie of a session
	secure bool   // browsers reach the server by https
	calls  *quota
	logins *quota
	audit  *audit
	repeat *repeats
	bulks  bulks
	seen   viewers

	readers chan struct{} // one for each notebook that is being read

	proxied *proxied // nil: the server knows clients by tokens and sessions only
}

// newAPI returns the API of a server.
func newAPI(r *recovery, now time.Time) (*api, error) {
	store, err := tokens.Open()
	if err != nil {
		return nil, err
	}
	instance, err := store.Instance(now)
	if err != nil {
		return nil, err
	}
	a := documented(r)
	a.store, a.cookie = store, "pawl_"+instance
	a.audit.path = filepath.Join(store.Folder, "audit.jsonl")
	a.repeat.folder = filepath.Join(store.Folder, "repeats")
	r.rests = openRests(filepath.Join(store.Folder, "rests.json"), r.Version)
	return a, nil
}

// documented returns an API without folders. It can describe its operations, and serve none.
func documented(r *recovery) *api {
	return &api{
		recovery: r, audit: &audit{partSize: partSize}, calls: &quota{most: callsPerMinute}, logins: &quota{most: loginsPerMinute}, repeat: &repeats{},
		bulks: bulks{queue: make(chan *bulk, maxBulks)}, readers: make(chan struct{}, maxReaders),
	}
}

// handler serves the API to clients with a token, and the health of the server to every client.
func (a *api) handler(site *httpaccess.Site) http.Handler {
	a.secure, a.audit.forwarded = site.Secure(), site.Forwarded
	guarded := http.NewServeMux()
	a.operations(guarded)
	mux := http.NewServeMux()
	mux.Handle("/api/", private(http.MaxBytesHandler(a.authenticate(a.repeat.once(routed(guarded))), maxBody)))
	mux.Handle("/api/v1/gates", alias(mux))
	mux.Handle("/api/v1/gates/", alias(mux))
	mux.Handle("GET /openapi.json", guarded)
	mux.Handle("/", page.Handler())
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !a.ready() {
			http.Error(w, "recovering", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ready")
	})
	mux.Handle("GET /metrics", a.metricsHandler())
	return a.proxied.require(a.counted(site.Require(http.NewCrossOriginProtection().Handler(routed(mux)))))
}

// private keeps answers out of caches and pages: a browser neither stores nor shows nor guesses the type of one.
func private(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range map[string]string{
			"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
			"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			w.Header().Set(name, value)
		}
		next.ServeHTTP(w, r)
	})
}

// alias serves a path of /api/v1 as that of /api.
func alias(mux http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r2 := r.Clone(r.Context())
		r2.URL.Path, r2.URL.RawPath = "/api"+r.URL.Path[len("/api/v1"):], ""
		mux.ServeHTTP(w, r2)
	})
}

// operations adds the operations to a mux, and returns their document. It is at /openapi.json.
func (a *api) operations(mux *http.ServeMux) *huma.OpenAPI {
	useProblems()
	config := huma.DefaultConfig("pawl", a.Version)
	config.DocsPath, config.SchemasPath, config.CreateHooks = "", "", nil // no page from elsewhere, no links in answers
	config.OpenAPIPath = "/openapi"
	config.Components.Schemas = huma.NewMapRegistry("#/components/schemas/", schemaName)
	config.Info.Description = "The projects and runs of the user who runs `pawl serve`. Each operation names the right that it needs in x-pawl-right."
	config.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"token":   {Type: "http", Scheme: "bearer"},
		"session": {Type: "apiKey", In: "cookie", Name: "pawl_<instance>", Description: "from /api/login; requests that change something need the header " + keyHeader + " too"},
	}
	config.Security = []map[string][]string{{"token": {}}, {"session": {}}}
	h := humago.New(mux, config)
	h.UseMiddleware(a.permit, a.audit.record)
	a.sessionRoutes(h)
	a.projectRoutes(h)
	a.bulkRoutes(h)
	a.runRoutes(h)
	a.notebookRoutes(h)
	a.checkpointRoutes(h)
	a.gateRoutes(h)
	a.eventRoutes(h)
	document := h.OpenAPI()
	for _, item := range document.Paths {
		if item.Get != nil {
			delete(item.Get.Responses, "422") // see useProblems; of a POST it is about its key
		}
	}
	return document
}

// schemaName names the schema of a type: with the package, unless the type is of this one or of package pawl.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	of := strings.TrimSuffix(path.Base(t.PkgPath()), "view")
	if t.Name() == "" || of == "server" || of == "client" || of == "pawl" || of == "." {
		return name
	}
	return strings.ToUpper(of[:1]) + of[1:] + name
}

type body[T any] struct{ Body T }

// route is an operation.
type route struct {
	id, method, path, summary string
	right                     tokens.Right
	status                    int   // of success. Defaults to 200.
	errors                    []int // in addition to those of every operation
}

// operation returns the operation for huma.
func (r route) operation() huma.Operation {
	op := huma.Operation{
		OperationID: r.id, Method: r.method, Path: r.path, Summary: r.summary, DefaultStatus: r.status,
		Errors: append([]int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests, http.StatusInternalServerError}, r.errors...),
	}
	if r.right != "" {
		op.Extensions = map[string]any{rightKey: r.right}
	}
	if r.method == http.MethodPost {
		op.Errors = append(op.Errors, http.StatusUnprocessableEntity, http.StatusServiceUnavailable, http.StatusRequestEntityTooLarge)
		op.Parameters = append(op.Parameters, &huma.Param{
			Name: repeatHeader, In: "header", Schema: &huma.Schema{Type: huma.TypeString},
			Description: "a repeated request with this key, for 24 hours, is not done again: the answer is that of the first one",
		})
	}
	return op
}

// register adds an operation to the API. Whatever error do returns, the client gets a problem.
func register[I, O any](h huma.API, r route, do func(context.Context, *I) (O, error)) {
	huma.Register(h, r.operation(), func(ctx context.Context, in *I) (*body[O], error) {
		out, err := do(ctx, in)
		if err != nil {
			return nil, problemOf(err)
		}
		return &body[O]{out}, nil
	})
}

// stream adds an operation that writes its answer itself.
func stream[I any](h huma.API, r route, contentType string, do func(context.Context, *I) (func(huma.Context), error)) {
	op := r.operation()
	op.Responses = map[string]*huma.Response{"200": {
		Description: "OK", Content: map[string]*huma.MediaType{contentType: {Schema: &huma.Schema{Type: huma.TypeString}}},
	}}
	huma.Register(h, op, func(ctx context.Context, in *I) (*huma.StreamResponse, error) {
		write, err := do(ctx, in)
		if err != nil {
			return nil, problemOf(err)
		}
		return &huma.StreamResponse{Body: write}, nil
	})
}
