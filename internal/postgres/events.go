package postgres

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5"

	"pawl"
	"pawl/internal/journal"
)

// pageLines is the number of lines that Read returns at most.
const pageLines = 1000

const readPage = `
select r.head_seq, r.epoch, r.head_sum, r.phase, r.owner, e.line, coalesce(e.batch::text, '')
from pawl.run r
left join lateral (
    select seq, line, batch from pawl.event where run_id = r.id and seq > $2 order by seq limit $3
) e on true
where r.id = $1
order by e.seq`

// Read returns the end of a run and a part of its lines; see journal.Remote.
func (s *Store) Read(ctx context.Context, key string, after pawl.Seq) (page journal.Page, err error) {
	rows, err := s.pool.Query(ctx, readPage, key, int64(after), pageLines)
	if err != nil {
		return page, classify("read events", err)
	}
	var line []byte
	var batch string
	known := false
	_, err = pgx.ForEachRow(rows, []any{&page.Head.Seq, &page.Head.Epoch, &page.Head.Sum, &page.Phase, &page.Owner, &line, &batch}, func() error {
		known = true
		if line != nil {
			page.Lines = append(page.Lines, journal.StoredLine{Line: append([]byte(nil), line...), Batch: batch})
		}
		return nil
	})
	if err == nil && !known {
		return page, fmt.Errorf("run %s in the database: %w", key, pawl.ErrNoRun)
	}
	return page, classify("read events", err)
}

// appendBatch moves the end of a run, and inserts lines, if the run ends where the writer believes and the server keeps what it
// acknowledges.
const appendBatch = `
with head as (
    update pawl.run set head_seq = $2, epoch = $3, head_sum = $4, updated_at = clock_timestamp(),
        lease_until = case when $12 = '' then lease_until else clock_timestamp() + $13::interval end
    where id = $1 and head_seq = $5 and head_sum = $6 and phase in ('arriving', 'stored') and ($12 = '' or owner = $12)
      and current_setting('fsync') = 'on' and current_setting('synchronous_commit') <> 'off'
    returning id
)
insert into pawl.event (run_id, seq, epoch, type, line, batch)
select head.id, l.seq, l.epoch, l.type, l.line, case when l.seq = $5 + 1 then $7::uuid end
from head, unnest($8::bigint[], $9::bigint[], $10::text[], $11::bytea[]) as l (seq, epoch, type, line)`

// Append adds a batch; see journal.Remote.
func (s *Store) Append(ctx context.Context, key string, b journal.Batch) (added bool, err error) {
	n := len(b.Lines)
	seqs, epochs, types, lines := make([]int64, n), make([]int64, n), make([]string, n), make([][]byte, n)
	for i, line := range b.Lines {
		seqs[i], epochs[i], types[i], lines[i] = int64(line.Seq), int64(line.Epoch), string(line.Type), line.Line
	}
	done, err := s.pool.Exec(ctx, appendBatch, key, int64(b.End.Seq), int64(b.End.Epoch), b.End.Sum, int64(b.After.Seq), b.After.Sum, b.ID, seqs, epochs, types, lines,
		b.Owner, journal.LeaseTime)
	if err != nil {
		return false, classify("append to the database", err)
	}
	if done.RowsAffected() == 0 {
		return false, s.checkServer(ctx)
	}
	if b.Owner == "" { // not by the engine, whose events are too many: what a person or another host has written wakes it
		s.announcing.tell(key, func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), announceTime)
			defer cancel()
			_, _ = s.pool.Exec(ctx, Announcement, s.notices.Payload(key)) // others look from time to time, too
		})
	}
	return true, nil
}

// announceTime limits how long Close waits for announcements.
const announceTime = 2 * time.Second

// PutBlob stores a blob; see journal.Remote.
func (s *Store) PutBlob(ctx context.Context, key, name string, data []byte) error {
	sum, err := hex.DecodeString(name)
	if err != nil {
		return fmt.Errorf("store blob: %w", err)
	}
	_, err = s.pool.Exec(ctx, `insert into pawl.blob (run_id, sha256, data) values ($1, $2, $3) on conflict do nothing`, key, sum, data)
	return classify("store blob", err)
}

// Blob returns a blob; see journal.Remote.
func (s *Store) Blob(ctx context.Context, key, name string) (data []byte, err error) {
	sum, err := hex.DecodeString(name)
	if err != nil {
		return nil, fmt.Errorf("read blob: %w", err)
	}
	err = s.pool.QueryRow(ctx, `select data from pawl.blob where run_id = $1 and sha256 = $2`, key, sum).Scan(&data)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, fmt.Errorf("read blob %s: %w", name, fs.ErrNotExist)
	}
	return data, classify("read blob", err)
}

// Blobs returns the SHA-256 of each of a run's blobs; see journal.Mover.
func (s *Store) Blobs(ctx context.Context, key string) ([]string, error) {
	rows, err := s.pool.Query(ctx, `select encode(sha256, 'hex') from pawl.blob where run_id = $1`, key)
	if err != nil {
		return nil, classify("list blobs", err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return names, classify("list blobs", err)
}
