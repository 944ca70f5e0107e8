package brief

import (
	"slices"
	"strconv"
	"strings"

	"pawl"
)

// operation describes a tool call without a recorded outcome, and the evidence that was found.
func (w *writer) operation(o Operation) string {
	text := "in doubt: "
	if o.Verdict == pawl.OperationRefused {
		text = "refused: "
	}
	text += w.call(o.Tool, o.Summary, o.Dir) + ", started by " + w.code(string(o.Session)) + " " + w.ago(o.Began) + ", no outcome recorded"
	if o.Verdict != pawl.OperationRefused {
		text += "; verdict: " + o.verdict()
	}
	for _, evidence := range o.Evidence {
		text += "; " + w.plain(evidence)
	}
	return text + "; " + w.operationTodo(o)
}

// call names a tool call and the folder that it works in.
func (w *writer) call(tool, summary, dir string) string {
	text := w.code(tool)
	if summary != "" {
		text += " " + w.code(summary)
	}
	if dir != "" {
		text += " in folder " + w.code(dir)
	}
	return text
}

// verdict explains the verdict on a tool call.
func (o Operation) verdict() string {
	if o.Runs && o.Traces != o.Verdict && o.Verdict == pawl.OperationPartly {
		return "partly done (it is still running; none of its effects was found yet)"
	}
	return operationVerdicts[o.Verdict]
}

// operationVerdicts explain the verdicts.
var operationVerdicts = map[pawl.OperationVerdict]string{
	pawl.OperationDone:    "done (all the effects it should have here exist)",
	pawl.OperationNotDone: "not done (none of its effects exists)",
	pawl.OperationPartly:  "partly done (some of its effects exist; nothing proves that all do)",
	pawl.OperationUnknown: "unknown (nothing on this machine can tell)",
}

// operationTodo says what to do about a tool call in doubt.
func (w *writer) operationTodo(o Operation) string {
	todo := "verify before repeating it"
	switch {
	case o.Passed:
		todo = "its session continued without an outcome, so the user may have refused or interrupted it: verify, and ask before repeating it"
	case !o.Asked.IsZero():
		todo = "verify, and ask the user before repeating it"
	}
	switch {
	case o.Verdict == pawl.OperationRefused:
		return "do not repeat it unless the user asks for it"
	case o.Verdict == pawl.OperationDone:
		return "verify instead of repeating it"
	case o.Verdict == pawl.OperationNotDone:
		return todo
	}
	settle := "pawl settle " + strconv.FormatInt(int64(o.Seq), 10)
	if o.Run != "" {
		settle += " --run " + string(o.Run)
	}
	return todo + "; when that is settled: " + w.code(settle)
}

// maxRunningFirst is how many lines about running processes come before the calls in doubt: enough for what a project usually runs, and
// few enough to leave room.
const maxRunningFirst = 3

// maxRunningNamed is how many processes of one call are named.
const maxRunningNamed = 3

// leftRunning describes the processes that finished tool calls left running, the newest call first, one line a call.
func (w *writer) leftRunning() []string {
	var lines []string
	rest := slices.Clone(w.Running)
	slices.Reverse(rest)
	for len(rest) > 0 {
		call := rest[0].call()
		of := slices.DeleteFunc(slices.Clone(rest), func(r Running) bool { return r.call() != call })
		rest = slices.DeleteFunc(rest, func(r Running) bool { return r.call() == call })
		slices.Reverse(of)
		lines = append(lines, w.running(of))
	}
	return lines
}

// call returns what the processes of one call have in common.
func (r Running) call() pawl.LeftProcess {
	l := r.LeftProcess
	l.Process = pawl.Process{}
	return l
}

// running describes the processes that one finished tool call left running.
func (w *writer) running(of []Running) string {
	var names []string
	for _, r := range of[:min(maxRunningNamed, len(of))] {
		names = append(names, "process "+strconv.Itoa(r.PID)+" for "+formatDuration(w.Now.Sub(r.Since)))
	}
	if more := len(of) - len(names); more > 0 {
		names = append(names, strconv.Itoa(more)+" more")
	}
	r := of[0]
	text := "still running: " + strings.Join(names, " and ") + ", left by " + w.call(r.Tool, r.Summary, r.Dir) + " of " + w.code(string(r.Session))
	return text + "; use it or end it, do not start a second one: " + w.code("pawl processes --end")
}

// open reports whether a session left something to do: its agent is gone or stopped, and the turn of its last prompt did not end well.
func (x *Session) open() bool {
	stopped := x.Gone || x.Doing == pawl.SessionIsEnded || x.Doing == pawl.SessionFailed || x.interrupted()
	return !x.Reader && x.Open && x.Heir == "" && stopped
}

// interrupted reports whether a person ended the session's turn.
func (x *Session) interrupted() bool { return x.Doing == pawl.SessionIdle && x.Why != "" }

// alive reports whether another session's agent is running.
func (x *Session) alive() bool { return !x.Reader && !x.Gone && x.Doing != pawl.SessionIsEnded }

// maxInherited is how many sessions are listed whose unfinished turn was in the brief of another session.
const maxInherited = 2

// sessions lists the agent sessions that left something open or are alive, and the last one that did neither. The others are counted.
func (w *writer) sessions() section {
	s := section{title: "Who worked on this", all: w.command("pawl status", "")}
	var last *Session
	inherited, hidden := 0, 0
	rest := w.DroppedSessions
	for i := range w.Sessions {
		switch x := &w.Sessions[i]; {
		case x.Reader && x.Did == 0:
		case x.Reader || x.open() || x.alive() || x.Heir != "" && inherited < maxInherited:
			if x.Heir != "" {
				inherited++
			}
			s.add(w.session(x))
			w.addFailures(&s, x)
		case last == nil && (x.Did > 0 || x.Asked != ""):
			last = x
		default:
			if rest++; x.Heir != "" {
				hidden++
			}
		}
	}
	if last != nil {
		s.add(w.session(last))
		w.addFailures(&s, last)
	}
	if rest > 0 {
		text := "not listed: " + count(rest, "earlier session", "earlier sessions")
		if hidden > 0 {
			text += ", " + strconv.Itoa(hidden) + " of them with a turn that may be unfinished; later sessions got it in a brief"
		}
		s.add(text)
	}
	return s
}

// heir says what a later session that got a session's open turn in its brief has done since.
func (w *writer) heir(x *Session) string {
	inDoubt := func(d Operation) bool { return d.Session == x.Session }
	if x.Resolved && !slices.ContainsFunc(w.Operations, inDoubt) {
		return w.code(string(x.Heir)) + " worked on what was in doubt and ended its turn; its prompt"
	}
	return w.code(string(x.Heir)) + " got its unfinished turn in a brief and has ended a turn since; its prompt, perhaps unfinished"
}

func (w *writer) session(x *Session) string {
	text := "session: " + w.code(string(x.Session))
	switch {
	case x.Reader:
		text += " (yours, earlier)"
	case x.alive():
		text += " is alive and " + w.doing(x)
		if x.Worktree == w.Worktree {
			text += "; it may edit the same files: avoid conflicts"
		}
	case x.Doing == pawl.SessionIsEnded:
		text += " ended " + w.ago(x.Seen) + w.because(x.Why)
	case !x.Open && x.Asked != "":
		text += " ended after its last turn; last activity " + w.ago(x.Seen)
	default:
		text += " ended unexpectedly; last activity " + w.ago(x.Seen)
	}
	if x.Heir != "" {
		text += "; " + w.heir(x) + ": " + w.quote(clip(x.Asked, maxBrief))
	}
	text += w.place(x)
	if x.Did > 0 {
		text += "; " + count(x.Did, "finished tool call", "finished tool calls")
	}
	text += w.brief(x)
	if x.alive() && x.Open {
		text += "; it works on: " + w.quote(x.Asked)
	}
	return text
}

// place says in which worktree a session works, if that is not the reader's.
func (w *writer) place(x *Session) string {
	switch {
	case x.Worktree == w.Worktree:
		return ""
	case x.Worktree == "":
		return "; in the project's folder " + w.code(w.Root) + ", not in your worktree: its files are separate from yours"
	case x.NoWorktree:
		return "; in worktree " + w.code(x.Worktree) + ", which no longer exists"
	}
	return "; in worktree " + w.code(x.Worktree) + " on " + w.code(x.Branch) + ": its files are separate from yours"
}

// maxBrief is the maximum size in bytes of each text about a session that left nothing to do.
const maxBrief = 160

// brief describes the last changes and the last message of a session; of one that left nothing to do, it also names the last prompt.
func (w *writer) brief(x *Session) string {
	most := w.maxText
	if !x.open() {
		most = maxBrief
	}
	text := ""
	if n := len(x.Recent); n > 0 {
		var recent []string
		for _, c := range x.Recent {
			recent = append(recent, w.call(c.Tool, clip(c.Text, most), c.Dir))
		}
		text += "; most recent changes: " + strings.Join(recent, ", ")
	}
	if !x.open() && !x.Open && x.Asked != "" {
		text += "; its last prompt, whose turn ended: " + w.quote(clip(x.Asked, most))
	}
	if x.Said != "" {
		text += "; last message: " + w.quote(clip(x.Said, most))
	}
	return text
}

// addFailures adds the tool calls that failed and have not succeeded since.
func (w *writer) addFailures(s *section, x *Session) {
	for _, c := range x.Failed {
		if c.Refused {
			s.add("refused: " + w.call(c.Tool, clip(c.Text, 2*maxBrief), c.Dir) + ", to " + w.code(string(x.Session)) + w.because(clip(c.Error, maxBrief)) + "; do not repeat it unless the user asks for it")
			continue
		}
		s.add("tried and failed: " + w.call(c.Tool, clip(c.Text, 2*maxBrief), c.Dir) + ", by " + w.code(string(x.Session)) + w.because(clip(c.Error, maxBrief)))
	}
}

func (w *writer) doing(x *Session) string {
	if x.Doing == pawl.SessionAsks {
		return "working; it asked for permission " + w.ago(x.Seen) + ", and nothing is recorded since"
	}
	doing := map[pawl.SessionDoing]string{pawl.SessionWorks: "working", pawl.SessionIdle: "idle", pawl.SessionFailed: "stopped by a model error"}[x.Doing]
	return doing + "; last activity " + w.ago(x.Seen)
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
