package main

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"

	"github.com/jackc/pgx/v5"

	"pawl/internal/journal"
	"pawl/internal/postgres"
	"pawl/internal/postgres/postgrestest"
)

// postgresAppends is the row postgres: an append to a run in Postgres, beside a bare insert of the same bytes into the same server. The
// server is one that the tests start.
func (b *bench) postgresAppends() (lines []line, err error) {
	server, err := postgrestest.Start()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.Remove()) }()
	dsn, err := server.Database(b)
	if err != nil {
		return nil, err
	}
	s, err := postgres.Migrate(b, dsn)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	journal.Connect(b, journal.Connection{Open: func(context.Context, string, string) (journal.Remote, error) { return s, nil }})
	folder := filepath.Join(b.dir, "inpostgres")
	if err := journal.StoreNew(folder, s.ID()); err != nil {
		return nil, err
	}
	log, err := b.journalOf("inpostgres")
	if err != nil {
		return nil, err
	}
	defer log.Close()
	c, err := pgx.Connect(b, dsn)
	if err != nil {
		return nil, err
	}
	defer c.Close(b)
	if _, err := c.Exec(b, `create table bare (id bigint generated always as identity primary key, line bytea not null)`); err != nil {
		return nil, err
	}
	e, err := event300()
	if err != nil {
		return nil, err
	}
	bareLine := bytes.Repeat([]byte("x"), lineSize)
	m, err := inTurns(b.full(1500, 50), 1,
		timed(func() error { _, err := log.Append(b, 0, e); return err }),
		timed(func() error { _, err := c.Exec(b, `insert into bare (line) values ($1)`, bareLine); return err }))
	return []line{m.line("durable append of a 300-byte event in Postgres", "bare insert of 300 bytes into the same server", goal{ratio: 1.43})}, err
}
