package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"

	"pawl"
	"pawl/test/torture/stored"
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

// audit compares what the database has of a project's run with the copy, with what its steps did, and with what people were told.
func (w *site) audit(i int) error {
	p := w.in(i)
	events, err := stored.Events(context.Background(), w.dsn, p.folder)
	if err != nil {
		return err
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
