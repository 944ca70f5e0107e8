package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

const toldTruly = `# Brief of run ` + "`session-1`" + `

## 1. Where we are
- now: unfinished

## 2. What is in doubt or failed, and the evidence
- codex began a command at 2026-01-23 14:02:11 UTC and told no outcome: ` + "`echo $$ > pid; until test -e go; do sleep 0.1; done`" + `
- evidence: partly: step1.txt was changed after that; process 4711 is alive

## 3. What to do next, and how to know that it is done
- next: find out, then go on

## 4. What is finished
- done: write notes.md
`

var theTruth = truth{
	agent: "codex", command: "echo $$ > pid; until test -e go; do sleep 0.1; done", pid: 4711, alive: true, aliveAfter: true,
	began: time.Date(2026, 1, 23, 14, 2, 11, 0, time.UTC),
}

func TestBriefIsComparedWithTheTruth(t *testing.T) {
	t.Parallel()
	if err := (brief{toldTruly}).tells(theTruth); err != nil {
		t.Errorf("a true brief: %v", err)
	}
	for name, lie := range map[string][2]string{
		"another time":        {"14:02:11", "14:02:12"},
		"another agent":       {"codex began", "gemini began"},
		"another verdict":     {"partly", "not done"},
		"no file":             {"step1.txt", "something"},
		"no process":          {"process 4711 is alive", "nothing is alive"},
		"finished work again": {"find out", "write notes.md"},
		"no command":          {"until test", "while test"},
		"no doubt at all":     {"in doubt", "finished"},
	} {
		if err := (brief{strings.Replace(toldTruly, lie[0], lie[1], 1)}).tells(theTruth); err == nil {
			t.Errorf("%s: nobody noticed", name)
		}
	}
	gone := theTruth
	gone.alive, gone.aliveAfter = false, false
	if err := (brief{toldTruly}).tells(gone); err == nil {
		t.Error("a dead process called alive: nobody noticed")
	}
}

func TestBriefIsFoundInTheFirstRequest(t *testing.T) {
	t.Parallel()
	wrapped, err := json.Marshal(object{"input": []any{"be good", "<hook_context>" + strings.ReplaceAll(toldTruly, ">", "&gt;") + "</hook_context>\nGo on."}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := briefIn([]request{{body: wrapped}})
	if err != nil || got.text != toldTruly {
		t.Errorf("found %q, %v", got.text, err)
	}
	for name, asked := range map[string][]request{"nothing": nil, "no brief": {{body: []byte(`{"input":"Go on."}`)}, {body: wrapped}}} {
		if _, err := briefIn(asked); err == nil {
			t.Errorf("%s: found a brief", name)
		}
	}
}
