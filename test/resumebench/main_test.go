package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"pawl/test/stories/storytest"
)

// TestMain is also what the tests start themselves as: an agent, or what a tool calls.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && (os.Args[1] == agentVerb || os.Args[1] == renderVerb) {
		if err := run(context.Background(), os.Args[1:], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(storytest.Main(m))
}

// measured runs the bench and returns its results.
func measured(t *testing.T, args ...string) []result {
	t.Helper()
	var out bytes.Buffer
	if err := run(t.Context(), append([]string{"-json"}, args...), nil, &out); err != nil {
		t.Fatal(err)
	}
	var all []result
	if err := json.Unmarshal(out.Bytes(), &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestScenarios plays every scenario: each agent does what its script says, and the truth is true.
func TestScenarios(t *testing.T) {
	t.Parallel()
	none := measured(t, "-tool", "none")[0].Total
	if none.Doubts.Is > 0 || none.Characters > 0 || none.Doubts.Of < 15 {
		t.Errorf("no text, and yet: %+v", none)
	}
}

// TestTranscript checks that the conversation of a killed session shows the call that has no result.
func TestTranscript(t *testing.T) {
	t.Parallel()
	all := measured(t, "-tool", "transcript", "-scenarios", "^command-killed$")[0].Total
	if all.Doubts != (share{1, 1}) || all.Verdicts != (share{1, 0}) || all.Open != (share{1, 1}) {
		t.Errorf("of a conversation that breaks off: %+v", all)
	}
}

// TestPawl checks that pawl tells what it must in two scenarios.
func TestPawl(t *testing.T) {
	t.Parallel()
	pawl := storytest.Pawl(t)
	storytest.PawlHook(t)
	r := measured(t, "-tool", "pawl", "-pawl", pawl, "-scenarios", "^(command-killed|between-calls)$")[0]
	all := r.Total
	if all.Doubts != (share{1, 1}) || all.Verdicts != (share{1, 1}) || all.Invented > 0 || all.Again.Is > 0 || all.Open != (share{2, 2}) {
		t.Errorf("pawl loses points: %+v", r.Scenarios)
	}
}

// TestCommand checks that a tool is plugged in by a command.
func TestCommand(t *testing.T) {
	t.Parallel()
	r := measured(t, "-tool", `mine=case $0 in *) echo "in doubt: heron; verdict: partly"; esac; :`, "-scenarios", "^command-killed$")[0]
	if r.Tool != "mine" || r.Total.Doubts != (share{1, 1}) || r.Total.Verdicts != (share{1, 1}) {
		t.Errorf("a command's text is not read: %+v", r)
	}
}
