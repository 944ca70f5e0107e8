package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"pawl"
	"pawl/internal/journal"
)

// Find returns the key of the run with a name that is stored here. Names are unique unless somebody forged one.
func (s *Store) Find(ctx context.Context, run pawl.RunID) (key string, err error) {
	rows, err := s.pool.Query(ctx, `select id::text from pawl.run where name = $1 and phase = 'stored'`, string(run))
	if err != nil {
		return "", classify("find the run", err)
	}
	keys, err := pgx.CollectRows(rows, pgx.RowTo[string])
	switch {
	case err != nil:
		return "", classify("find the run", err)
	case len(keys) == 0:
		return "", &pawl.Error{Kind: pawl.KindNothing, Err: fmt.Errorf("no run %s in the database", run)}
	case len(keys) > 1:
		return "", &pawl.Error{Kind: pawl.KindDamaged, Err: fmt.Errorf("%d runs in the database are called %s", len(keys), run)}
	}
	return keys[0], nil
}

// Receive registers a run that is moved here; see journal.Mover.
func (s *Store) Receive(ctx context.Context, key string, about journal.About) error {
	_, err := s.pool.Exec(ctx, `
		insert into pawl.run (id, name, title, project, host, path) values ($1, $2, $3, $4, $5, $6)
		on conflict (id) do update set host = excluded.host, path = excluded.path`,
		key, string(about.Run), about.Name, about.Project, about.Host, about.Path)
	return classify("register the run", err)
}

// Keep makes a run Stored; see journal.Mover.
func (s *Store) Keep(ctx context.Context, key string, end journal.Head) error {
	done, err := s.pool.Exec(ctx, `
		update pawl.run set phase = 'stored', updated_at = clock_timestamp()
		where id = $1 and head_seq = $2 and head_sum = $3 and phase <> 'left'`, key, int64(end.Seq), end.Sum)
	if err == nil && done.RowsAffected() == 0 {
		return errors.New("move the run to the database: another process writes to it")
	}
	return classify("move the run to the database", err)
}

// Release makes a run Leaving; see journal.Mover.
func (s *Store) Release(ctx context.Context, key string, end journal.Head) (bool, error) {
	done, err := s.pool.Exec(ctx, `
		update pawl.run set phase = 'leaving', updated_at = clock_timestamp()
		where id = $1 and head_seq = $2 and head_sum = $3 and phase in ('arriving', 'stored', 'leaving')`, key, int64(end.Seq), end.Sum)
	return err == nil && done.RowsAffected() == 1, classify("move the run to files", err)
}

// Forget deletes the content of a run that is not Stored; see journal.Mover.
func (s *Store) Forget(ctx context.Context, key string) error {
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		done, err := tx.Exec(ctx, `update pawl.run set phase = 'left', updated_at = clock_timestamp() where id = $1 and phase <> 'stored'`, key)
		if err != nil || done.RowsAffected() == 0 {
			return err
		}
		if _, err := tx.Exec(ctx, `delete from pawl.event where run_id = $1`, key); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `delete from pawl.blob where run_id = $1`, key)
		return err
	})
	return classify("delete the run from the database", err)
}

// Delete deletes a run that came from a folder of a host; see journal.Deleter.
func (s *Store) Delete(ctx context.Context, key string, from journal.About) error {
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		var ours, held bool
		err := tx.QueryRow(ctx, `
			select host = $2 and path = $3, owner <> '' and lease_until > clock_timestamp() from pawl.run where id = $1 for update`,
			key, from.Host, from.Path).Scan(&ours, &held)
		switch {
		case errors.Is(err, pgx.ErrNoRows) || err == nil && !ours:
			return nil
		case err != nil:
			return err
		case held:
			return &pawl.Error{Kind: pawl.KindHeld, Err: errors.New("an engine works on it"), Hint: "pawl status " + string(from.Run)}
		}
		for _, statement := range []string{`delete from pawl.event where run_id = $1`, `delete from pawl.blob where run_id = $1`, `delete from pawl.run where id = $1`} {
			if _, err := tx.Exec(ctx, statement, key); err != nil {
				return err
			}
		}
		return nil
	})
	if pawl.KindOf(err) == pawl.KindHeld {
		return err
	}
	return classify("delete the run from the database", err)
}
