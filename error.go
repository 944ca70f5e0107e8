package pawl

import "errors"

// Kind is the category of an error. Each skin maps it once: the command line to exit codes,
// HTTP to status codes, MCP to error codes.
type Kind string

// The kinds, with the command line's exit code for each.
const (
	KindInternal    Kind = "internal"    // 1: an internal or I/O error
	KindUsage       Kind = "usage"       // 2: wrong usage or a bad input file
	KindAtGate      Kind = "at-gate"     // 3: stopped for a person
	KindRunFailed   Kind = "run-failed"  // 4: the run failed
	KindDamaged     Kind = "damaged"     // 5: state damaged, or unsafe to continue
	KindHeld        Kind = "held"        // 6: held by a live process
	KindNothing     Kind = "nothing"     // 7: nothing to resume
	KindInterrupted Kind = "interrupted" // 130: interrupted by the user
)

var (
	// ErrFenced means that a newer engine has taken the run over; nothing was written.
	ErrFenced = &Error{Kind: KindHeld, Err: errors.New("a newer engine has taken this run over")}
	// ErrNewer means that a newer pawl wrote here; this one reads on but must not write.
	ErrNewer = &Error{Kind: KindDamaged, Err: errors.New("written by a newer pawl"), Hint: "install that version of pawl"}
	// ErrNoProject means that no .pawl folder was found from here upwards.
	ErrNoProject = &Error{Kind: KindNothing, Err: errors.New("not a pawl project (no .pawl in this or any parent folder)"), Hint: "pawl init"}
	// ErrNoRun means that no run matches.
	ErrNoRun = &Error{Kind: KindNothing, Err: errors.New("unknown run"), Hint: "pawl runs"}
)

// Error is an error with a kind and, where the user can act, a hint: a command that works.
type Error struct {
	Kind Kind
	Err  error
	Hint string
}

// Error returns the wrapped error's text; the hint is for the skin to show.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the wrapped error.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of the first *Error in err's chain, KindInternal where there is none.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return KindInternal
}

// HintOf returns the hint of the first *Error in err's chain that has one.
func HintOf(err error) string {
	for err != nil {
		e, ok := errors.AsType[*Error](err)
		if !ok {
			return ""
		}
		if e.Hint != "" {
			return e.Hint
		}
		err = e.Err
	}
	return ""
}
