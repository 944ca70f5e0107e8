package headless

import (
	"cmp"
	"slices"
	"strings"

	"pawl"
)

// Update is something that an agent reports while it works. Empty fields are not reported.
type Update struct {
	Session string         // session id
	Text    string         // message to the user, whole lines
	Part    string         // message to the user, continuing the last part
	Tool    string         // a tool that it starts, with its input, on one line
	Tasks   *pawl.Progress // progress of its task list
	Stop    bool           // the agent must be stopped: it cannot succeed, or exceeds its cost limit
}

// Stream reads the output of an agent during one turn. It is not safe for concurrent use.
type Stream struct {
	agent Agent
	turn  Turn
	queue []Update

	session string
	usage   pawl.Usage // of this turn
	total   pawl.Usage // of the whole session, if the agent counts that
	counted string     // the message whose usage was counted last; some come in parts
	tools   []tool     // tools in use
	text    string     // its last message
	ended   bool       // its last message reported success
	denied  []string   // denied permissions
	trouble trouble
	resumed bool     // it has continued by itself after an error, with a compacted context
	limits  int      // consecutive usage limits
	lines   []string // the last lines of its error output
}

// tool is a tool in use.
type tool struct{ id, what string }

// Read returns a stream for a turn of the agent.
func (a Agent) Read(t Turn) *Stream { return &Stream{agent: a, turn: t, session: t.Session} }

// Out reads a line of the agent's standard output and returns its updates.
func (s *Stream) Out(line []byte) []Update {
	m, ok := parse(line)
	if !ok {
		return s.plain(string(line))
	}
	s.agent.out(s, m)
	if s.turn.USD > 0 && s.usage.USD >= s.turn.USD && !s.ended && s.trouble.how != Overspent {
		s.stop(trouble{how: Overspent})
	}
	return s.flush()
}

// Err reads a line of the agent's error output and returns its updates.
func (s *Stream) Err(line []byte) []Update {
	text := strings.TrimSpace(withoutColours(string(line)))
	if text == "" {
		return nil
	}
	if s.lines = append(s.lines, text); len(s.lines) > maxLines {
		s.lines = slices.Delete(s.lines, 0, 1)
	}
	if s.agent.warns != nil {
		s.agent.warns(s, text)
	}
	return s.flush()
}

// maxLines is the number of lines of error output that are saved to classify a failure.
const maxLines = 40

// plain reads a line of standard output that is not a message.
func (s *Stream) plain(line string) []Update {
	text := strings.TrimRight(withoutColours(line), " \r")
	if s.agent.warns != nil {
		s.agent.warns(s, text)
	}
	if strings.TrimSpace(text) != "" {
		s.queue = append(s.queue, Update{Text: text})
	}
	return s.flush()
}

// flush returns the queued updates.
func (s *Stream) flush() []Update {
	queue := s.queue
	s.queue = nil
	return queue
}

// Usage returns the usage of the turn so far, if the agent reports it.
func (s *Stream) Usage() pawl.Usage { return s.usage }

// Session returns the agent's session, with which it can continue; nil if unknown.
func (s *Stream) Session() *pawl.Conversation {
	if s.session == "" {
		return nil
	}
	total := s.total
	if total == (pawl.Usage{}) && s.turn.Resume {
		total = s.turn.Before
	}
	return &pawl.Conversation{Agent: s.agent.Name, ID: s.session, Usage: total}
}

// Busy returns the tool that has been running longest, empty if none is.
func (s *Stream) Busy() string {
	if len(s.tools) == 0 {
		return ""
	}
	return s.tools[0].what
}

// setSession records the session's id.
func (s *Stream) setSession(id string) {
	if id != "" && id != s.session {
		s.session = id
		s.queue = append(s.queue, Update{Session: id})
	}
}

// addText adds a message to the user.
func (s *Stream) addText(text string) {
	if text = strings.TrimSpace(text); text != "" {
		s.text = text
		s.queue = append(s.queue, Update{Text: text})
	}
}

// appendText continues the last message to the user.
func (s *Stream) appendText(text string) {
	s.text += text
	if n := len(s.text); n > maxText {
		s.text = strings.ToValidUTF8(s.text[n-maxText:], "")
	}
	s.queue = append(s.queue, Update{Part: text})
}

// maxText is the maximum size of the last message in bytes.
const maxText = 64 << 10

// startTool adds a tool that the agent starts with this input.
func (s *Stream) startTool(id, name string, input message) {
	what := name
	if about := input.about(); about != "" {
		what += ": " + about
	}
	s.addTool(id, line(what, maxAbout))
}

func (s *Stream) addTool(id, what string) {
	s.tools = append(s.tools, tool{id, what})
	s.queue = append(s.queue, Update{Tool: what})
}

// endTool removes a tool that has ended.
func (s *Stream) endTool(id string) {
	s.tools = slices.DeleteFunc(s.tools, func(t tool) bool { return t.id == id })
}

// what returns the description of a tool in use.
func (s *Stream) what(id string) string {
	for _, t := range s.tools {
		if t.id == id {
			return t.what
		}
	}
	return ""
}

// addDenied records a denied permission.
func (s *Stream) addDenied(what string) {
	if what = line(cmp.Or(what, "a tool"), maxAbout); !slices.Contains(s.denied, what) {
		s.denied = append(s.denied, what)
	}
}

// setTasks reports the agent's own task list: the number of done tasks, of all tasks, and the current task.
func (s *Stream) setTasks(done, all int, now string) {
	if all == 0 {
		return
	}
	d, a := float64(done), float64(all)
	s.queue = append(s.queue, Update{Tasks: &pawl.Progress{Text: line(now, maxAbout), Done: &d, Total: &a}})
}

// stop requests that the agent is stopped because of an error.
func (s *Stream) stop(t trouble) {
	s.trouble = t
	s.queue = append(s.queue, Update{Stop: true})
}

// since returns this turn's part of a count for the whole session. A total below the earlier one was counted from the start
// of the turn.
func since(before, total float64) float64 {
	if total < before {
		return total
	}
	return total - before
}
