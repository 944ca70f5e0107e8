package main

import (
	"bytes"
	"context"
	"os"
	"strings"

	"pawl/test/torture/stored"
)

// journal returns the copy of the project's only run; nil if there is none.
func (s *story) journal() []byte {
	copies, err := stored.Copies(s.project(pawlFolder))
	if err != nil || len(copies) == 0 {
		return nil
	}
	return copies[0]
}

// audit compares what the database has of a project's run with the copy, with what its steps did, and with what people were told.
func (w *site) audit(i int) error {
	p := w.in(i)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	events, err := stored.Events(ctx, w.dsn, p.folder)
	if err != nil {
		return err
	}
	if copies, err := stored.Copies(p.project(pawlFolder)); err != nil || len(copies) != 1 {
		return w.wrong("%s: %d runs, %v; want 1", p.folder, len(copies), err)
	}
	if said, code := w.call(p, "verify"); code != 0 {
		return w.wrong("%s: verify: exit code %d: %s", p.folder, code, said)
	}
	ledger, err := os.ReadFile(w.outside(p.folder))
	if err != nil || !stored.EachOnce(string(ledger)) {
		return w.wrong("%s: finished work was redone, or lost: %v\n%s", p.folder, err, ledger)
	}
	if err := stored.Owners(events); err != nil {
		return w.wrong("%s: %v", p.folder, err)
	}
	var lines []byte
	told := 0
	for _, e := range events {
		lines = append(lines, e.Line...)
		told += strings.Count(string(e.Line), note(i)+`"`)
	}
	if !bytes.Equal(lines, p.journal()) {
		return w.wrong("%s: the copy has not the lines of the database", p.folder)
	}
	if _, err := os.Stat(w.outside("acknowledged-" + p.folder)); err == nil && told != 1 {
		return w.wrong("%s: an acknowledged note is there %d times", p.folder, told)
	}
	return nil
}
