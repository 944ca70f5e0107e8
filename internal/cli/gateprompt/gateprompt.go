// Package gateprompt asks the person at a terminal to answer the open gates of a run, and shows what they ask about.
//
// It records answers through the same acts as `pawl approve`, `reject` and `answer`: an answer counts only for the question and the
// content that the gate showed when it was opened. It decides nothing about who may answer; the caller does.
package gateprompt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// Prompter asks at a terminal.
type Prompter struct {
	In      io.Reader
	Out     io.Writer
	Project *project.Project
	Perform func(runs.Act) error // records an answer
}

// errLater is the answer of a person who does not want to answer now.
var errLater = errors.New("answer later")

// Ask asks about each open gate until the person wants to answer later. It reports whether an answer was recorded, here or elsewhere in
// the meantime.
func (p Prompter) Ask(ctx context.Context, run pawl.RunID) (answered bool, err error) {
	if only, err := runs.ServerOnly(p.Project); only || err != nil {
		return false, err // nobody can answer here
	}
	asked := map[pawl.GateID]bool{}
	for {
		r, err := runs.Load(ctx, p.Project, run)
		if err != nil {
			return answered, err
		}
		g := next(r.State, asked)
		if g == nil {
			return answered, r.Log.Close()
		}
		asked[g.ID] = true
		act, err := p.ask(r, g)
		err = errors.Join(err, r.Log.Close())
		if errors.Is(err, errLater) {
			return answered, nil
		}
		if err == nil {
			err = p.Perform(act)
		}
		if pawl.KindOf(err) == pawl.KindUsage { // withdrawn, or answered by someone else
			fmt.Fprintf(p.Out, "pawl: %v\n", err)
			err = nil
		}
		if err != nil {
			return answered, err
		}
		answered = true
	}
}

// next returns the first open gate that was not asked about yet; nil for none.
func next(s *pawl.State, asked map[pawl.GateID]bool) *pawl.GateState {
	for _, g := range s.OpenGates() {
		if !asked[g.ID] {
			return g
		}
	}
	return nil
}

// choice is one of the replies to a gate.
type choice struct {
	key, label string
	act        func() (runs.Act, error)
}

// ask asks about one gate until the person chooses what to do.
func (p Prompter) ask(r *runs.Run, g *pawl.GateState) (runs.Act, error) {
	choices := p.choices(g)
	free := g.Type == pawl.DecisionFor && len(g.Options) == 0
	for {
		p.question(g, choices, len(g.Shown) > 0, free)
		reply, err := p.readLine()
		if err != nil {
			return nil, err
		}
		switch lower := strings.ToLower(reply); {
		case lower == "l" || lower == "later":
			return nil, errLater
		case (lower == "v" || lower == "view") && len(g.Shown) > 0:
			if err := p.view(r, g); err != nil {
				return nil, err
			}
		case free && reply != "":
			return runs.Choose(g.ID, reply, ""), nil
		default:
			i := slices.IndexFunc(choices, func(c choice) bool { return lower == c.key || reply == c.label || lower == strings.ToLower(c.label) })
			if i < 0 {
				fmt.Fprintf(p.Out, "unknown answer %q\n", reply)
				continue
			}
			if act, err := choices[i].act(); act != nil || err != nil {
				return act, err
			}
		}
	}
}

// choices returns the replies that fit a gate.
func (p Prompter) choices(g *pawl.GateState) (all []choice) {
	if g.Type != pawl.DecisionFor {
		word := "yes"
		if g.Type == pawl.HumanAction {
			word = "done"
		}
		all = append(all, choice{word[:1], word, func() (runs.Act, error) { return runs.Approve(g.ID, ""), nil }},
			choice{"n", "no", func() (runs.Act, error) { return p.reject(g, false) }},
			choice{"s", "fail the run", func() (runs.Act, error) { return p.reject(g, true) }})
	}
	for i, option := range g.Options {
		all = append(all, choice{strconv.Itoa(i + 1), option, func() (runs.Act, error) { return runs.Choose(g.ID, option, ""), nil }})
	}
	return all
}

// reject asks for the reason of a rejection. Without one it rejects nothing.
func (p Prompter) reject(g *pawl.GateState, stop bool) (runs.Act, error) {
	effect := "the steps whose results it shows rerun"
	if stop {
		effect = "the run fails"
	}
	fmt.Fprintf(p.Out, "Reason (%s; leave empty to go back): ", effect)
	why, err := p.readLine()
	if err != nil || why == "" {
		return nil, err
	}
	return runs.Reject(g.ID, why, stop), nil
}

// question prints the question of a gate with the replies to choose from.
func (p Prompter) question(g *pawl.GateState, choices []choice, viewable, free bool) {
	_ = layout.Print(p.Out, layout.Span{Text: "\n"}, layout.Span{Text: g.Ask, Colour: layout.Bold})
	if g.Step != "" {
		fmt.Fprintf(p.Out, " (gate %s, step %s)", g.ID, g.Step)
	} else {
		fmt.Fprintf(p.Out, " (gate %s)", g.ID)
	}
	fmt.Fprintln(p.Out)
	var texts []string
	for _, c := range choices {
		texts = append(texts, "["+c.key+"] "+c.label)
	}
	if viewable {
		texts = append(texts, "[v] view what it shows")
	}
	texts = append(texts, "[l] later")
	if free {
		texts = append(texts, "or your answer")
	}
	fmt.Fprintf(p.Out, "  %s: ", strings.Join(texts, ", "))
}

// maxReply limits the length of a reply, in bytes.
const maxReply = 4096

// readLine reads a line from the terminal, and no byte after it. The end of input means later.
func (p Prompter) readLine() (string, error) {
	var line []byte
	one := make([]byte, 1)
	for {
		n, err := p.In.Read(one)
		switch {
		case n == 1 && one[0] == '\n':
			return strings.TrimSpace(string(line)), nil
		case n == 1 && len(line) < maxReply:
			line = append(line, one[0])
		case err == io.EOF || n == 0 && err == nil:
			fmt.Fprintln(p.Out)
			return "", errLater
		case err != nil:
			return "", err
		}
	}
}
