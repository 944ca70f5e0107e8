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
	}, map[string]func(*testscript.TestScript, bool, []string){"sql": sql, "waitsql": waitSQL})
}

// sql executes a statement, and compares its only value, as text, with the second argument.
func sql(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 || neg {
		ts.Fatalf("usage: sql STATEMENT VALUE")
	}
	value, err := query(ts, args[0])
	ts.Check(err)
	if value != args[1] {
		ts.Fatalf("%s: %s, want %s", args[0], value, args[1])
	}
}

// waitSQL is sql, and waits for the value.
func waitSQL(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 || neg {
		ts.Fatalf("usage: waitsql STATEMENT VALUE")
	}
	var value string
	var err error
	if !storytest.Until(func() bool { value, err = query(ts, args[0]); return err == nil && value == args[1] }) {
		ts.Fatalf("%s: %s, want %s (%v)", args[0], value, args[1], err)
	}
}

func query(ts *testscript.TestScript, statement string) (value string, err error) {
	ctx := context.Background()
	c, err := pgx.Connect(ctx, ts.Getenv("DSN"))
	if err != nil {
		return "", err
	}
	defer c.Close(ctx)
	err = c.QueryRow(ctx, statement).Scan(&value)
	return value, err
}
