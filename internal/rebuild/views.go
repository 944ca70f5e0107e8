package rebuild

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"pawl"
	"pawl/internal/lazyregexp"
)

// StateView is the content of STATE.md.
type StateView struct {
	Seq   pawl.Seq // the last event that it shows
	Steps map[pawl.StepID]StepRow
}

// StepRow is a step's row in STATE.md.
type StepRow struct {
	Status   pawl.StepStatus
	Attempts int
}

// SummaryView is the content of SUMMARY-<step>.md.
type SummaryView struct {
	Status         pawl.StepStatus
	Started, Ended time.Time
	Attempts       int
	Text           string
	Outputs        pawl.Outputs
}

// Views are made for people. They are parsed here only because better evidence is lost. What does not have pawl's
// format is ignored.

// ReadState parses STATE.md. It returns nil for another run.
func ReadState(run pawl.RunID, text string) *StateView {
	doc := readDocument(run, text)
	if len(doc) == 0 {
		return nil
	}
	v := &StateView{Steps: map[pawl.StepID]StepRow{}}
	if m := atEvent.FindStringSubmatch(doc[0].facts["Last activity"]); m != nil {
		n, _ := strconv.ParseInt(m[1], 10, 64) // only digits
		v.Seq = pawl.Seq(n)
	}
	for _, s := range doc {
		if s.title != "Steps" {
			continue
		}
		for _, row := range s.rows {
			if len(row) < 5 {
				continue
			}
			id, _, _ := strings.Cut(strings.TrimPrefix(row[1], "`"), "`")
			attempts, _ := strconv.Atoi(row[4]) // empty: none
			v.Steps[pawl.StepID(id)] = StepRow{Status: pawl.StepStatus(row[2]), Attempts: attempts}
		}
	}
	return v
}

// StateSeq returns the event in the head of STATE.md, 0 if it is missing or of another run.
func StateSeq(run pawl.RunID, head string) pawl.Seq {
	head, _, _ = strings.Cut(head, "\n## ")
	if v := ReadState(run, head); v != nil {
		return v.Seq
	}
	return 0
}

var atEvent = lazyregexp.New(`\(event (\d{1,18})\)$`)

// ReadSummary parses a step's summary. It returns the zero value for another run.
func ReadSummary(run pawl.RunID, text string) SummaryView {
	var v SummaryView
	doc := readDocument(run, text)
	if len(doc) == 0 {
		return v
	}
	facts := doc[0].facts
	status, _, _ := strings.Cut(facts["Status"], ":")
	v.Status, v.Text = pawl.StepStatus(status), doc[0].quote
	v.Started, v.Ended = viewTime(facts["Started"]), viewTime(facts["Ended"])
	v.Attempts, _ = strconv.Atoi(facts["Attempts"]) // empty: none
	for _, s := range doc {
		if s.title != "Outputs" {
			continue
		}
		v.Outputs = pawl.Outputs{}
		for _, row := range s.rows {
			if len(row) == 3 {
				size, _ := strconv.ParseInt(row[1], 10, 64) // only the hash is compared
				v.Outputs[bare(row[0])] = pawl.Content{Size: size, SHA256: bare(row[2])}
			}
		}
	}
	return v
}

// ReadDecisions parses DECISIONS.md, in its order.
func ReadDecisions(run pawl.RunID, text string) []pawl.Decision {
	var all []pawl.Decision
	for _, s := range readDocument(run, text) {
		number, made, ok := strings.Cut(s.title, ": ")
		if !ok || !strings.HasPrefix(number, "Decision ") {
			continue
		}
		d := pawl.Decision{
			Question: s.facts["Question"], Choice: s.facts["Choice"], Why: s.facts["Why"], By: s.facts["By"],
			Step: pawl.StepID(bare(s.facts["Step"])), Time: viewTime(made),
		}
		if options := s.facts["Options"]; options != "" {
			d.Options = strings.Split(options, ", ")
		}
		all = append(all, d)
	}
	return all
}

// ReadBlockers parses the open blockers of BLOCKERS.md.
func ReadBlockers(run pawl.RunID, text string) []pawl.Blocker {
	var open []pawl.Blocker
	for _, s := range readDocument(run, text) {
		if !strings.HasPrefix(s.title, "Blocker ") || !strings.HasSuffix(s.title, ": ACTIVE") {
			continue
		}
		open = append(open, pawl.Blocker{
			Text: s.quote, Step: pawl.StepID(bare(s.facts["Step"])), Needs: s.facts["Needs"], Opened: viewTime(s.facts["Opened"]),
		})
	}
	return open
}

// section is a heading of a view and the content below it.
type section struct {
	title string
	facts map[string]string
	quote string
	rows  [][]string
}

var fact = lazyregexp.New(`^- \*\*([^*]+):\*\* (.*)$`)

// readDocument splits a view into sections; none if it is not of this run.
func readDocument(run pawl.RunID, text string) []section {
	title, rest, _ := strings.Cut(text, "\n")
	head := fmt.Sprintf("> A view of run `%s`,", run)
	if !strings.HasPrefix(title, "# ") || !strings.Contains(rest, head) {
		return nil
	}
	doc := []section{{title: strings.TrimPrefix(title, "# "), facts: map[string]string{}}}
	for line := range strings.SplitSeq(rest, "\n") {
		s := &doc[len(doc)-1]
		switch m := fact.FindStringSubmatch(line); {
		case strings.HasPrefix(line, head):
		case m != nil:
			s.facts[m[1]] = unescaped(m[2])
		case strings.HasPrefix(line, "## "):
			doc = append(doc, section{title: strings.TrimPrefix(line, "## "), facts: map[string]string{}})
		case strings.HasPrefix(line, "> "):
			s.quote = strings.TrimPrefix(s.quote+"\n"+strings.TrimPrefix(line, "> "), "\n")
		case strings.HasPrefix(line, "|---"):
			s.rows = nil // rows before are the header
		case strings.HasPrefix(line, "| "):
			s.rows = append(s.rows, cells(line))
		}
	}
	return doc
}

// cells splits a table row. An escaped bar is text.
func cells(line string) []string {
	const bar = "\x00"
	line = strings.ReplaceAll(line, `\|`, bar)
	parts := strings.Split(strings.Trim(line, "|"), "|")
	for i, c := range parts {
		parts[i] = unescaped(strings.ReplaceAll(strings.TrimSpace(c), bar, "|"))
	}
	return parts
}

var unescaper = strings.NewReplacer(`\\`, `\`, `\|`, `|`, "\\`", "`", "&lt;", "<", `\*`, "*", `\[`, "[")

func unescaped(text string) string { return unescaper.Replace(text) }

// bare strips the code span, if there is one.
func bare(text string) string { return strings.Trim(text, "` ") }

func viewTime(text string) time.Time {
	at, err := time.Parse("2006-01-02 15:04:05 UTC", text)
	if err != nil {
		return time.Time{}
	}
	return at
}
