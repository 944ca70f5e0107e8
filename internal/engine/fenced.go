package engine

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"pawl"
	"pawl/internal/journal"
	"pawl/internal/supervise"
)

// takenOverError means that another engine has taken the run over. It wraps pawl.ErrFenced.
type takenOverError struct {
	run   pawl.RunID
	by    string   // the other engine
	ended []string // names of attempts of this engine that end with it
}

func (e *takenOverError) Error() string {
	text := fmt.Sprintf("run %s was taken over by another engine: %s; this one stops", e.run, e.by)
	if len(e.ended) > 0 {
		text += ", and ends what it ran: " + strings.Join(e.ended, ", ")
	}
	return text
}

// Unwrap gives the error its kind.
func (e *takenOverError) Unwrap() error {
	return &pawl.Error{Kind: pawl.KindHeld, Err: pawl.ErrFenced, Hint: fmt.Sprintf("pawl log %[1]s shows what that one does; once it has ended, pawl resume --pull %[1]s continues here", e.run)}
}

// newerEngine returns the event with which another engine took the run over; nil for none.
func (e *Engine) newerEngine(news []pawl.Event) *pawl.Event {
	for i, event := range news {
		if event.Type == (pawl.EngineStarted{}).Event() && e.epoch > 0 && event.Epoch > e.epoch {
			return &news[i]
		}
	}
	return nil
}

// fenced is called when the journal has refused an append: another engine has the run. That engine may have written nothing yet; then
// only its host is known.
func (e *Engine) fenced(refused error) error {
	live := e.state.Live()
	news, err := e.log.NewEvents()
	if err != nil {
		return errors.Join(refused, err)
	}
	for _, event := range news {
		e.state.Apply(event)
	}
	if newer := e.newerEngine(news); newer != nil {
		return e.takenOver(newer, live)
	}
	holder, held, err := journal.LeaseHolder(e.cfg.Project.Runs(), e.run)
	if !held || err != nil {
		return errors.Join(refused, err)
	}
	return &takenOverError{run: e.run, by: "on host " + holder.Host, ended: e.endOwn(live)}
}

// takenOver ends the attempts that only this engine watches, because the newer one counts them as crashed, and returns an error that names
// it. An engine on the same files has re-attached them instead.
func (e *Engine) takenOver(newer *pawl.Event, live []*pawl.AttemptState) error {
	payload, err := newer.Payload()
	started, ok := payload.(pawl.EngineStarted)
	if err != nil || !ok {
		return errors.Join(pawl.ErrFenced, err)
	}
	lost := &takenOverError{run: e.run, by: fmt.Sprintf("pid %d on host %s, since %s UTC", started.PID, started.Host, newer.Time.UTC().Format(time.DateTime))}
	if started.Home != "" && started.Home != e.cfg.Project.ID {
		lost.ended = e.endOwn(live)
	}
	return lost
}

// endOwn asks the supervisors of attempts on this machine to end them, and returns their names. Attempts on workers are left to the newer
// engine, which joins them.
func (e *Engine) endOwn(live []*pawl.AttemptState) (names []string) {
	for _, a := range live {
		if a.Home != e.cfg.Project.ID || a.Input != "" {
			continue
		}
		dir := e.cfg.Project.AttemptDir(a.AttemptRef, e.run)
		if err := supervise.RequestAbort(dir, pawl.Abort{Reason: pawl.ReasonAbort, Why: "another engine has taken the run over"}); err != nil {
			continue // it has ended
		}
		names = append(names, a.Name())
	}
	return names
}
