package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"pawl"
	"pawl/internal/cli/rollbackview"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/server/client"
)

// rollbackLimit is how long a client waits for the end of a rollback.
const rollbackLimit = 45 * time.Second

type rollbackInput struct {
	RunPath
	Body struct {
		Checkpoint string `json:"checkpoint,omitempty" doc:"its id; without it, that of the interrupted rollback" maxLength:"200"`
		Plan       string `json:"plan,omitempty" doc:"the plan of the dry run: do exactly that" pattern:"^[0-9a-f]{64}$"`
	}
}

// rollback shows what a rollback undoes, or does it if the client sent the hash of exactly that. A process of its own does it, which
// continues if the server ends.
func (a *api) rollback(ctx context.Context, in *rollbackInput) (client.RolledBack, error) {
	p, run, err := a.find(in.RunPath)
	if err == nil {
		err = runs.RequireOwn(p, run)
	}
	if err != nil {
		return client.RolledBack{}, err
	}
	target, err := a.rollbackTarget(ctx, in, p, run)
	if err != nil {
		return client.RolledBack{}, err
	}
	args := []string{"rollback", "--to=" + string(target), "--json"}
	if in.Body.Plan == "" {
		out, err := a.Pawl(ctx, p.Root, append(args, "--dry-run")...)
		return rolledBack(out, err)
	}
	defer a.visitSoon(p.ID)
	type ending struct {
		out []byte
		err error
	}
	ended := make(chan ending, 1)
	go func() { // ends with the process, also if the client leaves
		out, err := a.Pawl(context.WithoutCancel(ctx), p.Root, append(args, "--plan="+in.Body.Plan)...)
		ended <- ending{out, err}
		a.visitSoon(p.ID)
	}()
	select {
	case e := <-ended:
		return rolledBack(e.out, e.err)
	case <-time.After(rollbackLimit):
		report := rollbackview.Report{Checkpoint: target, Run: run}
		return client.RolledBack{Report: report.WithLists(), Running: true}, nil
	}
}

// rollbackTarget returns the checkpoint that a client names, or that of the interrupted rollback. It must be one of the run.
func (a *api) rollbackTarget(ctx context.Context, in *rollbackInput, p *project.Project, run pawl.RunID) (target pawl.CheckpointID, err error) {
	name := in.Body.Checkpoint
	if name == "" {
		back, err := runs.UnfinishedRollback(ctx, p)
		if err == nil && back == "" {
			err = problem(http.StatusConflict, "there is no interrupted rollback to continue: name a checkpoint", "pawl checkpoints")
		}
		if err != nil {
			return "", err
		}
		name = string(back)
	}
	x, err := a.access(ctx, in.RunPath, true)
	if err != nil {
		return "", err
	}
	defer x.store.Close()
	saved, err := x.find(ctx, name)
	if err == nil && saved.Run != run {
		err = problem(http.StatusConflict, fmt.Sprintf("checkpoint %s belongs to run %s", saved.ID, saved.Run), "")
	}
	return saved.ID, err
}

// rolledBack returns what a command printed.
func rolledBack(out []byte, err error) (done client.RolledBack, _ error) {
	if err == nil {
		err = json.Unmarshal(out, &done.Report)
	}
	done.Done = err == nil && !done.DryRun
	return done, err
}
