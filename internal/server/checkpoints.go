package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"pawl"
	"pawl/internal/cli/checkpointview"
	"pawl/internal/cli/restoreview"
	"pawl/internal/config"
	"pawl/internal/history"
	"pawl/internal/project"
	"pawl/internal/redact"
	"pawl/internal/runs"
	"pawl/internal/server/client"
	"pawl/internal/snapshot"
	"pawl/internal/tokens"
)

// Diff is a difference between two checkpoints, or since one.
type Diff struct {
	Files []snapshot.FileDiff `json:"files"`
	More  bool                `json:"more,omitempty" doc:"only the first part is here"`
}

// Compared is what a difference is between.
type Compared struct {
	From string   `query:"from" doc:"a checkpoint: its id, its beginning, latest, or a step for its newest one" default:"latest" maxLength:"200"`
	To   string   `query:"to" doc:"another checkpoint; the current files by default" maxLength:"200"`
	Path []string `query:"path,explode" doc:"only these paths and what is below them" maxItems:"200"`
}

type diffInput struct {
	RunPath
	Compared
}

// Limits of a diff.
const (
	mostDiffFiles = 1000
	mostDiffLines = 20_000
)

type changeInput struct {
	RunPath
	Body struct {
		Checkpoint string   `json:"checkpoint" doc:"its id" minLength:"1" maxLength:"200"`
		Paths      []string `json:"paths,omitempty" doc:"of a restore: only these paths and what is below them" maxItems:"1000"`
		Plan       string   `json:"plan,omitempty" doc:"the plan of the dry run: do exactly that" maxLength:"64"`
	}
}

// Changes are the changes that a restore or a fork makes, or has made.
type Changes struct {
	Done    bool                 `json:"done" doc:"false: it was a dry run"`
	Changes []restoreview.Change `json:"changes"`
	Kept    []string             `json:"kept" doc:"ignored paths, which stay"`
	Redo    []history.Redo       `json:"redo,omitempty" doc:"of a fork: finished work that the new run repeats"`
	Plan    string               `json:"plan" doc:"hash of all of this: send it back to do it"`
	Before  pawl.CheckpointID    `json:"before,omitempty" doc:"the checkpoint with the files before"`
	Run     pawl.RunID           `json:"run,omitempty" doc:"of a fork: the new run"`
}

func (a *api) checkpointRoutes(h huma.API) {
	missing := []int{http.StatusNotFound, http.StatusConflict}
	register(h, route{id: "list-checkpoints", method: http.MethodGet, path: "/api/runs/{run}/checkpoints", right: tokens.Read, summary: "List the checkpoints of a run", errors: missing}, a.listCheckpoints)
	register(h, route{id: "get-diff", method: http.MethodGet, path: "/api/runs/{run}/diff", right: tokens.Read, summary: "Show what changed between two checkpoints, or since one", errors: missing},
		func(ctx context.Context, in *diffInput) (Diff, error) {
			p, run, err := a.find(in.RunPath)
			if err == nil {
				err = runs.RequireOwn(p, run)
			}
			if err != nil {
				return Diff{}, err
			}
			paths, err := localPaths(in.Path)
			if err != nil {
				return Diff{}, err
			}
			files, more, err := compare(ctx, p, in.From, in.To, paths, mostDiffFiles, mostDiffLines)
			return Diff{files, more}, err
		})
	stream(h, route{
		id: "get-patch", method: http.MethodGet, path: "/api/runs/{run}/patch", right: tokens.Read, errors: missing,
		summary: "Print what changed between two checkpoints, or since one, as `pawl diff` does, with secrets redacted",
	}, "text/plain", a.patch)
	a.showRoutes(h)
	held := append(missing, http.StatusLocked)
	register(h, route{
		id: "restore-files", method: http.MethodPost, path: "/api/runs/{run}/restore", right: tokens.Operate, errors: held,
		summary: "Show what a restore of a checkpoint changes or, with the plan of that, do it",
	}, a.restore)
	register(h, route{
		id: "fork-run", method: http.MethodPost, path: "/api/runs/{run}/fork", right: tokens.Operate, errors: held,
		summary: "Show what a fork of a run from a checkpoint changes or, with the plan of that, do it",
	}, a.fork)
	register(h, route{
		id: "roll-back-run", method: http.MethodPost, path: "/api/runs/{run}/rollback", right: tokens.Operate, errors: append(held, http.StatusPreconditionRequired),
		summary: "Show what a rollback of a run to a checkpoint undoes or, with the plan of that, do it, like `pawl rollback`",
	}, a.rollback)
}

type patchInput struct {
	RunPath
	Compared
	Form string `query:"form" doc:"patch: with the changed lines; stat: how many; names: only the paths; json: as pawl diff --json" default:"patch" enum:"patch,stat,names,json"`
}

// patch prints a difference.
func (a *api) patch(ctx context.Context, in *patchInput) (func(huma.Context), error) {
	p, run, err := a.find(in.RunPath)
	if err == nil {
		err = runs.RequireOwn(p, run)
	}
	if err != nil {
		return nil, err
	}
	paths, err := localPaths(in.Path)
	if err != nil {
		return nil, err
	}
	return whole("pawl diff", func(w io.Writer) error {
		return withComparison(ctx, p, in.From, in.To, paths, func(c *snapshot.Comparison) error {
			if in.Form == "json" {
				enc := json.NewEncoder(w)
				enc.SetEscapeHTML(false)
				enc.SetIndent("", "  ")
				return enc.Encode(restoreview.Changes(c.Changes))
			}
			return checkpointview.PrintDiff(w, c, checkpointview.DiffForm(in.Form))
		})
	})
}

// whole returns the answer with what print prints, without secrets. It is complete before the first byte is sent, so that an error is not
// the end of a shorter answer. command prints a longer one.
func whole(command string, print func(io.Writer) error) (func(huma.Context), error) {
	text := &limited{most: maxText}
	clean := redact.OfProcess().Writer(text)
	err := errors.Join(print(clean), clean.Flush())
	if errors.Is(err, errTooLarge) {
		err = problem(http.StatusConflict, errTooLarge.Error(), command)
	}
	if err != nil {
		return nil, err
	}
	return func(ctx huma.Context) {
		ctx.SetHeader("Content-Type", "text/plain; charset=utf-8")
		ctx.SetStatus(http.StatusOK)
		_, _ = ctx.BodyWriter().Write(text.text) // the client has gone
	}, nil
}

// maxText is how much such an answer may have, in bytes.
const maxText = 16 << 20

var errTooLarge = errors.New("the answer would have more than 16 MiB: name paths")

// limited is a buffer that takes only so much. It has no other way to write, such as ReadFrom of a bytes.Buffer.
type limited struct {
	text []byte
	most int
}

func (l *limited) Write(data []byte) (int, error) {
	if len(l.text)+len(data) > l.most {
		return 0, errTooLarge
	}
	l.text = append(l.text, data...)
	return len(data), nil
}

// localPaths returns paths below a project's folder, as its user writes them.
func localPaths(paths []string) (local []string, err error) {
	for _, path := range paths {
		clean := filepath.Clean(filepath.FromSlash(path))
		if !filepath.IsLocal(clean) {
			return nil, badRequest("path %q is outside the project's folder", path)
		}
		local = append(local, filepath.ToSlash(clean))
	}
	return local, nil
}

// access is an open store of snapshots.
type access struct {
	project *project.Project
	run     pawl.RunID
	config  config.Config
	store   *snapshot.Store
}

// access opens the snapshots of a run's project. The caller closes the store.
func (a *api) access(ctx context.Context, in RunPath, readOnly bool) (*access, error) {
	p, run, err := a.find(in)
	if err == nil {
		err = runs.RequireOwn(p, run)
	}
	if err != nil {
		return nil, err
	}
	cfg, err := config.Of(p)
	if err != nil {
		return nil, err
	}
	open := runs.OpenSnapshots
	if readOnly {
		open = runs.OpenSnapshotsReadOnly
	}
	store, err := open(ctx, p, cfg.Snapshots)
	return &access{p, run, cfg, store}, err
}

type checkpointsInput struct {
	RunPath
	Related bool `query:"related" doc:"with those of session runs that are newer, as pawl checkpoints lists them without a run"`
}

func (a *api) listCheckpoints(ctx context.Context, in *checkpointsInput) (client.Checkpoints, error) {
	list := client.Checkpoints{Checkpoints: []checkpointview.Report{}}
	x, err := a.access(ctx, in.RunPath, true)
	if err != nil {
		return list, err
	}
	defer x.store.Close()
	of := []pawl.RunID{x.run}
	if in.Related {
		if of, err = runs.CheckpointRuns(ctx, x.project); err != nil {
			return list, err
		}
	}
	of = slices.DeleteFunc(of, func(run pawl.RunID) bool { return runs.RequireOwn(x.project, run) != nil })
	found, err := history.Checkpoints(ctx, x.project, x.store, of...)
	names := runs.NamesByRun(ctx, x.project)
	for _, c := range found {
		list.Checkpoints = append(list.Checkpoints, checkpointview.Of(c).Named(names))
	}
	return list, err
}

// find returns the checkpoint that a change names.
func (x *access) find(ctx context.Context, name string) (history.SavedCheckpoint, error) {
	saved, err := findCheckpoint(ctx, x.project, x.store, name)
	if err == nil && saved.Run != x.run {
		err = runs.RequireOwn(x.project, saved.Run)
	}
	return saved, err
}

// findCheckpoint returns a checkpoint by its name.
func findCheckpoint(ctx context.Context, p *project.Project, store *snapshot.Store, name string) (history.SavedCheckpoint, error) {
	saved, err := history.FindCheckpoint(ctx, p, store, name)
	if pawl.KindOf(err) == pawl.KindUsage {
		err = missing(err)
	}
	return saved, err
}

// planned is what the hash of a plan covers.
type planned struct {
	Do         string
	Checkpoint pawl.CheckpointID
	Paths      []string
	Changes    Changes
}

func hashOfPlan(p planned) string {
	data, err := json.Marshal(p)
	if err != nil {
		panic("changes hold only strings and numbers: " + err.Error())
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// errOtherPlan is that a client's plan is not what would be done.
var errOtherPlan = problem(http.StatusConflict, "the files have changed since the dry run: look at its changes again", "")

// restore plans a restore, and does it if the client sent the hash of exactly this plan.
func (a *api) restore(ctx context.Context, in *changeInput) (done Changes, err error) {
	paths, err := localPaths(in.Body.Paths)
	if err != nil {
		return done, err
	}
	dry := in.Body.Plan == ""
	x, err := a.access(ctx, in.RunPath, dry)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, x.store.Close()) }()
	saved, err := x.find(ctx, in.Body.Checkpoint)
	if err != nil {
		return done, err
	}
	prepare := history.PrepareRestore
	if dry {
		prepare = history.PreviewRestore
	}
	r, err := prepare(ctx, x.project, x.store, saved, history.RestoreOptions{Paths: paths, Version: a.Version})
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	done = Changes{Changes: restoreview.Changes(r.Changes), Kept: append([]string{}, r.Kept...)}
	done.Plan = hashOfPlan(planned{"restore", saved.ID, paths, done})
	switch {
	case dry:
		return done, nil
	case in.Body.Plan != done.Plan:
		return Changes{}, errOtherPlan
	case len(r.Changes) > 0:
		done.Before, err = r.Do(context.WithoutCancel(ctx), authorOf(ctx)) // also if the client leaves
	}
	done.Done = err == nil
	a.visitSoon(x.project.ID)
	return done, err
}

// fork plans a fork in place, and does it if the client sent the hash of exactly this plan.
func (a *api) fork(ctx context.Context, in *changeInput) (done Changes, err error) {
	x, err := a.access(ctx, in.RunPath, false)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, x.store.Close()) }()
	saved, err := x.find(ctx, in.Body.Checkpoint)
	if err != nil {
		return done, err
	}
	f, err := history.PrepareFork(ctx, x.project, x.store, saved, history.ForkOptions{Version: a.Version, Snapshots: x.config.Snapshots})
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	done = Changes{Changes: []restoreview.Change{}, Kept: []string{}, Redo: f.Redo}
	if f.Restore != nil {
		done.Changes, done.Kept = restoreview.Changes(f.Restore.Changes), append(done.Kept, f.Restore.Kept...)
	}
	done.Plan = hashOfPlan(planned{"fork", saved.ID, nil, done})
	switch in.Body.Plan {
	case "":
		return done, nil
	case done.Plan:
	default:
		return Changes{}, errOtherPlan
	}
	forked, err := f.Do(context.WithoutCancel(ctx), authorOf(ctx)) // also if the client leaves
	if err != nil {
		return Changes{}, err
	}
	done.Done, done.Run, done.Before = true, forked.Run, forked.Before
	a.visitSoon(x.project.ID)
	return done, nil
}
