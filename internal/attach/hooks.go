package attach

import (
	"fmt"
	"slices"
	"strings"

	"pawl/internal/textedit/jsonc"
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
	doc, err := jsonc.Read(text)
	if err == nil && doc.At("hooks") == nil {
		doc, err = doc.Add(doc.Root, "hooks", struct{}{})
	}
	for _, event := range h.events {
		if err != nil {
			return nil, err
		}
		if list := doc.At("hooks", event); list == nil {
			doc, err = doc.Add(*doc.At("hooks"), event, jsonc.Line{Value: []any{h.entry(event)}})
		} else {
			doc, err = doc.Add(*list, "", jsonc.Line{Value: h.entry(event)})
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
		if doc, err = doc.Drop(found.in, found.at, was.empty("hooks", found.event)); err != nil {
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
		if program := h.program(doc.Decode(p.handler)); !slices.Contains(seen.programs, program) {
			seen.programs = append(seen.programs, program)
		}
		seen.trusts = append(seen.trusts, trust{event: p.event, group: p.group, index: p.index, handler: doc.Decode(p.handler), matcher: p.matcher})
	}
	return seen, nil
}

// exactly counts the entries under an event that are what they should be.
func (h hooks) exactly(doc jsonc.Doc, event string) int {
	list, n := doc.At("hooks", event), 0
	if list == nil {
		return 0
	}
	for _, m := range list.Members {
		if doc.Same(m.Value, h.entry(event)) {
			n++
		}
	}
	return n
}

// read reads a file of hooks, and refuses one in which hooks have no place.
func (h hooks) read(text []byte) (jsonc.Doc, error) {
	doc, err := jsonc.Read(text)
	if err != nil {
		return doc, err
	}
	if doc.Root.Kind != jsonc.Object {
		return doc, doc.Wrong(doc.Root, "settings are an object: write { … }")
	}
	all := doc.At("hooks")
	if all == nil {
		return doc, nil
	}
	if all.Kind != jsonc.Object {
		return doc, doc.Wrong(*all, "hooks are an object of events: write { … }")
	}
	for _, m := range all.Members {
		if slices.Contains(h.events, m.Key) && m.Value.Kind != jsonc.Array {
			return doc, doc.Wrong(m.Value, "what runs at %s is a list: write [ … ]", m.Key)
		}
	}
	return doc, nil
}

// place is where a handler of ours stands.
type place struct {
	event        string
	group, index int // which of the event, and which of the group
	matcher      any
	handler      jsonc.Value
	in           jsonc.Value // what it is to be dropped from, or its group with it
	at           int
}

// first returns the first handler of ours.
func (h hooks) first(doc jsonc.Doc) (place, bool) {
	all := h.all(doc)
	if len(all) == 0 {
		return place{}, false
	}
	return all[0], true
}

// all returns the handlers of ours, of all events.
func (h hooks) all(doc jsonc.Doc) []place {
	var found []place
	events := doc.At("hooks")
	if events == nil {
		return nil
	}
	for _, event := range events.Members {
		for i, m := range event.Value.Members {
			if h.flat {
				found = h.append(found, doc, place{event: event.Key, group: i, handler: m.Value, in: event.Value, at: i})
				continue
			}
			found = h.inGroup(found, doc, place{event: event.Key, group: i, in: event.Value, at: i}, m.Value)
		}
	}
	return found
}

// inGroup adds the handlers of ours in a group. The group goes with them where there are no others in it.
func (h hooks) inGroup(found []place, doc jsonc.Doc, p place, g jsonc.Value) []place {
	i := g.Find("hooks")
	if i < 0 {
		return found
	}
	list := g.Members[i].Value
	alone := len(list.Members) == 1
	if i := g.Find("matcher"); i >= 0 {
		p.matcher = doc.Decode(g.Members[i].Value)
	}
	for j, m := range list.Members {
		this := p
		this.index, this.handler = j, m.Value
		if !alone {
			this.in, this.at = list, j
		}
		found = h.append(found, doc, this)
	}
	return found
}

func (h hooks) append(found []place, doc jsonc.Doc, p place) []place {
	if h.program(doc.Decode(p.handler)) == "" {
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
	jsonc.Doc
	known bool
}

// earlier reads what a text was before. What cannot be read tells nothing.
func earlier(text []byte) past {
	doc, err := jsonc.Read(text)
	return past{doc, err == nil && text != nil}
}

// empty returns what stood between the brackets of something that was empty, nil where it was not.
func (p past) empty(keys ...string) []byte {
	if !p.known {
		return nil
	}
	v := p.At(keys...)
	if v == nil || v.Kind == jsonc.Scalar || len(v.Members) > 0 {
		return nil
	}
	return slices.Clip(append([]byte{}, p.Inner(*v)...))
}

// prune takes out what is empty now and was not there before, from the innermost outwards.
func (p past) prune(doc jsonc.Doc, keys ...string) (jsonc.Doc, error) {
	for ; len(keys) > 0; keys = keys[:len(keys)-1] {
		v := doc.At(keys...)
		if v == nil || len(v.Members) > 0 || p.known && p.At(keys...) != nil {
			return doc, nil
		}
		above := keys[:len(keys)-1]
		in := doc.At(above...)
		var err error
		if doc, err = doc.Drop(*in, in.Find(keys[len(keys)-1]), p.empty(above...)); err != nil {
			return doc, fmt.Errorf("take out %s: %w", strings.Join(keys, "."), err)
		}
	}
	return doc, nil
}
