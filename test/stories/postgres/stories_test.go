// Package postgres has stories of runs that are stored in Postgres. Each story has a database of its own; its DSN is DSN.
package postgres

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/rogpeppe/go-internal/testscript"

	"pawl/internal/postgres/postgrestest"
	"pawl/test/stories/storytest"
)

var server *postgrestest.Server

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	var err error
	if server, err = postgrestest.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := storytest.Main(m)
	if err := server.Remove(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func TestScript(t *testing.T) {
	storytest.PawlHook(t)
	storytest.RunWith(t, func(env *testscript.Env) error {
		dsn, err := server.Database(t.Context())
		env.Setenv("DSN", dsn)
		env.Setenv("PAWL_POSTGRES", dsn) // of what `start` starts, too
		return err
	}, map[string]func(*testscript.TestScript, bool, []string){"sql": sql})
}

// sql executes a statement, and compares its only value, as text, with the second argument.
func sql(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 || neg {
		ts.Fatalf("usage: sql STATEMENT VALUE")
	}
	ctx := context.Background()
	c, err := pgx.Connect(ctx, ts.Getenv("DSN"))
	ts.Check(err)
	defer c.Close(ctx)
	var value string
	ts.Check(c.QueryRow(ctx, args[0]).Scan(&value))
	if value != args[1] {
		ts.Fatalf("%s: %s, want %s", args[0], value, args[1])
	}
}
