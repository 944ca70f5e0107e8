//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"pawl"
	"pawl/test/torture/stored"
)

// execution is what the ledger has of one execution of a step's script.
type execution struct {
	step, token, number, worker string
	begin, last, end            int64 // in nanoseconds; end is 0 if it did not come to its end
	from                        map[string]string
}

// readLedger returns the executions of each step, in the order in which they began.
func readLedger(path string) (map[string][]*execution, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	steps, byNumber := map[string][]*execution{}, map[string]*execution{}
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) < 6 {
			return nil, fmt.Errorf("the ledger has the line %q", line)
		}
		at, err := strconv.ParseInt(f[5], 10, 64)
		if err != nil {
			return nil, err
		}
		x := byNumber[f[3]]
		if x == nil {
			x = &execution{step: f[1], token: f[2], number: f[3], worker: f[4], from: map[string]string{}, begin: at}
			byNumber[x.number] = x
			steps[x.step] = append(steps[x.step], x)
		}
		x.last = at
		switch f[0] {
		case "begin":
			for _, need := range f[6:] {
				name, number, _ := strings.Cut(need, "=")
				x.from[name] = number
			}
		case "end":
			x.end = at
		}
	}
	return steps, nil
}

// finished is what the journal says of the end of a step.
type finished struct {
	token string
	time  int64
}

// readJournal returns how each step ended, from the database.
func readJournal(events []stored.Event) (map[string]finished, error) {
	steps := map[string]finished{}
	for _, e := range events {
		if e.Kind != string(pawl.StepDone{}.Event()) {
			continue
		}
		var line struct {
			Time time.Time
			Data struct{ Step, Token string }
		}
		if err := json.Unmarshal(e.Line[bytes.IndexByte(e.Line, '{'):bytes.LastIndexByte(e.Line, '}')+1], &line); err != nil {
			return nil, err
		}
		if before, twice := steps[line.Data.Step]; twice {
			return nil, fmt.Errorf("step %s has two results: of %s and of %s", line.Data.Step, before.token, line.Data.Token)
		}
		steps[line.Data.Step] = finished{line.Data.Token, line.Time.UnixNano()}
	}
	return steps, nil
}

// verdict is what the judge counts, besides violations.
type verdict struct {
	executions int
	unproven   int // came to their end, which nobody could report
	epochs     int64
}

// judge compares the ledger, the journal, the queue and the files. Its error has all violations.
func (o *operator) judge(steps []planned) (v verdict, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	events, err := stored.Events(ctx, o.dsn(), filepath.Base(project))
	if err != nil {
		return v, err
	}
	v.epochs = events[len(events)-1].Epoch
	ends, err := readJournal(events)
	if err != nil {
		return v, err
	}
	ledger, err := readLedger(filepath.Join(o.dir, "ledger", "lines"))
	if err != nil {
		return v, err
	}
	reported, err := stored.FinishedTasks(ctx, o.dsn())
	if err != nil {
		return v, err
	}
	wrong := []error{stored.Owners(events)}
	numbers := map[string]string{} // of the executions that count
	for _, s := range steps {
		number, err := o.judgeStep(&v, s, ends[s.name], ledger[s.name], reported)
		numbers[s.name] = number
		wrong = append(wrong, err)
	}
	return v, errors.Join(append(wrong, o.judgeFiles(steps, ends, numbers), judgeReads(ledger, ends, numbers))...)
}

// judgeStep returns the number of the execution whose result counts.
func (o *operator) judgeStep(v *verdict, s planned, end finished, executions []*execution, reported map[string]bool) (number string, err error) {
	var wrong []error
	violation := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(s.name+": "+format, args...)) }
	v.executions += len(executions)
	if end.token == "" {
		violation("lost: the journal does not have its end")
	}
	tokens := map[string]bool{}
	for i, x := range executions {
		if tokens[x.token] {
			violation("token %s ran twice", x.token)
		}
		tokens[x.token] = true
		if i > 0 && executions[i-1].last > x.begin {
			violation("%s and %s ran at the same time, on %s and %s", executions[i-1].token, x.token, executions[i-1].worker, x.worker)
		}
		switch {
		case x.token == end.token && x.end == 0:
			violation("the journal has the result of token %s, which did not come to its end", x.token)
		case x.token == end.token:
			number = x.number
		case x.begin > end.time:
			violation("redone: token %s began after the step was done by token %s", x.token, end.token)
		case reported[x.token] && x.end != 0:
			violation("token %s ended and was reported, and counts no more; token %s does", x.token, end.token)
		case x.end != 0:
			v.unproven++
		}
	}
	if number == "" {
		violation("no execution has token %s, whose result counts", end.token)
	}
	if o.mu.Lock(); s.unsafe && len(executions) > 1+o.approved[s.name] {
		violation("not idempotent, ran %d times, and the operator allowed to repeat it %d times", len(executions), o.approved[s.name])
	}
	o.mu.Unlock()
	return number, errors.Join(wrong...)
}

// judgeFiles checks the file of each step where the run ended.
func (o *operator) judgeFiles(steps []planned, ends map[string]finished, numbers map[string]string) error {
	var wrong []error
	bodies := expected(steps)
	home, _ := o.place()
	for _, s := range steps {
		data, err := os.ReadFile(o.engines[home].Path(project + "/out/" + s.name))
		want := fmt.Sprintf("%s %s %s\n%s", s.name, ends[s.name].token, numbers[s.name], bodies[s.name])
		if err != nil || string(data) != want {
			wrong = append(wrong, fmt.Errorf("%s: the file has another content: %w: %.100q, want %.100q", s.name, err, data, want))
		}
	}
	return errors.Join(wrong...)
}

// judgeReads checks that the executions that count read the results that count.
func judgeReads(ledger map[string][]*execution, ends map[string]finished, numbers map[string]string) error {
	var wrong []error
	for name, executions := range ledger {
		for _, x := range executions {
			for need, number := range x.from {
				if x.token == ends[name].token && number != numbers[need] {
					wrong = append(wrong, fmt.Errorf("%s read a file of %s that is not the result", name, need))
				}
			}
		}
	}
	return errors.Join(wrong...)
}
