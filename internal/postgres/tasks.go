package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"pawl/internal/dispatch"
	"pawl/internal/journal"
)

// Tasks is a carrier in a database; see dispatch.Carrier. A worker's lease ends by the clock of the server. Its methods may be called
// concurrently.
type Tasks struct {
	store *Store
	lease time.Duration
	poll  time.Duration // how often to look although nothing was announced
}

var _ dispatch.Carrier = (*Tasks)(nil)

// tasksPoll is how often to look for tasks although none was announced.
const tasksPoll = 5 * time.Second

// Tasks returns the tasks in the database. A lease of 0 is that of package dispatch.
func (s *Store) Tasks(lease time.Duration) *Tasks {
	if lease == 0 {
		lease = dispatch.Lease
	}
	return &Tasks{store: s, lease: lease, poll: min(tasksPoll, lease/2)}
}

// OpenTasks connects to the database with the queues, and creates or updates its schema. The error wraps dispatch.ErrUnreachable if the
// database does not answer.
func OpenTasks(ctx context.Context, dsn string) (*Store, error) {
	s, err := Migrate(ctx, dsn)
	if errors.Is(err, journal.ErrUnreachable) {
		err = fmt.Errorf("%w: %w", dispatch.ErrUnreachable, err)
	}
	return s, err
}

// unreached adds to an error whether the database does not answer. It returns nil for nil.
func unreached(deed string, err error) error {
	err = classify(deed, err)
	if errors.Is(err, journal.ErrUnreachable) {
		err = fmt.Errorf("%w: %w", dispatch.ErrUnreachable, err)
	}
	return err
}

// Submit implements dispatch.Carrier.
func (t *Tasks) Submit(ctx context.Context, task dispatch.Task) error {
	data, err := task.Encode()
	if err != nil {
		return err
	}
	known := false
	err = pgx.BeginFunc(ctx, t.store.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `select pg_advisory_xact_lock(hashtextextended($1, 0))`, string(task.Run)); err != nil { // engines of one run submit one by one
			return err
		}
		_, err := tx.Exec(ctx, `
			insert into pawl.task (id, run_id, epoch, queue, task)
			select $1, $2, $3, $4, $5 where not exists (select from pawl.task where run_id = $2 and epoch > $3)
			on conflict (id) do nothing`, task.ID(), string(task.Run), int64(task.Epoch), task.Queue, string(data))
		if err == nil {
			err = tx.QueryRow(ctx, `select exists (select from pawl.task where id = $1)`, task.ID()).Scan(&known)
		}
		return err
	})
	if err != nil {
		return unreached("submit a task", err)
	}
	if !known {
		return fmt.Errorf("submit task %s: %w", task.ID(), dispatch.ErrFenced)
	}
	t.announce(ctx, queueKey(task.Queue))
	return nil
}

// The keys of what is announced: tasks for a queue, and what happens to a task.
func queueKey(queue string) string { return "queue:" + queue }
func taskKey(id string) string     { return "task:" + id }

// announce tells other processes that something about a key has changed. Who hears nothing looks from time to time.
func (t *Tasks) announce(ctx context.Context, key string) {
	t.store.announcing.tell(key, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), announceTime)
		defer cancel()
		_, _ = t.store.pool.Exec(ctx, Announcement, t.store.notices.Payload(key))
	})
}

// Status implements dispatch.Carrier. A task whose lease is over has ended: it is lost.
func (t *Tasks) Status(ctx context.Context, id string) (now dispatch.Status, err error) {
	lost, err := json.Marshal(dispatch.Report{Outcome: dispatch.Lost, Why: fmt.Sprintf("it did not answer for %s", t.lease)})
	if err != nil {
		return now, err
	}
	done, err := t.store.pool.Exec(ctx, `
		update pawl.task set state = 'ended', lease_until = null, updated_at = clock_timestamp(),
			report = ($2::jsonb || jsonb_build_object('worker', worker))::text
		where id = $1 and state = 'running' and lease_until < clock_timestamp()`, id, string(lost))
	if err != nil {
		return now, unreached("look at a task", err)
	}
	if done.RowsAffected() > 0 {
		t.announce(ctx, taskKey(id))
	}
	var report *string
	err = t.store.pool.QueryRow(ctx, `select state, worker, canceled, report from pawl.task where id = $1`, id).Scan(&now.State, &now.Worker, &now.Canceled, &report)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return dispatch.Status{State: dispatch.Absent}, nil
	case err != nil:
		return now, unreached("look at a task", err)
	case report != nil:
		if now.Report, err = dispatch.ParseReport([]byte(*report)); err != nil {
			return now, fmt.Errorf("task %s: %w", id, err)
		}
	}
	return now, nil
}

// Await implements dispatch.Carrier.
func (t *Tasks) Await(ctx context.Context, id string, seen dispatch.Status) (dispatch.Status, error) {
	heard, stop := t.store.notices.Hear(ctx, t.store.dsn, taskKey(id))
	defer stop()
	for looks := 0; ; looks++ {
		now, err := t.Status(ctx, id)
		if err != nil || looks > 0 || now.State != seen.State || now.Canceled != seen.Canceled {
			return now, err
		}
		if err := wait(ctx, heard, t.poll); err != nil {
			return now, err
		}
	}
}

// wait returns when something was heard, or after a time.
func wait(ctx context.Context, heard <-chan struct{}, limit time.Duration) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-heard:
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// Cancel implements dispatch.Carrier.
func (t *Tasks) Cancel(ctx context.Context, id, why string) error {
	report, err := json.Marshal(dispatch.Report{Outcome: dispatch.Canceled, Why: why})
	if err != nil {
		return err
	}
	_, err = t.store.pool.Exec(ctx, `
		update pawl.task set canceled = true, updated_at = clock_timestamp(),
			state = case state when 'waiting' then 'ended' else state end,
			report = case state when 'waiting' then $2 else report end
		where id = $1 and state <> 'ended'`, id, string(report))
	if err != nil {
		return unreached("cancel a task", err)
	}
	t.announce(ctx, taskKey(id))
	return nil
}
