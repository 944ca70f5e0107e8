package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"pawl"
)

//go:embed migrations/*.sql
var migrations embed.FS

const (
	schemaVersion = 3                     // of the newest migration
	versionTable  = "pawl.schema_version" // goose's table
	schemaLock    = 7729_0017             // key of the advisory lock of migrations
)

// Migrate connects to a database, and creates or updates its schema. Of several processes one does it.
func Migrate(ctx context.Context, dsn string) (*Store, error) {
	pool, err := newPool(ctx, dsn)
	if err != nil {
		return nil, err
	}
	s := &Store{dsn: dsn, pool: pool, notices: new(Notices)}
	if err = s.checkServer(ctx); err == nil {
		err = s.migrate(ctx)
	}
	if err == nil {
		err = s.check(ctx)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Store) migrate(ctx context.Context) error {
	if err := s.checkVersion(ctx); err == nil || errors.Is(err, pawl.ErrNewer) {
		return err
	}
	lock, err := s.pool.Acquire(ctx)
	if err != nil {
		return classify("update the schema", err)
	}
	defer lock.Release()
	if _, err := lock.Exec(ctx, `select pg_advisory_lock($1)`, schemaLock); err != nil {
		return classify("update the schema", err)
	}
	defer func() { _, _ = lock.Exec(context.WithoutCancel(ctx), `select pg_advisory_unlock($1)`, schemaLock) }() // the connection's end frees it too
	if _, err := lock.Exec(ctx, `create schema if not exists pawl`); err != nil {
		return classify("create the schema", err)
	}
	db := stdlib.OpenDBFromPool(s.pool)
	defer db.Close()
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files, goose.WithTableName(versionTable))
	if err != nil {
		return fmt.Errorf("update the schema: %w", err)
	}
	_, err = provider.Up(ctx)
	return classify("update the schema", err)
}

// checkVersion returns ErrNoSchema, or an error that wraps pawl.ErrNewer, unless the schema is of this version.
func (s *Store) checkVersion(ctx context.Context) error {
	var version int
	err := s.pool.QueryRow(ctx, `select coalesce(max(version_id), 0) from `+versionTable+` where is_applied`).Scan(&version)
	switch {
	case isMissing(err):
		return ErrNoSchema
	case err != nil:
		return classify("read the version of the schema", err)
	case version > schemaVersion:
		return fmt.Errorf("the schema pawl has version %d; this pawl knows versions up to %d: %w", version, schemaVersion, pawl.ErrNewer)
	case version < schemaVersion:
		return ErrNoSchema
	}
	return nil
}
