package main

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

// journal returns the copy of the project's only run; nil if there is none.
func (s *story) journal() []byte {
	found, err := filepath.Glob(s.project(pawlFolder, "runs", "*", "journal.jsonl"))
	if err != nil || len(found) == 0 {
		return nil
	}
	data, err := os.ReadFile(found[0])
	if err != nil {
		return nil
	}
	return data
}

// ended reports whether a journal has the end of its run.
func ended(journal []byte) bool {
	return bytes.Contains(journal, []byte(`"type":"`+string(pawl.RunEnded{}.Event())+`"`))
}

// storedEvent is a row of the table of events.
type storedEvent struct {
	seq, epoch int64
	kind       string
	line       []byte
}

// audit compares what the database has of a project's run with the copy, with what its steps did, and with what people were told.
func (w *site) audit(i int) error {
	p := w.in(i)
	events, err := w.events(p.folder)
	if err != nil {
		return err
	}
	if said, code := w.call(p, "verify"); code != 0 {
		return w.wrong("%s: verify: exit code %d: %s", p.folder, code, said)
	}
	ledger, err := os.ReadFile(w.outside(p.folder))
	if want := "one 1\ntwo 1\nthree 1\nfour 1\nfive 1\n"; err != nil || string(ledger) != want {
		return w.wrong("%s: finished work was redone, or lost: %v\n%s", p.folder, err, ledger)
	}
	if err := owners(events); err != nil {
		return w.wrong("%s: %v", p.folder, err)
	}
	var lines []byte
	told := 0
	for _, e := range events {
		lines = append(lines, e.line...)
		told += strings.Count(string(e.line), note(i)+`"`)
	}
	if !bytes.Equal(lines, p.journal()) {
		return w.wrong("%s: the copy has not the lines of the database", p.folder)
	}
	if _, err := os.Stat(w.outside("acknowledged-" + p.folder)); err == nil && told != 1 {
		return w.wrong("%s: an acknowledged note is there %d times", p.folder, told)
	}
	return nil
}

// events returns the events of a project's run in the database.
func (w *site) events(folder string) ([]storedEvent, error) {
	ctx := context.Background()
	c, err := pgx.Connect(ctx, w.dsn)
	if err != nil {
		return nil, err
	}
	defer c.Close(ctx)
	rows, err := c.Query(ctx, `select e.seq, e.epoch, e.type, e.line from pawl.event e join pawl.run r on r.id = e.run_id where r.path like '%/' || $1 order by e.seq`, folder)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (e storedEvent, err error) {
		err = row.Scan(&e.seq, &e.epoch, &e.kind, &e.line)
		return e, err
	})
}

// owners checks that at each time one engine owned the run: each event of an engine has the epoch of the engine that began last, each
// engine has an epoch of its own, and no attempt was begun twice. It also checks that no event is missing.
func owners(events []storedEvent) error {
	if len(events) == 0 {
		return errors.New("the database has no events")
	}
	var epochs []int64
	begun := map[string]bool{}
	for i, e := range events {
		if e.seq != int64(i+1) {
			return fmt.Errorf("event %d is missing", i+1)
		}
		var line struct {
			Data struct {
				Step    string
				Attempt int
			}
		}
		switch e.kind {
		case string(pawl.EngineStarted{}.Event()):
			if slices.Contains(epochs, e.epoch) {
				return fmt.Errorf("two engines have epoch %d", e.epoch)
			}
			epochs = append(epochs, e.epoch)
		case string(pawl.AttemptStarted{}.Event()):
			if err := json.Unmarshal(e.line[bytes.IndexByte(e.line, '{'):bytes.LastIndexByte(e.line, '}')+1], &line); err != nil {
				return err
			}
			attempt := fmt.Sprint(line.Data.Step, " ", line.Data.Attempt)
			if begun[attempt] || line.Data.Attempt == 0 {
				return fmt.Errorf("attempt %s was begun twice", attempt)
			}
			begun[attempt] = true
		}
		if e.epoch != 0 && (len(epochs) == 0 || e.epoch < epochs[len(epochs)-1]) {
			return fmt.Errorf("event %d is of the engine with epoch %d, after another one began", e.seq, e.epoch)
		}
	}
	return nil
}
