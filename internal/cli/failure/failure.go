// Package failure describes the error of a command: its exit code, and its JSON form for programs.
//
// Each secret that pawl recognizes in a text is redacted. Positions are those of the user's file, from 1.
package failure

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"

	"pawl"
	"pawl/internal/cli/holder"
	"pawl/internal/cli/layout"
	"pawl/internal/planfile"
	"pawl/internal/redact"
)

// Document is what a command with --json prints to standard error, in one line, when its exit code is not 0.
type Document struct {
	Error Error `json:"error"`
}

// Error describes the error of a command.
type Error struct {
	Kind     pawl.Kind `json:"kind"`
	Message  string    `json:"message"`
	Hint     string    `json:"hint,omitempty"` // a command that helps
	ExitCode int       `json:"exit_code"`
	File     string    `json:"file,omitempty"`     // the file with the first problem
	Line     int       `json:"line,omitempty"`     // of the first problem
	Column   int       `json:"column,omitempty"`   // of the first problem
	Problems []Problem `json:"problems,omitempty"` // all problems of the file
	Holder   *Holder   `json:"holder,omitempty"`   // the process that holds the project
}

// Problem is an error in a file.
type Problem struct {
	File    string `json:"file,omitempty"` // if it is another file, which this one includes
	Line    int    `json:"line,omitempty"` // missing: it is about the whole file
	Column  int    `json:"column,omitempty"`
	Message string `json:"message"`
}

// Holder is the process that holds the project, and its run.
type Holder struct {
	PID      int           `json:"pid"`
	Host     string        `json:"host,omitempty"`
	Run      pawl.RunID    `json:"run,omitempty"`
	Since    time.Time     `json:"since"`
	Percent  int           `json:"progress_percent"`
	Running  []pawl.StepID `json:"running,omitempty"` // steps
	Stopped  bool          `json:"stopped,omitempty"` // the process is suspended
	Finished int           `json:"finished_steps"`
	Steps    int           `json:"steps"`
}

// exitCodes maps kinds of errors to exit codes.
var exitCodes = map[pawl.Kind]int{
	pawl.KindInternal: 1, pawl.KindUsage: 2, pawl.KindAtGate: 3, pawl.KindRunFailed: 4,
	pawl.KindDamaged: 5, pawl.KindHeld: 6, pawl.KindNothing: 7, pawl.KindInterrupted: 130,
}

// ExitCode returns the exit code of a command that ends with err.
func ExitCode(err error) int {
	if err == nil {
		return 0
	}
	return exitCodes[pawl.KindOf(err)]
}

// Of describes an error.
func Of(err error) Error {
	if received, ok := errors.AsType[received](err); ok {
		return Error(received)
	}
	clean := redact.OfProcess().Text
	e := Error{Kind: pawl.KindOf(err), Message: clean(err.Error()), Hint: clean(pawl.HintOf(err)), ExitCode: ExitCode(err)}
	if faults, ok := errors.AsType[*planfile.Errors](err); ok && len(faults.Faults) > 0 {
		first := faults.Faults[0]
		e.File, e.Line, e.Column = clean(cmp.Or(first.File, faults.Name)), first.Line, first.Column
		e.Problems = Problems(err)
	}
	if held, ok := errors.AsType[*holder.Held](err); ok {
		e.Holder = &Holder{
			PID: held.PID, Host: held.Host, Run: held.Run, Since: held.Since, Percent: held.Percent, Running: held.Running,
			Stopped: held.Stopped, Finished: held.Finished, Steps: held.Steps,
		}
	}
	return e
}

// Report prints an error and its hint, or its Document if it is InJSON, and returns the exit code. Waiting for a person, an
// interrupt and having nothing to do are printed without "error:".
func Report(w io.Writer, err error) int {
	if err == nil {
		return 0
	}
	if _, ok := errors.AsType[inJSON](err); ok {
		_, _ = w.Write(JSON(err)) // the exit code says the same
		return ExitCode(err)
	}
	text := strings.ReplaceAll(strings.TrimRight(err.Error(), "\n"), "\n", "\n       ")
	label, colour := "error: ", layout.Red
	kind := pawl.KindOf(err)
	if _, done := errors.AsType[nothingToDo](err); done || kind == pawl.KindAtGate || kind == pawl.KindInterrupted {
		label, colour = "", layout.Plain
	}
	_ = layout.PrintLine(w, layout.Span{Text: "pawl: " + label, Colour: colour}, layout.Span{Text: text}) // the exit code says the same
	if hint := pawl.HintOf(err); hint != "" {
		_ = layout.PrintLine(w, layout.Span{Text: "pawl: hint: ", Colour: layout.Cyan}, layout.Span{Text: hint})
	}
	return ExitCode(err)
}

// NothingToDo returns an error for an outcome that has an exit code of its own, but is not an error for people.
func NothingToDo(err error) error { return nothingToDo{err} }

type nothingToDo struct{ error }

func (n nothingToDo) Unwrap() error { return n.error }

// InJSON returns an error that Report prints as JSON.
func InJSON(err error) error { return inJSON{err} }

type inJSON struct{ error }

func (j inJSON) Unwrap() error { return j.error }

// Problems returns the problems in a file that an error lists; not nil.
func Problems(err error) []Problem {
	problems := []Problem{}
	if faults, ok := errors.AsType[*planfile.Errors](err); ok {
		for _, f := range faults.Faults {
			problems = append(problems, Problem{File: f.File, Line: f.Line, Column: f.Column, Message: redact.OfProcess().Text(f.Text)})
		}
	}
	return problems
}

// JSON returns the Document of an error in one line.
func JSON(err error) []byte {
	data, encodeErr := json.Marshal(Document{Error: Of(err)})
	if encodeErr != nil { // strings and numbers only
		panic(encodeErr)
	}
	return append(data, '\n')
}

// received is an error that another process of pawl has described.
type received Error

func (r received) Error() string { return r.Message }

// Err returns the error that e describes.
func (e Error) Err() error {
	return &pawl.Error{Kind: e.Kind, Err: received(e), Hint: e.Hint}
}
