package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"pawl"
	"pawl/internal/journal"
)

var _ journal.Leaser = (*Store)(nil)

// Claim gives the lease of a run to an engine, if nobody else has it; see journal.Leaser.
func (s *Store) Claim(ctx context.Context, key string, l journal.Lease) (journal.Holder, error) {
	done, err := s.pool.Exec(ctx, `
		update pawl.run set owner = $2, lease_copy = $3, lease_host = $4, lease_until = clock_timestamp() + $5::interval
		where id = $1 and (owner = '' or owner = $2 or lease_until < clock_timestamp() or $3 <> '' and lease_copy = $3)`,
		key, l.Owner, l.Copy, l.Host, journal.LeaseTime)
	if err != nil {
		return journal.Holder{}, classify("claim the run", err)
	}
	if done.RowsAffected() == 1 {
		return journal.Holder{Owner: l.Owner, Copy: l.Copy, Host: l.Host, Left: journal.LeaseTime}, nil
	}
	h, err := s.Holder(ctx, key)
	if err == nil && h.Owner == "" { // freed since
		err = fmt.Errorf("claim the run: %w: try again", journal.ErrUnreachable)
	}
	return h, err
}

// Renew extends the lease of an engine; see journal.Leaser.
func (s *Store) Renew(ctx context.Context, key, owner string) (bool, error) {
	done, err := s.pool.Exec(ctx, `update pawl.run set lease_until = clock_timestamp() + $3::interval where id = $1 and owner = $2`, key, owner, journal.LeaseTime)
	return err == nil && done.RowsAffected() == 1, classify("renew the lease", err)
}

// Free gives up the lease of an engine; see journal.Leaser.
func (s *Store) Free(ctx context.Context, key, owner string) error {
	_, err := s.pool.Exec(ctx, `update pawl.run set owner = '', lease_copy = '', lease_host = '', lease_until = null where id = $1 and owner = $2`, key, owner)
	return classify("free the lease", err)
}

// Holder returns who has the lease of a run; see journal.Leaser.
func (s *Store) Holder(ctx context.Context, key string) (h journal.Holder, err error) {
	var owner, place, host string
	var left time.Duration
	err = s.pool.QueryRow(ctx, `
		select owner, lease_copy, lease_host, coalesce(lease_until - clock_timestamp(), interval '0') from pawl.run where id = $1`, key).
		Scan(&owner, &place, &host, &left)
	if errors.Is(err, pgx.ErrNoRows) {
		return h, fmt.Errorf("run %s in the database: %w", key, pawl.ErrNoRun)
	}
	if err != nil || owner == "" || left <= 0 {
		return h, classify("read the lease", err)
	}
	return journal.Holder{Owner: owner, Copy: place, Host: host, Left: left}, nil
}
