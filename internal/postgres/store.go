// Package postgres stores the journals of runs in Postgres 15 or later. It implements journal.Remote and journal.Mover.
//
// An append is one statement: it moves the end of the run and inserts the lines, if the run still ends where the writer believes. So of
// two writers one is refused, on whatever hosts they are. When Append has returned, the lines survive a power failure of the server; a
// server with fsync or synchronous_commit off is refused.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"pawl"
	"pawl/internal/journal"
)

// Store is a database with the schema pawl. Its methods may be called concurrently.
type Store struct {
	id      string
	dsn     string
	pool    *pgxpool.Pool
	notices *Notices

	announcing announcements
}

var (
	_ journal.Remote = (*Store)(nil)
	_ journal.Mover  = (*Store)(nil)
)

// connectLimit is how long a server may take to accept a connection, unless the DSN says.
const connectLimit = 5 * time.Second

// ErrNoSchema means that a database has no schema of pawl.
var ErrNoSchema = &pawl.Error{Kind: pawl.KindUsage, Err: errors.New("the database has no schema pawl"), Hint: "pawl store move postgres"}

// Open connects to a database that has the schema of this version.
func Open(ctx context.Context, dsn string) (*Store, error) {
	pool, err := newPool(ctx, dsn)
	if err != nil {
		return nil, err
	}
	s := &Store{dsn: dsn, pool: pool, notices: new(Notices)}
	if err := s.check(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func newPool(ctx context.Context, dsn string) (*pgxpool.Pool, error) {
	config, err := parse(dsn)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, classify("connect", err)
	}
	return pool, nil
}

// parse parses a DSN, and sets what it does not.
func parse(dsn string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, &pawl.Error{Kind: pawl.KindUsage, Err: errors.New("invalid DSN in PAWL_POSTGRES or your settings: want postgres://user@host:5432/database"), Hint: "pawl store --help"}
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = connectLimit
	}
	if config.ConnConfig.RuntimeParams["application_name"] == "" {
		config.ConnConfig.RuntimeParams["application_name"] = "pawl"
	}
	return config, nil
}

// Close closes the connections.
func (s *Store) Close() {
	s.announcing.all.Wait()
	s.notices.Close()
	s.pool.Close()
}

// ID returns the ID of the database.
func (s *Store) ID() string { return s.id }

// check reads the ID of the database, and refuses one that is not safe or has another schema.
func (s *Store) check(ctx context.Context) error {
	if err := s.checkServer(ctx); err != nil {
		return err
	}
	if err := s.checkVersion(ctx); err != nil {
		return err
	}
	return classify("read the ID of the database", s.pool.QueryRow(ctx, `select id::text from pawl.store`).Scan(&s.id))
}

// minServer is the oldest version of the server.
const minServer = 150000

// checkServer refuses a server that may lose what it has acknowledged.
func (s *Store) checkServer(ctx context.Context) error {
	var version int
	var fsync, synchronous string
	err := s.pool.QueryRow(ctx, `select current_setting('server_version_num')::int, current_setting('fsync'), current_setting('synchronous_commit')`).
		Scan(&version, &fsync, &synchronous)
	switch {
	case err != nil:
		return classify("connect", err)
	case version < minServer:
		return &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("the server is Postgres %d; pawl needs 15 or later", version/10000)}
	case fsync != "on":
		return unsafe("fsync", fsync)
	case synchronous == "off":
		return unsafe("synchronous_commit", synchronous)
	}
	return nil
}

func unsafe(setting, value string) error {
	return &pawl.Error{
		Kind: pawl.KindUsage, Hint: fmt.Sprintf("psql -c 'alter system set %s = on' -c 'select pg_reload_conf()'", setting),
		Err: fmt.Errorf("the server has %s = %s: it may lose events that it has acknowledged", setting, value),
	}
}

// retryable are the classes of errors after which the same statement may succeed: of the connection, resources, an operator's
// intervention, and a server that is a standby at the moment.
var retryable = []string{"08", "40", "53", "57", "58", "25006", "55P03"}

// classify adds to an error whether the database does not answer. It returns nil for nil.
func classify(deed string, err error) error {
	if err == nil {
		return nil
	}
	if answer, ok := errors.AsType[*pgconn.PgError](err); ok {
		for _, class := range retryable {
			if strings.HasPrefix(answer.Code, class) {
				return fmt.Errorf("%s: %w: %w", deed, journal.ErrUnreachable, err)
			}
		}
		return fmt.Errorf("%s: %w", deed, err)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("%s: %w", deed, err)
	}
	return fmt.Errorf("%s: %w: %w", deed, journal.ErrUnreachable, err)
}

// isMissing reports whether an error is that of a table or schema that does not exist.
func isMissing(err error) bool {
	answer, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (answer.Code == "42P01" || answer.Code == "3F000")
}
