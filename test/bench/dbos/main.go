// Command dbos is the yardstick of row 6b: no-op steps of DBOS Transact on SQLite, which syncs each transaction. It is a module of its
// own, so that pawl does not depend on DBOS.
//
// For each line that it reads, it performs RUNS workflows of STEPS steps at once, and prints the nanoseconds that they took.
//
//	dbos DATABASE RUNS STEPS
package main

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	_ "github.com/dbos-inc/dbos-transact-golang/dbos/driver/sqlite"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "dbos:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 3 {
		return errors.New("usage: dbos DATABASE RUNS STEPS")
	}
	runs, errRuns := strconv.Atoi(args[1])
	steps, errSteps := strconv.Atoi(args[2])
	if err := errors.Join(errRuns, errSteps); err != nil {
		return err
	}
	// As the library opens a database itself, except for synchronous=FULL: a step that is done survives a power failure.
	const pragmas = "?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=foreign_keys(ON)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"
	db, err := sql.Open("sqlite", "file:"+args[0]+pragmas)
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(8)
	ctx, err := dbos.NewContext(context.Background(), dbos.Config{AppName: "bench", SQLiteSystemDB: db, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	workflow := func(ctx dbos.Context, steps int) (int, error) {
		for range steps {
			if _, err := dbos.RunAsStep(ctx, func(context.Context) (int, error) { return 0, nil }); err != nil {
				return 0, err
			}
		}
		return steps, nil
	}
	dbos.RegisterWorkflow(ctx, workflow)
	if err := dbos.Launch(ctx); err != nil {
		return err
	}
	defer dbos.Shutdown(ctx, time.Second)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		begin := time.Now()
		if err := perform(ctx, workflow, runs, steps); err != nil {
			return err
		}
		fmt.Println(int64(time.Since(begin)))
	}
	return nil
}

// perform runs the workflow that often at once.
func perform(ctx dbos.Context, workflow dbos.Workflow[int, int], runs, steps int) error {
	errs := make([]error, runs)
	var all sync.WaitGroup
	for i := range runs {
		all.Go(func() {
			handle, err := dbos.RunWorkflow(ctx, workflow, steps)
			if err == nil {
				_, err = handle.GetResult()
			}
			errs[i] = err
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
