package attach

import (
	"fmt"
	"slices"
	"strings"

	dialects "pawl/internal/agents"
	"pawl/internal/textedit/jsonedit"
)

// hooks are the hooks that report an agent's events to pawl, in a JSON file of Claude Code's format.
type hooks struct {
	agent  string
	events []string
	flat   bool     // handlers are directly below their event, without groups
	tools  []string // events that concern a tool; they have the agent's matcher
	hook   func(event string) handler
}

// handler is one hook, with the fields of all agents.
type handler struct {
	Type       string   `json:"type"`
	Name       string   `json:"name,omitempty"`
	Command    string   `json:"command,omitempty"`
	Args       []string `json:"args,omitempty"` // without them a shell runs the command
	Bash       string   `json:"bash,omitempty"`
	Timeout    int      `json:"timeout,omitempty"`
	TimeoutSec int      `json:"timeoutSec,omitempty"`
}

// group is a group of handlers.
type group struct {
	Matcher string    `json:"matcher,omitempty"`
	Hooks   []handler `json:"hooks"`
}

// entry returns the entry of pawl for an event.
func (h hooks) entry(event string) any {
	if h.flat {
		return h.hook(event)
	}
	g := group{Hooks: []handler{h.hook(event)}}
	if slices.Contains(h.tools, event) {
		g.Matcher = matcher(skipped(h.agent))
	}
	return g
}

// skipped returns the tools of an agent whose calls it does not report.
func skipped(agent string) []string {
	d, err := dialects.Find(agent)
	if err != nil {
		panic(err) // each agent that can be attached has a dialect
	}
	return d.Skips()
}

// matcher returns the pattern of all tools but these, as a regular expression of JavaScript. It is a pattern of what to leave out, so that
// tools that pawl does not know are reported.
func matcher(skips []string) string {
	if len(skips) == 0 {
		return ""
	}
	return "^(?!(" + strings.Join(skips, "|") + ")$)"
}

func (h hooks) add(text []byte) ([]byte, error) {
	text, err := h.remove(text, nil)
	if err != nil {
		return nil, err
	}
	doc, err := jsonedit.ReadJSONC(text)
	if err == nil && doc.Root.Get("hooks") == nil {
		doc, err = doc.Add(doc.Root, "hooks", struct{}{})
	}
	for _, event := range h.events {
		if err != nil {
			return nil, err
		}
		if list := doc.Root.Get("hooks", event); list == nil {
			doc, err = doc.Add(doc.Root.Get("hooks"), event, jsonedit.OneLine{Value: []any{h.entry(event)}})
		} else {
			doc, err = doc.Add(list, "", jsonedit.OneLine{Value: h.entry(event)})
		}
	}
	return doc.Text, err
}

func (h hooks) remove(text, before []byte) ([]byte, error) {
	doc, err := h.read(text)
	if err != nil {
		return nil, err
	}
	was := readOriginal(before)
	for {
		found, ok := h.first(doc)
		if !ok {
			return doc.Text, nil
		}
		if doc, err = doc.Remove(found.in, found.at, was.empty("hooks", found.event)); err != nil {
			return nil, err
		}
		if doc, err = was.prune(doc, "hooks", found.event); err != nil {
			return nil, err
		}
	}
}

func (h hooks) inspect(text []byte) (presence, error) {
	doc, err := h.read(text)
	if err != nil {
		return presence{}, err
	}
	places := h.all(doc)
	seen := presence{complete: len(places) == len(h.events)}
	for _, event := range h.events {
		if !slices.ContainsFunc(places, func(p position) bool { return p.event == event }) {
			seen.missing = append(seen.missing, event)
		}
		seen.complete = seen.complete && h.exactly(doc, event) == 1
	}
	for _, p := range places {
		seen.any = true
		if program := h.program(p.handler.Decode()); !slices.Contains(seen.programs, program) {
			seen.programs = append(seen.programs, program)
		}
		seen.trusts = append(seen.trusts, trust{event: p.event, group: p.group, index: p.index, handler: p.handler.Decode(), matcher: p.matcher})
	}
	return seen, nil
}

// exactly counts the entries of an event that equal pawl's.
func (h hooks) exactly(doc jsonedit.Doc, event string) int {
	list, n := doc.Root.Get("hooks", event), 0
	if list == nil {
		return 0
	}
	for _, item := range list.Items {
		if item.Holds(h.entry(event)) {
			n++
		}
	}
	return n
}

// read parses a file of hooks, and rejects one whose structure does not allow hooks.
func (h hooks) read(text []byte) (jsonedit.Doc, error) {
	doc, err := jsonedit.ReadJSONC(text)
	if err != nil {
		return doc, err
	}
	if doc.Root.Kind != jsonedit.Object {
		return doc, doc.Root.Errorf("expected an object { … } of settings")
	}
	all := doc.Root.Get("hooks")
	if all == nil {
		return doc, nil
	}
	if all.Kind != jsonedit.Object {
		return doc, all.Errorf("expected an object { … } of events")
	}
	for _, m := range all.Members {
		if slices.Contains(h.events, m.Key) && m.Value.Kind != jsonedit.Array {
			return doc, m.Value.Errorf("expected a list [ … ] of hooks for %s", m.Key)
		}
	}
	return doc, nil
}

// position is the location of one of pawl's handlers.
type position struct {
	event        string
	group, index int // index in the event, and in the group
	matcher      any
	handler      *jsonedit.Value
	in           *jsonedit.Value // the list to remove it from, or its whole group
	at           int
}

// first returns the first of pawl's handlers.
func (h hooks) first(doc jsonedit.Doc) (position, bool) {
	all := h.all(doc)
	if len(all) == 0 {
		return position{}, false
	}
	return all[0], true
}

// all returns pawl's handlers of all events.
func (h hooks) all(doc jsonedit.Doc) []position {
	var found []position
	events := doc.Root.Get("hooks")
	if events == nil {
		return nil
	}
	for _, event := range events.Members {
		for i, item := range event.Value.Items {
			if h.flat {
				found = h.append(found, position{event: event.Key, group: i, handler: item, in: event.Value, at: i})
				continue
			}
			found = h.inGroup(found, position{event: event.Key, group: i, in: event.Value, at: i}, item)
		}
	}
	return found
}

// inGroup appends pawl's handlers in a group. A group without other handlers is removed as a whole.
func (h hooks) inGroup(found []position, p position, g *jsonedit.Value) []position {
	list := g.Get("hooks")
	if !list.Is(jsonedit.Array) {
		return found
	}
	alone := len(list.Items) == 1
	if matcher := g.Get("matcher"); matcher != nil {
		p.matcher = matcher.Decode()
	}
	for j, item := range list.Items {
		this := p
		this.index, this.handler = j, item
		if !alone {
			this.in, this.at = list, j
		}
		found = h.append(found, this)
	}
	return found
}

func (h hooks) append(found []position, p position) []position {
	if h.program(p.handler.Decode()) == "" {
		return found
	}
	return append(found, p)
}

// program returns the program that a handler of pawl starts (`PROGRAM hook AGENT`), empty for other handlers.
func (h hooks) program(v any) string {
	fields, _ := v.(map[string]any)
	command, _ := fields["command"].(string)
	if args, ok := fields["args"].([]any); ok {
		if len(args) == 2 && args[0] == "hook" && args[1] == h.agent {
			return command
		}
		return ""
	}
	if bash, ok := fields["bash"].(string); ok {
		command = bash
	}
	command = strings.TrimSpace(strings.TrimSuffix(command, orElse))
	if program, ok := strings.CutSuffix(command, " hook "+h.agent); ok {
		return unquoted(strings.TrimSpace(program))
	}
	return ""
}

// orElse makes the shell succeed even if pawl fails: some agents treat a failing hook as a denial.
const orElse = "|| true"

// quoted returns a path quoted for a shell.
func quoted(path string) string {
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// unquoted reverses quoted.
func unquoted(word string) string {
	if len(word) > 1 && word[0] == '\'' && word[len(word)-1] == '\'' {
		return strings.ReplaceAll(word[1:len(word)-1], `'\''`, "'")
	}
	return word
}

// original is the text from before the agent was attached.
type original struct {
	jsonedit.Doc
	known bool
}

// readOriginal parses the original text. If it cannot be parsed, it is unknown.
func readOriginal(text []byte) original {
	doc, err := jsonedit.ReadJSONC(text)
	return original{doc, err == nil && text != nil}
}

// empty returns the text between the brackets of a container that was empty, nil for others.
func (o original) empty(keys ...string) []byte {
	if !o.known {
		return nil
	}
	v := o.Root.Get(keys...)
	if v == nil || v.Len() > 0 {
		return nil
	}
	return v.Inner()
}

// prune removes containers that are empty now and did not exist before, from the innermost outwards.
func (o original) prune(doc jsonedit.Doc, keys ...string) (jsonedit.Doc, error) {
	for ; len(keys) > 0; keys = keys[:len(keys)-1] {
		v := doc.Root.Get(keys...)
		if v == nil || v.Len() > 0 || o.known && o.Root.Get(keys...) != nil {
			return doc, nil
		}
		above := keys[:len(keys)-1]
		in := doc.Root.Get(above...)
		var err error
		if doc, err = doc.Remove(in, in.Index(keys[len(keys)-1]), o.empty(above...)); err != nil {
			return doc, fmt.Errorf("remove %s: %w", strings.Join(keys, "."), err)
		}
	}
	return doc, nil
}
