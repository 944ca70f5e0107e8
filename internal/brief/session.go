package brief

import (
	"strconv"

	"pawl"
)

// operation says what is in doubt of a tool call, and what was found.
func (w *writer) operation(o Operation) string {
	text := "in doubt: " + w.code(o.Tool)
	if o.Summary != "" {
		text += " " + w.code(o.Summary)
	}
	text += ", begun by " + w.code(string(o.Session)) + " " + w.ago(o.Began) + ", and nobody has told how it ended"
	text += "; verdict: " + operationVerdicts[o.Verdict]
	for _, evidence := range o.Evidence {
		text += "; " + w.plain(evidence)
	}
	return text + "; look before you do it again; nobody refused it"
}

// operationVerdicts say in words what a verdict means.
var operationVerdicts = map[pawl.OperationVerdict]string{
	pawl.OperationDone:    "done (all that it was to do here is there)",
	pawl.OperationNotDone: "not done (nothing of it is there)",
	pawl.OperationPartly:  "partly (something of it is there, and nothing proves that all of it is)",
	pawl.OperationUnknown: "unknown (nothing on this machine could tell)",
}

// sessions says who worked on the run.
func (w *writer) sessions() section {
	s := section{title: "Who worked on this", all: w.command("pawl status", "")}
	for _, x := range w.Sessions {
		if !x.Reader || x.Did > 0 || x.Asked != "" {
			s.add(w.session(x))
		}
	}
	return s
}

func (w *writer) session(x Session) string {
	text := "session: " + w.code(string(x.Session))
	switch {
	case x.Reader:
		text += " (you, before)"
	case x.Doing == pawl.SessionIsEnded:
		text += " ended in good order " + w.ago(x.Seen) + w.because(x.Why)
	case x.Gone:
		text += " is gone without a word; last heard of " + w.ago(x.Seen)
	default:
		text += " lives and is " + sessionDoings[x.Doing] + ", last heard of " + w.ago(x.Seen) + ": mind that it works on the same files"
	}
	if x.Did > 0 {
		text += "; " + count(x.Did, "tool call has", "tool calls have") + " an outcome"
	}
	if len(x.Recent) > 0 {
		text += ", the last of those that may have changed something: " + w.codes(x.Recent, len(x.Recent))
	}
	if x.First != x.Asked {
		text += "; it was first asked " + w.said(x.First)
	}
	if x.Asked != "" {
		text += "; it was last asked " + w.said(x.Asked)
	}
	if x.Said != "" {
		text += "; its last words: " + w.said(x.Said)
	}
	return text
}

var sessionDoings = map[pawl.SessionDoing]string{
	pawl.SessionWorks: "at work", pawl.SessionIdle: "idle", pawl.SessionAsks: "waiting for a permission", pawl.SessionFailed: "stopped by a failure of its model",
}

// news says what happened since the reader was told last.
func (w *writer) news() section {
	s := section{title: "What is new since you were told last", all: w.command("pawl log", "")}
	if w.News.More > 0 {
		s.add(strconv.Itoa(w.News.More) + " older events are not told here")
	}
	for _, line := range w.News.Lines {
		s.add(w.plain(line))
	}
	return s
}
