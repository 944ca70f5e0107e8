// Package liveview prints a run while it progresses.
//
// On a terminal it prints a line for each event, and below these lines it redraws in place what is running: a step or item in each line,
// with its status, the time that it has taken, its progress, and the last lines of its output. In a pipe it prints lines only.
//
// Times are those of a clock on the wall, unless the text says "step time", the sum over all attempts. A time left is extrapolated from
// the pace of finished items; there is none without that.
package liveview

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"pawl"
	"pawl/internal/cli/hints"
	"pawl/internal/cli/layout"
	"pawl/internal/disk"
	"pawl/internal/memo"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// View shows a run while it is worked on. It never blocks the engine: events are queued, and a goroutine prints them.
type View struct {
	out     io.Writer
	errOut  io.Writer
	project *project.Project
	screen  *screen // nil in a pipe
	plan    *pawl.Plan
	state   *pawl.State // folded from the same events as the engine's
	mu      sync.Mutex  // guards queue and begun
	queue   []entry
	begun   bool // the goroutine that prints the queue has started
	wake    chan struct{}
	done    chan struct{}
	stop    chan struct{}
	printed map[pawl.StepID]int       // finished items at the last line about them, in a pipe
	paces   map[pawl.StepID]*pace     // of foreach steps
	started map[pawl.StepID]time.Time // of steps without items: when the first attempt started that this view has seen
	outputs *outputs                  // of attempts
	names   *runs.ItemNames
	began   pawl.Seq // the last event before this view began
	command bool     // a run of one command: only the command's own output is shown
	quiet   bool     // the user wants no output of steps
	full    bool     // CheckSpace has said that the disk is full
	space   func() (disk.Space, error)
}

// entry is an event to print or, if it has a text, a line for the user.
type entry struct {
	event pawl.Event
	text  string
}

// New returns a view that prints to out, and what interrupts it to errOut.
func New(out, errOut io.Writer, p *project.Project, mode OutputMode) *View {
	l := &View{
		out: out, errOut: errOut, project: p, wake: make(chan struct{}, 1), done: make(chan struct{}), stop: make(chan struct{}),
		printed: map[pawl.StepID]int{}, paces: map[pawl.StepID]*pace{}, started: map[pawl.StepID]time.Time{},
	}
	l.space = func() (disk.Space, error) { return disk.SpaceOf(p.Home()) }
	if layout.IsTerminal(out) {
		l.screen = newScreen(out)
	}
	l.quiet = mode == OutputNone
	if l.screen == nil && mode != OutputStream {
		mode = OutputNone // nothing can be redrawn in a pipe
	}
	l.outputs = newOutputs(cmp.Or(mode, OutputFold), l.printOutput)
	return l
}

// Notify queues an event. It never blocks.
func (l *View) Notify(e pawl.Event) { l.push(entry{event: e}) }

func (l *View) push(e entry) {
	l.mu.Lock()
	l.queue = append(l.queue, e)
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Say shows a line that does not come from an event: above what is redrawn, if standard error is the same terminal.
func (l *View) Say(text string) {
	l.mu.Lock()
	queued := l.begun && l.screen != nil && layout.IsTerminal(l.errOut)
	l.mu.Unlock()
	if queued {
		l.push(entry{text: text})
		return
	}
	fmt.Fprintln(l.errOut, text)
}

// Notice shows a line for the user, such as that the disk is full.
func (l *View) Notice(text string) { l.Say("pawl: " + layout.OneLine(text)) }

// CheckSpace shows a line when the disk that holds .pawl has become full, and when it has space again. It is for a view of a run
// that another process works on; an engine gives such notices itself.
func (l *View) CheckSpace() {
	space, err := l.space()
	if full := err == nil && space.Full(); full != l.full {
		l.full = full
		if full {
			l.Notice(fmt.Sprintf("the disk that holds .pawl is full: %s; pawl waits until there is space", space))
		} else {
			l.Notice("the disk that holds .pawl has space again")
		}
	}
}

// Begin starts to show a run from its current state.
func (l *View) Begin(state *pawl.State, plan *pawl.Plan) {
	l.plan, l.state, l.began = plan, state, state.Seq // until run has a copy
	l.names = runs.OpenItemNames(l.project, l.state)
	fmt.Fprintf(l.out, "run %s: %s, mode: %s\n", state.Run, layout.Count(len(plan.Steps()), "step"), state.Mode)
	l.adopted(state)
	now := time.Now()
	for id, st := range state.Steps {
		if st.Items != nil {
			l.paces[id] = &pace{begun: now, base: st.Items.Count}
		} else if live := st.Retries.Live; live != nil {
			l.started[id] = live.Started
		}
	}
	run := state.Run
	l.outputs.dirOf = func(ref pawl.AttemptRef) string { return l.project.AttemptDir(ref, run) }
	if l.command = state.Kind == pawl.CommandRun; l.command {
		l.screen = nil
	}
	if l.command && !l.quiet {
		l.outputs.copyTo(layout.Output(l.out), layout.Output(l.errOut))
	}
	l.outputs.follow(state.Live(), true)
	l.mu.Lock()
	l.begun = true
	l.mu.Unlock()
	clone := memo.Copier(state)
	if clone == nil {
		clone = state.Cloner()
	}
	go l.run(clone)
}

// redrawEvery is how often the view looks for new output, and for a new size of the terminal.
const redrawEvery = 200 * time.Millisecond

// adopted says what a run adopted from an earlier one.
func (l *View) adopted(state *pawl.State) {
	steps, items := 0, 0
	for _, st := range state.Steps {
		if st.From != nil {
			steps++
		} else if st.Items != nil {
			items += st.Items.Count
		}
	}
	switch {
	case state.Update == nil:
	case steps > 0:
		fmt.Fprintf(l.out, "%s up to date, from run %s\n", layout.Count(steps, "step"), state.Update.Run)
	case items > 0:
		fmt.Fprintf(l.out, "%s up to date, from run %s\n", layout.Count(items, "item"), state.Update.Run)
	}
}

// run prints what happens. clone returns the state to which that happens.
func (l *View) run(clone func() *pawl.State) {
	defer close(l.done)
	l.state = clone()
	l.names = runs.OpenItemNames(l.project, l.state)
	tick := time.NewTicker(redrawEvery)
	defer tick.Stop()
	for {
		select {
		case <-l.wake:
			l.printQueued()
		case <-tick.C:
			l.outputs.poll()
			l.redraw()
		case <-l.stop:
			l.printQueued()
			l.outputs.follow(nil, false)
			return
		}
	}
}

// printQueued prints what is queued.
func (l *View) printQueued() {
	l.mu.Lock()
	queue := l.queue
	l.queue = nil
	l.mu.Unlock()
	for _, q := range queue {
		if q.text != "" {
			l.print(layout.Line{{Text: q.text, Colour: layout.Yellow}})
			continue
		}
		l.state.Apply(q.event)
		l.outputs.follow(l.state.Live(), false)
		l.print(l.eventLines(q.event)...)
	}
}

// print prints lines above what is redrawn.
func (l *View) print(lines ...layout.Line) {
	if len(lines) == 0 {
		return
	}
	if l.screen != nil {
		l.screen.print(lines, l.frame())
		return
	}
	for _, line := range lines {
		_ = layout.PrintLine(l.out, line...) // whoever reads our output may be gone
	}
}

// printOutput prints a line of an attempt's output.
func (l *View) printOutput(ref pawl.AttemptRef, text string) {
	l.print(layout.Line{{Text: fmt.Sprintf("%-20s ", l.nameOf(ref)), Colour: layout.Faint}, {Text: "| " + text}})
}

func (l *View) redraw() {
	if l.screen != nil {
		l.screen.draw(l.frame())
	}
}

// End stops the view and prints the outcome. It returns err, without the hint to list the gates if it has just printed them.
func (l *View) End(ctx context.Context, state *pawl.State, plan *pawl.Plan, err error) error {
	close(l.stop)
	<-l.done
	l.mu.Lock()
	l.begun = false
	l.mu.Unlock()
	if l.screen != nil {
		l.screen.draw(nil)
	}
	name := layout.Span{Text: "run " + string(state.Run)}
	if err == nil {
		took := fmt.Sprintf(" in %s (%s of step time)", cmp.Or(layout.Seconds(state.Updated.Sub(state.Created).Seconds()), "0s"), cmp.Or(layout.Seconds(state.Spent.Seconds), "0s"))
		if state.Why != "" {
			took += "; " + state.Why
		}
		_ = layout.PrintLine(l.out, name, layout.Span{Text: " completed", Colour: layout.Green}, layout.Span{Text: took}) // whoever reads our output may be gone
		return nil
	}
	if open := state.OpenGates(); pawl.KindOf(err) == pawl.KindAtGate && len(open) > 0 {
		onRun := hints.Namer(ctx, l.project, state.Run)
		for _, g := range open {
			fmt.Fprintln(l.out)
			layout.PrintGate(l.out, layout.GateReportOf(plan, state, g).With(onRun))
		}
		if strings.HasPrefix(pawl.HintOf(err), "pawl gates") {
			err = &pawl.Error{Kind: pawl.KindAtGate, Err: errors.New(err.Error())}
		}
	}
	if errors.Is(err, context.Canceled) {
		fmt.Fprintf(l.out, "run %s is at %d%%\n", state.Run, state.Percent(plan))
		return err
	}
	status := state.StatusNow(false)
	_ = layout.PrintLine(l.out, name, layout.Span{Text: fmt.Sprintf(" stopped at %d%% (", state.Percent(plan))},
		layout.Span{Text: string(status), Colour: layout.RunColour(status)}, layout.Span{Text: ")"})
	return err
}
