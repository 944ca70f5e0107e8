package main

import (
	"path/filepath"
	"strings"
	"testing"
)

const twoSessions = `{"seq":1,"time":"2026-01-23T14:00:00Z","type":"run.created","data":{"run":"r"}}
{"seq":2,"time":"2026-01-23T14:00:01Z","type":"session.began","data":{"session":"gemini:a"}}
{"seq":3,"time":"2026-01-23T14:00:02Z","type":"operation.begun","data":{"id":"gemini:a#1","session":"gemini:a","digest":"x"}}
{"seq":4,"time":"2026-01-23T14:00:03Z","type":"operation.begun","data":{"id":"gemini:a#2","session":"gemini:a","digest":"x"}}
{"seq":5,"time":"2026-01-23T14:00:04Z","type":"operation.ended","data":{"session":"gemini:a","digest":"x"}}
{"seq":6,"time":"2026-01-23T14:00:05Z","type":"session.began","data":{"session":"codex:b"}}
{"seq":7,"time":"2026-01-23T14:00:06Z","type":"operation.begun","data":{"id":"codex:b#1","session":"codex:b"}}
{"seq":8,"time":"2026-01-23T14:00:07Z","type":"operation.ended","data":{"operation":"codex:b#1","session":"codex:b"}}
{"seq":9,"time":"2026-01-23T14:00:08Z","type":"session.began","data":{"session":"codex:b"}}
`

func inPlace(t *testing.T, runs ...string) *story {
	t.Helper()
	s := &story{place: place{t.TempDir()}}
	for i, lines := range runs {
		if err := writeFile(s.place.project(".pawl", "runs", string(rune('a'+i)), "journal.jsonl"), lines); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func TestJournalTellsWhatIsOpen(t *testing.T) {
	t.Parallel()
	j, err := inPlace(t, twoSessions).journal()
	if err != nil {
		t.Fatal(err)
	}
	if len(j.sessions) != 2 || j.sessions[0] != "gemini:a" || j.sessions[1] != "codex:b" {
		t.Errorf("sessions %v", j.sessions)
	}
	if open := j.open(); len(open) != 1 || open[0].ID != "gemini:a#2" || open[0].at.Second() != 3 {
		t.Errorf("open: %+v; want the second, as an outcome without a name ends the oldest", open)
	}
	if all, open := j.count("codex:b"); all != 1 || open != 0 {
		t.Errorf("codex: %d operations, %d open", all, open)
	}
}

func TestJournalsThatAreNotAsExpected(t *testing.T) {
	t.Parallel()
	stray := strings.Replace(twoSessions, `{"seq":3`, `{"seq":2,"type":"operation.ended","data":{"session":"gemini:a","digest":"y"}}`+"\n"+`{"seq":3`, 1)
	for name, runs := range map[string][]string{"no run": nil, "two runs": {twoSessions, twoSessions}, "an outcome of nothing": {stray}, "damage": {"{"}} {
		if _, err := inPlace(t, runs...).journal(); err == nil {
			t.Errorf("%s: nobody noticed", name)
		}
	}
}

func TestTranscriptNamesNoMachine(t *testing.T) {
	t.Parallel()
	page := transcript{place: place{"/tmp/x"}, pawl: filepath.Join("/tmp", "build", "pawl")}
	page.typed("pawl", "attach", "it's me")
	page.shown("\x1b[1mwrote\x1b[0m /tmp/x/project/a and /tmp/x/home/.b with /tmp/build/pawl\r\n\n")
	want := "$ pawl attach 'it'\\''s me'\nwrote ~/project/a and ~/.b with /usr/local/bin/pawl\n"
	if got := page.text.String(); got != want {
		t.Errorf("transcript:\n%s\nwant:\n%s", got, want)
	}
}
