package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"pawl"
	"pawl/internal/project"
)

// live shows a run while an engine of this process carries it on: bars that are redrawn on a terminal, plain lines in a
// pipe. The engine is never held up by it: events are queued, and a goroutine prints them.
type live struct {
	a       *app
	project *project.Project
	screen  *screen // nil in a pipe
	plan    *pawl.Plan
	state   *pawl.State // folded from the same events as the engine's
	mu      sync.Mutex  // guards queue
	queue   []pawl.Event
	wake    chan struct{}
	done    chan struct{}
	stop    chan struct{}
	shown   map[pawl.StepID]int // finished items said so far, in a pipe
	streams []*stream           // what a run of one command prints
}

func newLive(a *app, p *project.Project) *live {
	l := &live{
		a: a, project: p, wake: make(chan struct{}, 1), done: make(chan struct{}), stop: make(chan struct{}),
		shown: map[pawl.StepID]int{},
	}
	if onTerminal(a.Out) {
		l.screen = &screen{out: a.Out}
	}
	return l
}

// notify takes an event; it never blocks.
func (l *live) notify(e pawl.Event) {
	l.mu.Lock()
	l.queue = append(l.queue, e)
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// interrupted says at the first Ctrl-C what it does, and what a second one would do.
func (l *live) interrupted() {
	fmt.Fprintln(l.a.Err, "\npawl: nothing more is started; running attempts are left to their supervisors (Ctrl-C again within 3s ends them too)")
}

// begin starts showing a run from its state so far.
func (l *live) begin(state *pawl.State, plan *pawl.Plan) {
	l.plan, l.state = plan, state.Clone()
	fmt.Fprintf(l.a.Out, "run %s: %s, %s\n", state.Run, count(len(plan.Steps()), "step"), state.Mode)
	if state.Kind == pawl.CommandRun {
		l.screen = nil // the command's own output is what is shown
		for _, live := range state.Live() {
			l.follow(live.AttemptRef)
		}
	}
	go l.run()
}

func (l *live) run() {
	defer close(l.done)
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-l.wake:
			l.printQueued()
		case <-tick.C:
			l.pour()
			if l.screen != nil {
				l.screen.draw(liveLines(l.plan, l.state, time.Now()))
			}
		case <-l.stop:
			l.printQueued()
			return
		}
	}
}

// printQueued prints what happened since.
func (l *live) printQueued() {
	l.mu.Lock()
	events := l.queue
	l.queue = nil
	l.mu.Unlock()
	for _, e := range events {
		l.state.Apply(e)
		if p, err := e.Payload(); err == nil && l.state.Kind == pawl.CommandRun {
			if started, ok := p.(pawl.AttemptStarted); ok {
				l.follow(started.AttemptRef)
			} else {
				l.pour()
			}
		}
		if line := l.line(e); line != "" {
			if l.screen != nil {
				l.screen.print(strings.Split(line, "\n"), colourOf(e.Type), liveLines(l.plan, l.state, time.Now()))
			} else {
				fmt.Fprintln(l.a.Out, line)
			}
		}
	}
}

// colourOf returns the colour, as a terminal's code, of what people look for; none where the user has said NO_COLOR
// (no-color.org).
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

// end stops showing, and says how things stand.
func (l *live) end(state *pawl.State, plan *pawl.Plan, err error) {
	close(l.stop)
	<-l.done
	if l.screen != nil {
		l.screen.draw(nil)
	}
	if err == nil {
		fmt.Fprintf(l.a.Out, "run %s completed in %s; running time %s\n", state.Run, cmp.Or(seconds(state.Updated.Sub(state.Created).Seconds()), "0s"), cmp.Or(seconds(state.Spent.Seconds), "0s"))
		return
	}
	if pawl.KindOf(err) == pawl.KindAtGate {
		for _, g := range state.OpenGates() {
			fmt.Fprintln(l.a.Out)
			printGate(l.a.Out, gateOf(g))
		}
	}
	fmt.Fprintf(l.a.Out, "run %s at %d%%\n", state.Run, state.Percent(plan))
}

// line says an event in one line, empty for what is not worth one.
func (l *live) line(e pawl.Event) string {
	payload, err := e.Payload()
	if err != nil {
		return ""
	}
	switch p := payload.(type) {
	case pawl.StepListed:
		return fmt.Sprintf("%-20s %d items", p.Step, p.From+len(p.Items))
	case pawl.AttemptStarted:
		if p.Item != "" {
			return ""
		}
		if p.Attempt > 1 {
			return fmt.Sprintf("%-20s started (attempt %d)", p.Step, p.Attempt)
		}
		return fmt.Sprintf("%-20s started", p.Step)
	case pawl.ItemDone:
		return l.itemLine(p.Step)
	case pawl.StepDone:
		return l.doneLine(p)
	case pawl.AttemptEnded:
		if p.Outcome == pawl.WaitsFor {
			return "" // its gate has said so
		}
		return attemptEndedLine(p) + l.outputTail(p)
	case pawl.StepFailed:
		return fmt.Sprintf("%-20s failed: %s", p.Step, p.Why)
	case pawl.StepReopened:
		return fmt.Sprintf("%-20s runs again: %s", p.Step, p.Why)
	case pawl.StepSkipped:
		return fmt.Sprintf("%-20s skipped", p.Step)
	case pawl.GateOpened:
		return fmt.Sprintf("%-20s gate %s: %s", p.Step, p.ID, p.Ask)
	case pawl.GateAnswered:
		return fmt.Sprintf("%-20s gate %s %s%s%s", p.Step, p.Gate, strings.TrimSpace(string(p.Answer)+" "+p.Option), parenthesized(p.Why), inFile(p.Where))
	case pawl.BlockerOpened:
		return fmt.Sprintf("%-20s blocked: %s", p.Step, p.Text)
	case pawl.WatchdogActed:
		return fmt.Sprintf("%-20s watchdog: %s: %s (%s)", p.Name(), p.Health, p.Action, p.Evidence)
	case pawl.MachineSlept:
		return fmt.Sprintf("the machine slept for %s", seconds(p.Seconds))
	case pawl.Progressed:
		if l.screen == nil && p.Marker == nil && p.Text != "" {
			return fmt.Sprintf("%-20s %s", p.Name(), p.Text)
		}
	}
	return ""
}

func (l *live) doneLine(p pawl.StepDone) string {
	note := cmp.Or(p.Adopted, p.Summary)
	if p.Save != nil && p.Save.Unsaved() != "" {
		note = noSnapshot(note, p.Save.Unsaved())
	}
	return fmt.Sprintf("%-20s done  %s", p.Step, strings.TrimSpace(seconds(l.state.Steps[p.Step].Seconds)+"  "+note))
}

// follow prints from now on what an attempt prints.
func (l *live) follow(ref pawl.AttemptRef) {
	dir := l.project.AttemptDir(ref, l.state.Run)
	l.streams = []*stream{{path: filepath.Join(dir, pawl.OutFile), to: l.a.Out}, {path: filepath.Join(dir, pawl.ErrFile), to: l.a.Err}}
}

// pour prints what has come since.
func (l *live) pour() {
	for _, s := range l.streams {
		s.pour()
	}
}

// stream copies a growing file.
type stream struct {
	path   string
	offset int64
	to     io.Writer
}

func (s *stream) pour() {
	f, err := os.Open(s.path)
	if err != nil {
		return // not there yet
	}
	defer f.Close()
	n, _ := io.Copy(s.to, io.NewSectionReader(f, s.offset, 1<<62)) // a reader that went away wants no more
	s.offset += n
}

// outputTail returns the end of what a failed attempt printed, as lines below its own.
func (l *live) outputTail(p pawl.AttemptEnded) string {
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

// lastLines returns the last n lines of a file, none where it cannot be read.
func lastLines(path string, n int) []string {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	const most = 4096
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	tail := make([]byte, min(most, info.Size()))
	if _, err := f.ReadAt(tail, info.Size()-int64(len(tail))); err != nil {
		return nil
	}
	text := strings.TrimSpace(string(withoutNUL(tail)))
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	return lines[max(0, len(lines)-n):]
}

// inFile says in which file of another system a person wrote an answer.
func inFile(where string) string {
	if where == "" {
		return ""
	}
	return ", by hand in " + where
}

// itemLine says, in a pipe, how far a work list is, about ten times a list.
func (l *live) itemLine(id pawl.StepID) string {
	items := l.state.Steps[id].Items
	if l.screen != nil || items.Count < items.Total && items.Count-l.shown[id] < max(1, items.Total/10) {
		return ""
	}
	l.shown[id] = items.Count
	return fmt.Sprintf("%-20s %d of %d items", id, items.Count, items.Total)
}

func attemptEndedLine(p pawl.AttemptEnded) string {
	text := fmt.Sprintf("%-20s attempt %d %s: %s", p.Name(), p.Attempt, p.Outcome, p.Why)
	if !p.RetryAt.IsZero() {
		text += fmt.Sprintf("; again at %s", p.RetryAt.Local().Format("15:04:05"))
	}
	return text
}

// liveLines draws what is under way: a bar for items, elapsed against limit and estimate.
func liveLines(plan *pawl.Plan, state *pawl.State, now time.Time) []string {
	var lines []string
	for _, step := range plan.Steps() {
		st := state.Steps[step.ID]
		if st == nil || st.Status != pawl.Running {
			continue
		}
		elapsed := now.Sub(st.Started).Round(time.Second)
		limit := fmt.Sprintf("%s  limit %s, estimate %s", elapsed, step.Timeout, step.Estimate)
		switch {
		case st.Items != nil:
			lines = append(lines, fmt.Sprintf("%-20s %s %d/%d  %s", step.ID, bar(st.Items.Count, st.Items.Total), st.Items.Count, st.Items.Total, limit))
		case st.Progress != nil && st.Progress.Done != nil:
			total := 100.0
			if st.Progress.Total != nil {
				total = *st.Progress.Total
			}
			lines = append(lines, fmt.Sprintf("%-20s %s %s  %s", step.ID, bar(int(*st.Progress.Done), int(total)), st.Progress.Text, limit))
		default:
			lines = append(lines, fmt.Sprintf("%-20s %s", step.ID, limit))
		}
	}
	return append(lines, fmt.Sprintf("%-20s %s %d%%", "", bar(state.Percent(plan), 100), state.Percent(plan)))
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
		b.WriteString(fit(line, s.width()) + "\n")
	}
	s.lines = lines
	io.WriteString(s.out, b.String())
}

// print puts lines above the lines that stay.
func (s *screen) print(lines []string, colour string, stay []string) {
	s.draw(nil)
	for _, line := range lines {
		line = fit(line, s.width())
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
