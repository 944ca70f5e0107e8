// Package liveview prints a run while it progresses: bars that redraw on a terminal, plain lines in a pipe.
package liveview

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"pawl"
	"pawl/internal/cli/hints"
	"pawl/internal/cli/layout"
	"pawl/internal/disk"
	"pawl/internal/project"
)

// View shows a run while it is worked on: progress bars on a terminal, plain lines in a pipe. It never blocks the
// engine: events are queued, and a goroutine prints them.
type View struct {
	out     io.Writer
	errOut  io.Writer
	project *project.Project
	screen  *screen // nil in a pipe
	plan    *pawl.Plan
	state   *pawl.State // folded from the same events as the engine's
	mu      sync.Mutex  // guards queue
	queue   []pawl.Event
	wake    chan struct{}
	done    chan struct{}
	stop    chan struct{}
	printed map[pawl.StepID]int       // finished items at the last line about them, in a pipe
	begun   map[pawl.StepID]time.Time // when steps with items started or, at the earliest, when this view did
	base    map[pawl.StepID]int       // finished items when this view began
	files   []*tail                   // output of a run of one command
	began   pawl.Seq                  // the last event before this view began
	full    bool                      // CheckSpace has said that the disk is full
	space   func() (disk.Space, error)
}

// New returns a view that prints to out, and what interrupts it to errOut.
func New(out, errOut io.Writer, p *project.Project) *View {
	l := &View{
		out: out, errOut: errOut, project: p, wake: make(chan struct{}, 1), done: make(chan struct{}), stop: make(chan struct{}),
		printed: map[pawl.StepID]int{}, begun: map[pawl.StepID]time.Time{}, base: map[pawl.StepID]int{},
	}
	l.space = func() (disk.Space, error) { return disk.SpaceOf(p.Home()) }
	if layout.IsTerminal(out) {
		l.screen = &screen{out: layout.Unfiltered(out)}
	}
	return l
}

// Notify queues an event. It never blocks.
func (l *View) Notify(e pawl.Event) {
	l.mu.Lock()
	l.queue = append(l.queue, e)
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Interrupted explains the first Ctrl-C, and what a second one does.
func (l *View) Interrupted() {
	fmt.Fprintln(l.errOut, "\npawl: stopping: no new attempts start; running ones continue under their supervisors (Ctrl-C again within 3s terminates them)")
}

// Notice shows a line for the user that is no event, such as that the disk is full.
func (l *View) Notice(text string) { fmt.Fprintf(l.errOut, "pawl: %s\n", layout.OneLine(text)) }

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
	l.plan, l.state, l.began = plan, state.Clone(), state.Seq
	fmt.Fprintf(l.out, "run %s: %s, mode: %s\n", state.Run, layout.Count(len(plan.Steps()), "step"), state.Mode)
	l.adopted(state)
	now := time.Now()
	for id, st := range state.Steps {
		if st.Items != nil {
			l.begun[id], l.base[id] = now, st.Items.Count
		}
	}
	if state.Kind == pawl.CommandRun {
		l.screen = nil // only the command's own output is shown
		for _, live := range state.Live() {
			l.followOutput(live.AttemptRef)
		}
	}
	go l.run()
}

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

func (l *View) run() {
	defer close(l.done)
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-l.wake:
			l.printQueued()
		case <-tick.C:
			l.copyOutput()
			if l.screen != nil {
				l.screen.draw(l.progressLines(time.Now()))
			}
		case <-l.stop:
			l.printQueued()
			return
		}
	}
}

// printQueued prints the queued events.
func (l *View) printQueued() {
	l.mu.Lock()
	events := l.queue
	l.queue = nil
	l.mu.Unlock()
	for _, e := range events {
		l.state.Apply(e)
		if p, err := e.Payload(); err == nil && l.state.Kind == pawl.CommandRun {
			if started, ok := p.(pawl.AttemptStarted); ok {
				l.followOutput(started.AttemptRef)
			} else {
				l.copyOutput()
			}
		}
		if line := l.eventLine(e); line != "" {
			if l.screen != nil {
				l.screen.print(strings.Split(line, "\n"), colourOf(e.Type), l.progressLines(time.Now()))
			} else {
				fmt.Fprintln(l.out, line)
			}
		}
	}
}

// colourOf returns the terminal colour code of an event, "" for none. NO_COLOR switches colours off (no-color.org).
func colourOf(t pawl.EventType) string {
	if os.Getenv("NO_COLOR") != "" {
		return ""
	}
	switch t {
	case pawl.StepDone{}.Event():
		return "32" // green
	case pawl.StepFailed{}.Event(), pawl.AttemptEnded{}.Event(), pawl.WatchdogActed{}.Event():
		return "31" // red
	case pawl.GateOpened{}.Event(), pawl.BlockerOpened{}.Event():
		return "33" // yellow
	}
	return ""
}

// End stops the view and prints the outcome. It returns err, without the hint to list the gates if it has just printed them.
func (l *View) End(ctx context.Context, state *pawl.State, plan *pawl.Plan, err error) error {
	close(l.stop)
	<-l.done
	if l.screen != nil {
		l.screen.draw(nil)
	}
	if err == nil {
		why := state.Why
		if why != "" {
			why = "; " + why
		}
		fmt.Fprintf(l.out, "run %s completed in %s (%s of step time)%s\n", state.Run, cmp.Or(layout.Seconds(state.Updated.Sub(state.Created).Seconds()), "0s"), cmp.Or(layout.Seconds(state.Spent.Seconds), "0s"), why)
		return nil
	}
	if open := state.OpenGates(); pawl.KindOf(err) == pawl.KindAtGate && len(open) > 0 {
		onRun := hints.Namer(ctx, l.project, state.Run)
		for _, g := range open {
			fmt.Fprintln(l.out)
			layout.PrintGate(l.out, layout.GateReportOf(g).With(onRun))
		}
		if strings.HasPrefix(pawl.HintOf(err), "pawl gates") {
			err = &pawl.Error{Kind: pawl.KindAtGate, Err: errors.New(err.Error())}
		}
	}
	if errors.Is(err, context.Canceled) {
		fmt.Fprintf(l.out, "run %s is at %d%%\n", state.Run, state.Percent(plan))
	} else {
		fmt.Fprintf(l.out, "run %s stopped at %d%% (%s)\n", state.Run, state.Percent(plan), state.StatusNow(false))
	}
	return err
}

// eventLine describes an event in one line. It is empty for events that are not shown.
func (l *View) eventLine(e pawl.Event) string {
	payload, err := e.Payload()
	if err != nil {
		return ""
	}
	switch p := payload.(type) {
	case pawl.StepListed:
		return fmt.Sprintf("%-20s %s", p.Step, layout.Count(p.From+len(p.Items), "item"))
	case pawl.AttemptStarted:
		if _, known := l.begun[p.Step]; !known {
			l.begun[p.Step] = e.Time
		}
		if p.Item != "" {
			return ""
		}
		return startedLine(p)
	case pawl.ItemDone:
		return l.itemLine(p.Step)
	case pawl.StepDone:
		return l.doneLine(p)
	case pawl.AttemptEnded:
		if p.Outcome == pawl.WaitsFor {
			return "" // the line of its gate says so
		}
		return attemptEndedLine(p) + leftoversLine(p.Stats) + l.outputTail(p)
	case pawl.ServiceReady:
		return fmt.Sprintf("%-20s ready%s", p.Step, l.readyAfter(p.AttemptRef, e.Time))
	case pawl.StepFailed:
		if p.Continued {
			return fmt.Sprintf("%-20s failed: %s; the run continues (continue_on_error)", p.Step, p.Why)
		}
		return fmt.Sprintf("%-20s failed: %s", p.Step, p.Why)
	case pawl.StepReopened:
		delete(l.begun, p.Step)
		delete(l.base, p.Step)
		return fmt.Sprintf("%-20s rerun: %s", p.Step, p.Text(l.state))
	case pawl.StepSkipped:
		if p.Condition != "" {
			return fmt.Sprintf("%-20s skipped: if %s", p.Step, layout.OneLine(p.Condition))
		}
		return fmt.Sprintf("%-20s skipped", p.Step)
	case pawl.GateOpened:
		return fmt.Sprintf("%-20s gate %s: %s", p.Step, p.ID, p.Ask)
	case pawl.GateAnswered:
		return fmt.Sprintf("%-20s gate %s %s%s%s", p.Step, p.Gate, strings.TrimSpace(string(p.Answer)+" "+p.Option), layout.Parenthesized(p.Why), inFile(p.Where))
	case pawl.BlockerOpened:
		return fmt.Sprintf("%-20s blocked: %s", p.Step, p.Text)
	case pawl.WatchdogActed:
		return fmt.Sprintf("%-20s watchdog: %s: %s (%s)", p.Name(), p.Health, p.Action, p.Evidence)
	case pawl.MachineSlept:
		return fmt.Sprintf("the machine was suspended for %s", layout.Seconds(p.Seconds))
	case pawl.Progressed:
		if l.screen == nil && p.Marker == nil && p.Text != "" {
			return fmt.Sprintf("%-20s %s", p.Name(), p.Text)
		}
	}
	return ""
}

func startedLine(p pawl.AttemptStarted) string {
	if p.Attempt > 1 {
		return fmt.Sprintf("%-20s started (attempt %d)", p.Step, p.Attempt)
	}
	return fmt.Sprintf("%-20s started", p.Step)
}

func (l *View) doneLine(p pawl.StepDone) string {
	st := l.state.Steps[p.Step]
	note, took := cmp.Or(p.Adopted, p.Summary), st.Seconds
	if begun, known := l.begun[p.Step]; known && st.Items != nil {
		took = st.Ended.Sub(begun).Seconds()
		note = strings.TrimPrefix(note+", "+cmp.Or(layout.Seconds(st.Seconds), "0s")+" of step time", ", ")
	}
	if p.Save != nil && p.Save.Unsaved() != "" {
		note = layout.WithoutSnapshot(note, p.Save.Unsaved())
	}
	text := fmt.Sprintf("%-20s done", p.Step)
	if took > 0 {
		text += " in " + layout.Seconds(took)
	}
	return text + layout.Parenthesized(note) + leftoversLine(p.Stats)
}

// readyAfter says how long a service took until it was ready; "" if it was ready when pawl found it again.
func (l *View) readyAfter(ref pawl.AttemptRef, now time.Time) string {
	live := l.state.Steps[ref.Step].Serving()
	if live == nil || l.state.Engines > 1 && live.Seq < l.began {
		return ""
	}
	return " after " + cmp.Or(layout.Seconds(now.Sub(live.Started).Seconds()), "0s")
}

// leftoversLine is a line about processes that a step left running; "" for none.
func leftoversLine(stats *pawl.AttemptStats) string {
	if stats == nil || stats.Killed == 0 {
		return ""
	}
	return "\n    " + layout.Leftovers(stats.Killed, stats.Leftovers) + "; for a process that later steps need, use a service step"
}

// followOutput starts to copy the output of an attempt.
func (l *View) followOutput(ref pawl.AttemptRef) {
	dir := l.project.AttemptDir(ref, l.state.Run)
	l.files = []*tail{{path: filepath.Join(dir, pawl.OutFile), to: layout.Output(l.out)}, {path: filepath.Join(dir, pawl.ErrFile), to: layout.Output(l.errOut)}}
}

// copyOutput copies what the attempt has printed since the last call.
func (l *View) copyOutput() {
	for _, f := range l.files {
		f.copyNew()
	}
}

// tail copies a growing file.
type tail struct {
	path   string
	offset int64
	to     io.Writer
}

func (s *tail) copyNew() {
	f, err := disk.Open(s.path)
	if err != nil {
		return // not created yet
	}
	defer f.Close()
	n, _ := io.Copy(s.to, io.NewSectionReader(f, s.offset, 1<<62)) // whoever reads our output may be gone
	s.offset += n
}

// outputTail returns the last lines that a failed attempt printed, indented.
func (l *View) outputTail(p pawl.AttemptEnded) string {
	if p.Outcome != pawl.Failed || l.state.Kind == pawl.CommandRun {
		return ""
	}
	dir := l.project.AttemptDir(p.AttemptRef, l.state.Run)
	for _, name := range []string{pawl.ErrFile, pawl.OutFile} {
		if lines := lastLines(filepath.Join(dir, name), 5); len(lines) > 0 {
			return "\n    | " + strings.Join(lines, "\n    | ")
		}
	}
	return ""
}

// lastLines returns the last n lines of a file; none if it cannot be read.
func lastLines(path string, n int) []string {
	f, err := disk.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	const limit = 4096
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	tail := make([]byte, min(limit, info.Size()))
	if _, err := f.ReadAt(tail, info.Size()-int64(len(tail))); err != nil {
		return nil
	}
	text := strings.TrimSpace(string(layout.WithoutNUL(tail)))
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	return lines[max(0, len(lines)-n):]
}

// inFile names the file of another system in which a user wrote an answer.
func inFile(where string) string {
	if where == "" {
		return ""
	}
	return ", written in " + where
}

// itemLine reports in a pipe how many items are finished, about ten times per step.
func (l *View) itemLine(id pawl.StepID) string {
	items := l.state.Steps[id].Items
	if l.screen != nil || items.Count < items.Size() && items.Count-l.printed[id] < max(1, items.Size()/10) {
		return ""
	}
	l.printed[id] = items.Count
	return fmt.Sprintf("%-20s %d of %d items", id, items.Count, items.Size())
}

func attemptEndedLine(p pawl.AttemptEnded) string {
	text := fmt.Sprintf("%-20s attempt %d %s: %s", p.Name(), p.Attempt, OutcomeText(p.Outcome), p.Why)
	if !p.RetryAt.IsZero() {
		text += fmt.Sprintf("; next attempt at %s UTC", p.RetryAt.UTC().Format(time.TimeOnly))
	}
	return text
}

// OutcomeText returns the outcome of an attempt for people.
func OutcomeText(o pawl.Outcome) string {
	switch o {
	case pawl.Lost:
		return "crashed"
	case pawl.NotStarted:
		return "crashed before it started"
	}
	return string(o)
}

// progressLines draws the running steps, each with its progress, the elapsed time and an estimate of the time left.
func (l *View) progressLines(now time.Time) []string {
	var lines []string
	for _, step := range l.plan.Steps() {
		st := l.state.Steps[step.ID]
		if st == nil || st.Status != pawl.Running {
			continue
		}
		elapsed := now.Sub(st.Started).Round(time.Second).String() + " elapsed"
		switch live := st.Serving(); {
		case live != nil:
			lines = append(lines, fmt.Sprintf("%-20s service, ready for %s", step.ID, now.Sub(live.Ready).Round(time.Second)))
		case st.Items != nil:
			text := fmt.Sprintf("%-20s %s %d/%d, %s", step.ID, bar(st.Items.Count, st.Items.Size()), st.Items.Count, st.Items.Size(), elapsed)
			if eta := TimeLeft(st.Items.Count-l.base[step.ID], st.Items.Size()-st.Items.Count, now.Sub(l.begun[step.ID])); eta > 0 {
				text += ", ETA " + eta.String()
			}
			lines = append(lines, text)
		case st.Progress != nil && st.Progress.Done != nil:
			total := 100.0
			if st.Progress.Total != nil {
				total = *st.Progress.Total
			}
			lines = append(lines, fmt.Sprintf("%-20s %s %s, %s", step.ID, bar(int(*st.Progress.Done), int(total)), st.Progress.Text, elapsed))
		default:
			lines = append(lines, fmt.Sprintf("%-20s %s", step.ID, elapsed))
		}
	}
	percent := l.state.Percent(l.plan)
	return append(lines, fmt.Sprintf("%-20s %s %d%%", "", bar(percent, 100), percent))
}

// TimeLeft extrapolates from the items that were finished in a time. It returns 0 if none were.
func TimeLeft(finished, left int, elapsed time.Duration) time.Duration {
	if finished <= 0 {
		return 0
	}
	return (elapsed * time.Duration(left) / time.Duration(finished)).Round(time.Second)
}

// bar draws done of total in 20 cells.
func bar(done, total int) string {
	const cells = 20
	full := 0
	if total > 0 {
		full = min(cells, max(0, done)*cells/total)
	}
	return "[" + strings.Repeat("█", full) + strings.Repeat("░", cells-full) + "]"
}

// screen keeps some lines at the end of a terminal and redraws them in place.
type screen struct {
	out   io.Writer
	lines []string
}

// draw replaces the lines.
func (s *screen) draw(lines []string) {
	var b strings.Builder
	if len(s.lines) > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\x1b[J", len(s.lines))
	}
	for _, line := range lines {
		b.WriteString(fit(layout.Visible(line), s.width()) + "\n")
	}
	s.lines = lines
	io.WriteString(s.out, b.String())
}

// print puts lines above the lines that stay.
func (s *screen) print(lines []string, colour string, stay []string) {
	s.draw(nil)
	for _, line := range lines {
		line = fit(layout.Visible(line), s.width())
		if colour != "" {
			line = "\x1b[" + colour + "m" + line + "\x1b[0m"
		}
		fmt.Fprintln(s.out, line)
	}
	s.draw(stay)
}

func (s *screen) width() int {
	f, ok := s.out.(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// fit cuts a line so that it takes one row.
func fit(line string, width int) string {
	runes := []rune(line)
	if width <= 1 || len(runes) < width {
		return line
	}
	return string(runes[:width-2]) + "…"
}
