package attach

import (
	"fmt"
	"slices"
	"strings"

	"pawl/internal/textedit/jsonedit"
)

// hooks are those that tell pawl of an agent's events, in a JSON file of the form that Claude Code began.
type hooks struct {
	agent  string
	events []string
	flat   bool // handlers stand under their event, without groups between
	hook   func(event string) handler
}

// handler is one hook, in the words of all agents.
type handler struct {
	Type       string   `json:"type"`
	Name       string   `json:"name,omitempty"`
	Command    string   `json:"command,omitempty"`
	Args       []string `json:"args,omitempty"` // without them the command is a shell's
	Bash       string   `json:"bash,omitempty"`
	Timeout    int      `json:"timeout,omitempty"`
	TimeoutSec int      `json:"timeoutSec,omitempty"`
}

// group is what hooks stand in.
type group struct {
	Hooks []handler `json:"hooks"`
}

// entry is what is to stand under an event.
func (h hooks) entry(event string) any {
	if h.flat {
		return h.hook(event)
	}
	return group{Hooks: []handler{h.hook(event)}}
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
	was := earlier(before)
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

func (h hooks) look(text []byte) (sight, error) {
	doc, err := h.read(text)
	if err != nil {
		return sight{}, err
	}
	places := h.all(doc)
	seen := sight{complete: len(places) == len(h.events)}
	for _, event := range h.events {
		if !slices.ContainsFunc(places, func(p place) bool { return p.event == event }) {
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

// exactly counts the entries under an event that are what they should be.
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

// read reads a file of hooks, and refuses one in which hooks have no place.
func (h hooks) read(text []byte) (jsonedit.Doc, error) {
	doc, err := jsonedit.ReadJSONC(text)
	if err != nil {
		return doc, err
	}
	if doc.Root.Kind != jsonedit.Object {
		return doc, doc.Root.Errorf("settings are an object: write { … }")
	}
	all := doc.Root.Get("hooks")
	if all == nil {
		return doc, nil
	}
	if all.Kind != jsonedit.Object {
		return doc, all.Errorf("hooks are an object of events: write { … }")
	}
	for _, m := range all.Members {
		if slices.Contains(h.events, m.Key) && m.Value.Kind != jsonedit.Array {
			return doc, m.Value.Errorf("what runs at %s is a list: write [ … ]", m.Key)
		}
	}
	return doc, nil
}

// place is where a handler of ours stands.
type place struct {
	event        string
	group, index int // which of the event, and which of the group
	matcher      any
	handler      *jsonedit.Value
	in           *jsonedit.Value // what it is to be dropped from, or its group with it
	at           int
}

// first returns the first handler of ours.
func (h hooks) first(doc jsonedit.Doc) (place, bool) {
	all := h.all(doc)
	if len(all) == 0 {
		return place{}, false
	}
	return all[0], true
}

// all returns the handlers of ours, of all events.
func (h hooks) all(doc jsonedit.Doc) []place {
	var found []place
	events := doc.Root.Get("hooks")
	if events == nil {
		return nil
	}
	for _, event := range events.Members {
		for i, item := range event.Value.Items {
			if h.flat {
				found = h.append(found, place{event: event.Key, group: i, handler: item, in: event.Value, at: i})
				continue
			}
			found = h.inGroup(found, place{event: event.Key, group: i, in: event.Value, at: i}, item)
		}
	}
	return found
}

// inGroup adds the handlers of ours in a group. The group goes with them where there are no others in it.
func (h hooks) inGroup(found []place, p place, g *jsonedit.Value) []place {
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

func (h hooks) append(found []place, p place) []place {
	if h.program(p.handler.Decode()) == "" {
		return found
	}
	return append(found, p)
}

// program returns the program that a handler starts, empty where the handler is not ours: where it is not `… hook AGENT`.
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

// orElse has a shell succeed where the command before does not: some agents take a failing hook for a no.
const orElse = "|| true"

// quoted is a path as a shell takes it for one word.
func quoted(path string) string {
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// unquoted is the path that was quoted.
func unquoted(word string) string {
	if len(word) > 1 && word[0] == '\'' && word[len(word)-1] == '\'' {
		return strings.ReplaceAll(word[1:len(word)-1], `'\''`, "'")
	}
	return word
}

// past is what a text was before.
type past struct {
	jsonedit.Doc
	known bool
}

// earlier reads what a text was before. What cannot be read tells nothing.
func earlier(text []byte) past {
	doc, err := jsonedit.ReadJSONC(text)
	return past{doc, err == nil && text != nil}
}

// empty returns what stood between the brackets of something that was empty, nil where it was not.
func (p past) empty(keys ...string) []byte {
	if !p.known {
		return nil
	}
	v := p.Root.Get(keys...)
	if v == nil || v.Len() > 0 {
		return nil
	}
	return v.Inner()
}

// prune takes out what is empty now and was not there before, from the innermost outwards.
func (p past) prune(doc jsonedit.Doc, keys ...string) (jsonedit.Doc, error) {
	for ; len(keys) > 0; keys = keys[:len(keys)-1] {
		v := doc.Root.Get(keys...)
		if v == nil || v.Len() > 0 || p.known && p.Root.Get(keys...) != nil {
			return doc, nil
		}
		above := keys[:len(keys)-1]
		in := doc.Root.Get(above...)
		var err error
		if doc, err = doc.Remove(in, in.Index(keys[len(keys)-1]), p.empty(above...)); err != nil {
			return doc, fmt.Errorf("take out %s: %w", strings.Join(keys, "."), err)
		}
	}
	return doc, nil
}
