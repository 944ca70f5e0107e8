package postgres

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// SQL connects to a database for statements about tables of others. Closing the result closes its connections.
func SQL(ctx context.Context, dsn string) (*sql.DB, error) {
	pool, err := newPool(ctx, dsn)
	if err != nil {
		return nil, err
	}
	db := stdlib.OpenDBFromPool(pool)
	if err := db.PingContext(ctx); err != nil {
		pool.Close()
		return nil, classify("connect", err)
	}
	return db, nil
}

// Unreached adds to an error of database/sql whether the database does not answer. It returns nil for nil.
func Unreached(deed string, err error) error { return classify(deed, err) }

// conflicts are the errors of a transaction that met another one: serialization failure, deadlock, unique violation.
var conflicts = []string{"40001", "40P01", "23505"}

// IsConflict reports whether a transaction failed because another one changed the same rows, or inserted the same key.
func IsConflict(err error) bool {
	answer, ok := errors.AsType[*pgconn.PgError](err)
	return ok && slices.Contains(conflicts, answer.Code)
}
