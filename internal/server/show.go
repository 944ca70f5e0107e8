package server

import (
	"context"
	"io"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"pawl"
	"pawl/internal/cli/checkpointview"
	"pawl/internal/cli/hints"
	"pawl/internal/cli/resumeview"
	"pawl/internal/cli/supply"
	"pawl/internal/runs"
	"pawl/internal/tokens"
)

func (a *api) showRoutes(h huma.API) {
	missing := []int{http.StatusNotFound, http.StatusConflict}
	register(h, route{
		id: "get-checkpoint", method: http.MethodGet, path: "/api/runs/{run}/checkpoint", right: tokens.Read, errors: missing,
		summary: "Show a checkpoint, as `pawl show --json` does",
	}, a.checkpoint)
	stream(h, route{
		id: "get-file", method: http.MethodGet, path: "/api/runs/{run}/file", right: tokens.Read, errors: missing,
		summary: "Print a file in a checkpoint, or the list of a folder, as `pawl show` does, with secrets redacted",
	}, "text/plain", a.file)
	register(h, route{
		id: "get-forecast", method: http.MethodGet, path: "/api/runs/{run}/why", right: tokens.Read, errors: missing,
		summary: "Show what a resume would do with each step, as `pawl why --json` does",
	}, a.why)
}

// NamedCheckpoint names a checkpoint.
type NamedCheckpoint struct {
	Checkpoint string `query:"checkpoint" doc:"its id, its beginning, latest, or a step for its newest one" default:"latest" maxLength:"200"`
}

type shownInput struct {
	RunPath
	NamedCheckpoint
	LeftOut bool `query:"left_out" doc:"with the paths that the checkpoint excludes"`
}

func (a *api) checkpoint(ctx context.Context, in *shownInput) (shown checkpointview.Shown, err error) {
	x, err := a.access(ctx, in.RunPath, true)
	if err != nil {
		return shown, err
	}
	defer x.store.Close()
	saved, err := x.find(ctx, in.Checkpoint)
	if err != nil {
		return shown, err
	}
	shown.Report = checkpointview.Of(saved).Named(runs.NamesByRun(ctx, x.project))
	if in.LeftOut {
		shown.List, err = checkpointview.LeftOut(x.store, saved)
	}
	return shown, err
}

type fileInput struct {
	RunPath
	NamedCheckpoint
	Path string `query:"path" doc:"of the file, relative to the project's folder" required:"true" minLength:"1" maxLength:"4096"`
}

func (a *api) file(ctx context.Context, in *fileInput) (func(huma.Context), error) {
	paths, err := localPaths([]string{in.Path})
	if err != nil {
		return nil, err
	}
	x, err := a.access(ctx, in.RunPath, true)
	if err != nil {
		return nil, err
	}
	defer x.store.Close()
	saved, err := x.find(ctx, in.Checkpoint)
	if err != nil {
		return nil, err
	}
	return whole("pawl show "+string(saved.ID), func(w io.Writer) error {
		err := checkpointview.PrintFile(w, x.store, saved, paths[0])
		if pawl.KindOf(err) == pawl.KindUsage {
			err = missing(err)
		}
		return err
	})
}

// why returns what a resume would do with each step of a run. Unlike a resume, the run may be active or have failed.
func (a *api) why(ctx context.Context, in *RunPath) (resumeview.Forecast, error) {
	p, run, err := a.find(*in)
	if err != nil {
		return resumeview.Forecast{}, err
	}
	r, err := load(ctx, p, run)
	if err != nil {
		return resumeview.Forecast{}, err
	}
	defer r.Log.Close()
	given, _, err := supply.ForWhy(p, r, supply.Flags{})
	if err != nil {
		return resumeview.Forecast{}, err
	}
	return resumeview.ForecastOf(p, r, given, hints.Namer(ctx, p, run))
}
