package main

// This file has all phrases that the reader knows, and none of a specific tool. To dispute a score, change a line here or a case in
// reader_test.go.

// A class is the state that a statement gives an operation.
type class string

// The classes. If a clause contains phrases of several classes, the first in classOrder decides.
const (
	saysNext    class = "next"    // it is to be done
	saysDoubt   class = "doubt"   // it is unknown whether it took effect
	saysRefused class = "refused" // a person or a policy refused it
	saysFailed  class = "failed"
	saysRunning class = "running"
	saysQuote   class = "quote" // a quotation: it does not say the state
	saysDone    class = "done"
)

var classOrder = []class{saysNext, saysDoubt, saysRefused, saysFailed, saysRunning, saysQuote, saysDone}

// phrases make a statement one of a class. They are searched without regard to case, as whole words, and never within
// `code` or "quotes", which are quotations.
var phrases = map[class][]string{
	saysNext: {
		"next:", "next step", "what to do next", "to do", "todo", "[ ]", "continue with", "continue the", "go on with", "carry on with",
		"pick up", "remaining", "still to", "left to do", "pending", "in_progress", "in progress", "not finished", "unfinished",
		"open task", "open work", "open request", "not answered", "not started", "retry", "run again", "do again", "redo", "resume with",
	},
	saysDoubt: {
		"in doubt", "unknown outcome", "outcome unknown", "outcome is unknown", "outcome is not known", "outcome not known",
		"no outcome", "no result", "before a result was recorded", "interrupted", "aborted", "unverified", "uncertain",
		"may have run", "may have taken effect", "may have happened", "may or may not", "might have", "check whether it took effect",
		"verify before", "partly", "partially", "half done", "cut off", "killed while", "in flight", "never returned",
	},
	saysRefused: {
		"refused", "rejected", "denied", "declined", "not permitted", "not allowed", "permission was asked and not", "does not want",
		"doesn't want",
	},
	saysFailed:  {"failed", "failure", "exit code", "exit status", "exited with", "error", "went wrong"},
	saysRunning: {"still running", "is running", "are running", "runs in the background", "left running", "alive", "background process", "running in background"},
	saysQuote:   {"prompt", "asked", "message", "user:", "said"},
	saysDone:    {"finished", "completed", "complete", "done", "succeeded", "successfully", "[x]", "already", "ended well"},
}

// verdictWords are the phrases for verdicts. They are searched in the statement that calls the operation in doubt: after the
// word "verdict" if it contains that, otherwise from its start. The first one found is the tool's verdict.
var verdictWords = map[verdict][]string{
	verdictNotDone: {"not done", "did not take effect", "has not taken effect", "did not run", "never ran", "was not run", "not executed", "never started", "no effect"},
	verdictPartly:  {"partly", "partially", "half done", "half of it", "part of it", "incomplete"},
	verdictUnknown: {"unknown", "uncertain", "cannot tell", "not known", "cannot be determined"},
	verdictDone:    {"done", "took effect", "has taken effect", "completed", "succeeded"},
}
