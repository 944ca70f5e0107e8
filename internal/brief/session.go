package brief

import "pawl"

// operation describes a tool call without a recorded outcome, and the evidence that was found.
func (w *writer) operation(o Operation) string {
	text := "in doubt: " + w.code(o.Tool)
	if o.Summary != "" {
		text += " " + w.code(o.Summary)
	}
	text += ", started by " + w.code(string(o.Session)) + " " + w.ago(o.Began) + ", no outcome recorded"
	text += "; verdict: " + operationVerdicts[o.Verdict]
	for _, evidence := range o.Evidence {
		text += "; " + w.plain(evidence)
	}
	return text + "; verify before repeating it; no denial was recorded"
}

// operationVerdicts explain the verdicts.
var operationVerdicts = map[pawl.OperationVerdict]string{
	pawl.OperationDone:    "done (all the effects it should have here exist)",
	pawl.OperationNotDone: "not done (none of its effects exists)",
	pawl.OperationPartly:  "partly done (some of its effects exist; nothing proves that all do)",
	pawl.OperationUnknown: "unknown (nothing on this machine can tell)",
}

// sessions lists the agent sessions that worked on the run.
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
		text += " (yours, earlier)"
	case x.Doing == pawl.SessionIsEnded:
		text += " ended normally " + w.ago(x.Seen) + w.because(x.Why)
	case x.Gone:
		text += " ended unexpectedly; last activity " + w.ago(x.Seen)
	default:
		text += " is alive and " + sessionDoings[x.Doing] + "; last activity " + w.ago(x.Seen) + "; it may edit the same files: avoid conflicts"
	}
	if x.Did > 0 {
		text += "; " + count(x.Did, "finished tool call", "finished tool calls")
	}
	if len(x.Recent) > 0 {
		text += ", most recent that may have changed something: " + w.codes(x.Recent, len(x.Recent))
	}
	if x.First != x.Asked {
		text += "; first prompt: " + w.quote(x.First)
	}
	if x.Asked != "" {
		text += "; last prompt: " + w.quote(x.Asked)
	}
	if x.Said != "" {
		text += "; last message: " + w.quote(x.Said)
	}
	return text
}

var sessionDoings = map[pawl.SessionDoing]string{
	pawl.SessionWorks: "working", pawl.SessionIdle: "idle", pawl.SessionAsks: "waiting for permission", pawl.SessionFailed: "stopped by a model error",
}

// news lists the events since the reader's last brief.
func (w *writer) news() section {
	s := section{title: "What is new since your last brief", all: w.command("pawl log", "")}
	if w.News.More > 0 {
		s.add("not shown: " + count(w.News.More, "older event", "older events"))
	}
	for _, line := range w.News.Lines {
		s.add(w.plain(line))
	}
	return s
}
