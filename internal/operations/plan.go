package operations

import (
	"bytes"
	"encoding/json"
)

// writePlan is what a tool does that writes a whole file.
func writePlan(in input, _ Call) []planned {
	path, ok := in.text(pathKeys...)
	if !ok {
		return nil
	}
	content, ok := in.text(contentKeys...)
	return []planned{{path: path, content: []byte(content), unsure: !ok}}
}

// openPlan is a tool call whose result in the file is unknown.
func openPlan(in input, _ Call) []planned {
	path, ok := in.text(pathKeys...)
	if !ok {
		return nil
	}
	return []planned{{path: path, unsure: true}}
}

// edit replaces one text, or all that are the same.
type edit struct {
	old, now string
	all      bool
}

// editPlan is what a tool does that replaces texts in a file.
func editPlan(in input, c Call) []planned {
	path, ok := in.text(pathKeys...)
	if !ok {
		return nil
	}
	p := planned{path: path}
	content, err := c.Read(c.absolute(path))
	if err != nil && !isMissing(err) {
		p.unsure = true
		return []planned{p}
	}
	edits := editsOf(in)
	p.unsure = len(edits) == 0
	for _, e := range edits {
		if content, ok = e.apply(content); !ok {
			p.unsure = true
		}
	}
	p.content = content
	return []planned{p}
}

func editsOf(in input) []edit {
	var given []map[string]json.RawMessage
	if json.Unmarshal(in["edits"], &given) != nil || len(given) == 0 {
		return single(in)
	}
	var edits []edit
	for _, one := range given {
		each := input{}
		for key, value := range one {
			each[plainKey(key)] = value
		}
		edits = append(edits, single(each)...)
	}
	return edits
}

func single(in input) []edit {
	old, ok := in.text(oldKeys...)
	now, also := in.text(newKeys...)
	if !ok || !also {
		return nil
	}
	return []edit{{old: old, now: now, all: in.truth("replaceall") || in.truth("allowmultiple")}}
}

// apply makes the edit. It is false where agents differ in what they do: a text that is not there, or more than once.
func (e edit) apply(content []byte) ([]byte, bool) {
	old, now := []byte(e.old), []byte(e.now)
	switch n := bytes.Count(content, old); {
	case e.old == "":
		return now, len(content) == 0
	case n == 0 || n > 1 && !e.all:
		return content, false
	}
	return bytes.ReplaceAll(content, old, now), true
}
