package headless

import (
	"cmp"
	"slices"
	"strings"

	"pawl"
)

// Said is something that an agent says while it works. What is empty is not said.
type Said struct {
	Session string         // the id of its session
	Words   string         // to people: whole lines
	Part    string         // to people: what goes on where the last part ended
	Tool    string         // one line: the tool that it begins to use, and on what
	Tasks   *pawl.Progress // how far it is with the list of what it means to do
	Stop    bool           // it is to be ended: it would go on in vain, or beyond what it may cost
}

// Stream reads what an agent prints during one turn. It is used by one goroutine.
type Stream struct {
	agent Agent
	turn  Turn
	news  []Said

	session string
	usage   pawl.Usage // of this turn
	total   pawl.Usage // of the whole session, as far as the agent counts so
	counted string     // the message whose usage was counted last: some are told in parts
	tools   []tool     // that it uses now
	words   string     // its last
	ended   bool       // its last message said that all is well
	denied  []string   // what it was not permitted
	trouble trouble
	limits  int      // that it ran into, one after another
	lines   []string // the last ones that it wrote to its error output
}

// tool is one that an agent uses.
type tool struct{ id, what string }

// Read returns a stream for a turn of the agent.
func (a Agent) Read(t Turn) *Stream { return &Stream{agent: a, turn: t, session: t.Session} }

// Out takes in a line of the agent's standard output, and returns what it says.
func (s *Stream) Out(line []byte) []Said {
	m, ok := parse(line)
	if !ok {
		return s.plain(string(line))
	}
	s.agent.out(s, m)
	if s.turn.USD > 0 && s.usage.USD >= s.turn.USD && !s.ended && s.trouble.how != Overspent {
		s.stop(trouble{how: Overspent})
	}
	return s.take()
}

// Err takes in a line of the agent's error output, and returns what it says.
func (s *Stream) Err(line []byte) []Said {
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
	return s.take()
}

// maxLines is how many lines of an agent's error output are kept to find out what went wrong.
const maxLines = 40

// plain takes in a line of standard output that is no message.
func (s *Stream) plain(line string) []Said {
	text := strings.TrimRight(withoutColours(line), " \r")
	if s.agent.warns != nil {
		s.agent.warns(s, text)
	}
	if strings.TrimSpace(text) != "" {
		s.news = append(s.news, Said{Words: text})
	}
	return s.take()
}

func (s *Stream) take() []Said {
	news := s.news
	s.news = nil
	return news
}

// Usage returns what the turn has used so far, as far as the agent says so.
func (s *Stream) Usage() pawl.Usage { return s.usage }

// Session returns how the agent's session is known, to be gone on with; nil: it has not said.
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

// Busy returns the tool that the agent has used the longest, empty where it uses none: then it thinks.
func (s *Stream) Busy() string {
	if len(s.tools) == 0 {
		return ""
	}
	return s.tools[0].what
}

// named takes up the session's id.
func (s *Stream) named(id string) {
	if id != "" && id != s.session {
		s.session = id
		s.news = append(s.news, Said{Session: id})
	}
}

// says takes up words to people.
func (s *Stream) says(text string) {
	if text = strings.TrimSpace(text); text != "" {
		s.words = text
		s.news = append(s.news, Said{Words: text})
	}
}

// continues takes up words that continue the last ones.
func (s *Stream) continues(text string) {
	s.words += text
	if n := len(s.words); n > maxWords {
		s.words = strings.ToValidUTF8(s.words[n-maxWords:], "")
	}
	s.news = append(s.news, Said{Part: text})
}

// maxWords is how much of an agent's last words is kept, in bytes.
const maxWords = 64 << 10

// begins takes up that the agent begins to use a tool. input says on what.
func (s *Stream) begins(id, name string, input message) {
	what := name
	if about := input.about(); about != "" {
		what += ": " + about
	}
	s.uses(id, line(what, maxAbout))
}

func (s *Stream) uses(id, what string) {
	s.tools = append(s.tools, tool{id, what})
	s.news = append(s.news, Said{Tool: what})
}

// finishes takes up that a tool has ended.
func (s *Stream) finishes(id string) {
	s.tools = slices.DeleteFunc(s.tools, func(t tool) bool { return t.id == id })
}

// what returns what a tool in use was said to do.
func (s *Stream) what(id string) string {
	for _, t := range s.tools {
		if t.id == id {
			return t.what
		}
	}
	return ""
}

// refused takes up what the agent was not permitted.
func (s *Stream) refused(what string) {
	if what = line(cmp.Or(what, "a tool"), maxAbout); !slices.Contains(s.denied, what) {
		s.denied = append(s.denied, what)
	}
}

// lists takes up the agent's own task list: how many of how many are done, and what it does now.
func (s *Stream) lists(done, all int, now string) {
	if all == 0 {
		return
	}
	d, a := float64(done), float64(all)
	s.news = append(s.news, Said{Tasks: &pawl.Progress{Text: line(now, maxAbout), Done: &d, Total: &a}})
}

// stop has the agent ended for a trouble.
func (s *Stream) stop(t trouble) {
	s.trouble = t
	s.news = append(s.news, Said{Stop: true})
}

// since returns what a count from the session's beginning says of this turn. One below what it was before does not count
// from there.
func since(before, total float64) float64 {
	if total < before {
		return total
	}
	return total - before
}
