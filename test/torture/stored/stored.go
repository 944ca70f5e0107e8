// Package stored checks the events of runs in a Postgres database from outside, without the code of pawl that wrote them.
package stored

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"pawl"
)

// Event is a row of the table of events.
type Event struct {
	Seq, Epoch int64
	Kind       string
	Line       []byte
}

// Events returns the events of the run of the project in a folder with this name.
func Events(ctx context.Context, dsn, folder string) ([]Event, error) {
	c, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return nil, err
	}
	defer c.Close(ctx)
	rows, err := c.Query(ctx, `select e.seq, e.epoch, e.type, e.line from pawl.event e join pawl.run r on r.id = e.run_id where r.path like '%/' || $1 order by e.seq`, folder)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (e Event, err error) {
		err = row.Scan(&e.Seq, &e.Epoch, &e.Kind, &e.Line)
		return e, err
	})
}

// Copies returns the journals of a project's runs in files. A folder whose creation was interrupted before its plan is not a run.
func Copies(project string) ([][]byte, error) {
	paths, err := filepath.Glob(filepath.Join(project, "runs", "*", "journal.jsonl"))
	var copies [][]byte
	for _, path := range paths {
		data, readErr := os.ReadFile(path)
		if has(data, pawl.RunPlanned{}.Event()) {
			copies = append(copies, data)
		}
		err = errors.Join(err, readErr)
	}
	return copies, err
}

// Ended reports whether a journal has the end of its run.
func Ended(journal []byte) bool { return has(journal, pawl.RunEnded{}.Event()) }

// has reports whether a journal has a whole line of an event of a type.
func has(journal []byte, kind pawl.EventType) bool {
	for line := range bytes.Lines(journal) {
		if bytes.HasSuffix(line, []byte("\n")) && bytes.Contains(line, []byte(`"type":"`+string(kind)+`"`)) {
			return true
		}
	}
	return false
}

// Owners checks that at each time one engine owned the run: each event of an engine has the epoch of the engine that began last, each
// engine has an epoch of its own, and no attempt was begun twice. It also checks that no event is missing.
func Owners(events []Event) error {
	if len(events) == 0 {
		return errors.New("the database has no events")
	}
	var epochs []int64
	begun := map[string]bool{}
	for i, e := range events {
		if e.Seq != int64(i+1) {
			return fmt.Errorf("event %d is missing", i+1)
		}
		var line struct {
			Data struct {
				Step    string
				Attempt int
			}
		}
		switch e.Kind {
		case string(pawl.EngineStarted{}.Event()):
			if slices.Contains(epochs, e.Epoch) {
				return fmt.Errorf("two engines have epoch %d", e.Epoch)
			}
			epochs = append(epochs, e.Epoch)
		case string(pawl.AttemptStarted{}.Event()):
			if err := json.Unmarshal(e.Line[bytes.IndexByte(e.Line, '{'):bytes.LastIndexByte(e.Line, '}')+1], &line); err != nil {
				return err
			}
			attempt := fmt.Sprint(line.Data.Step, " ", line.Data.Attempt)
			if begun[attempt] || line.Data.Attempt == 0 {
				return fmt.Errorf("attempt %s was begun twice", attempt)
			}
			begun[attempt] = true
		}
		if e.Epoch != 0 && (len(epochs) == 0 || e.Epoch < epochs[len(epochs)-1]) {
			return fmt.Errorf("event %d is of the engine with epoch %d, after another one began", e.Seq, e.Epoch)
		}
	}
	return nil
}

// EachOnce reports whether each step of servers.yaml did its work once, and in order. An attempt that never started leaves no line.
func EachOnce(ledger string) bool {
	var steps []string
	for line := range strings.Lines(ledger) {
		step, _, _ := strings.Cut(line, " ")
		steps = append(steps, step)
	}
	return slices.Equal(steps, []string{"one", "two", "three", "four", "five"})
}

// FinishedTasks returns the tokens of the attempts whose workers reported how they ended.
func FinishedTasks(ctx context.Context, dsn string) (map[string]bool, error) {
	c, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return nil, err
	}
	defer c.Close(ctx)
	rows, err := c.Query(ctx, `select task::json->>'token' from pawl.task where report::json->>'outcome' = 'finished'`)
	if err != nil {
		return nil, err
	}
	tokens, err := pgx.CollectRows(rows, pgx.RowTo[string])
	found := map[string]bool{}
	for _, token := range tokens {
		found[token] = true
	}
	return found, err
}
