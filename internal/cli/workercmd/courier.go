package workercmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"pawl/internal/config"
	"pawl/internal/dispatch"
	"pawl/internal/dispatch/courier"
	"pawl/internal/executor/events"
	"pawl/internal/postgres"
	"pawl/internal/project"
	"pawl/internal/redact"
	"pawl/internal/remote"
	"pawl/internal/runs"
	"pawl/internal/supervise"
	"pawl/internal/transfer"
)

// Open opens the carrier for the queues of a project.
type Open func(ctx context.Context, p *project.Project) (dispatch.Carrier, error)

// CheckVerb is the command of another carrier's program that checks its server. It fails with what is wrong, and how to mend it.
const CheckVerb = "check"

// Courier carries the attempt whose folder the environment names. Programs for other kinds of queues call it too.
func Courier(ctx context.Context, open Open, out, errs io.Writer) (err error) {
	dir := os.Getenv("PAWL_ATTEMPT_DIR")
	job := supervise.ReadJob(dir)
	if job == nil || job.Away == nil {
		return errors.New("only pawl itself starts couriers")
	}
	p, err := project.Find(job.Root)
	if err == nil {
		err = p.Trusted()
	}
	if err != nil {
		return err
	}
	cfg, err := config.Of(p)
	if err != nil {
		return err
	}
	objects, err := runs.OpenSnapshots(ctx, p, cfg.Snapshots)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, objects.Close()) }()
	c := &courier.Courier{
		Job: *job, Dir: dir, Project: p.ID, Objects: objects, Out: out, Err: errs,
		Open: func(ctx context.Context) (dispatch.Carrier, error) { return open(ctx, p) },
		Remote: func(ctx context.Context) (courier.Remote, error) {
			conn, err := transfer.Connect(ctx, p, "")
			if err != nil {
				return courier.Remote{}, fmt.Errorf("a step on queue %s needs a remote: %w", job.Away.Queue, err)
			}
			if conn.Unconditional() {
				return courier.Remote{}, fmt.Errorf("a step on queue %s: remote %s: %w", job.Away.Queue, conn.Name, remote.ErrIgnoresConditions)
			}
			return courier.Remote{ID: conn.ID(), Store: conn.Store(), Cache: conn.Cache()}, nil
		},
		Events: events.Writer{Path: os.Getenv("PAWL_EVENTS"), Clean: redact.OfProcess().Text, Errors: errs},
	}
	return c.Run(ctx)
}

// Postgres opens the queues in the user's database. close closes it.
func Postgres(getenv func(string) string) (open Open, closeAll func()) {
	var stores []*postgres.Store
	open = func(ctx context.Context, p *project.Project) (dispatch.Carrier, error) {
		s, err := database(ctx, getenv, p.Root)
		if err != nil {
			return nil, err
		}
		stores = append(stores, s)
		return s.Tasks(0), nil
	}
	return open, func() {
		for _, s := range stores {
			s.Close()
		}
	}
}

func database(ctx context.Context, getenv func(string) string, root string) (*postgres.Store, error) {
	dsn, err := config.Postgres(getenv, root)
	if err != nil {
		return nil, err
	}
	if dsn == "" {
		return nil, usageError("pawl worker --help", "no database with queues: set %s, or postgres in your own settings", config.PostgresVariable)
	}
	return postgres.OpenTasks(ctx, dsn)
}
