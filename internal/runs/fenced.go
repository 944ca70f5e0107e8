package runs

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"pawl"
	"pawl/internal/journal"
	"pawl/internal/project"
	"pawl/internal/supervise"
)

// TakenOverError means that another engine has taken a run over. It wraps pawl.ErrFenced.
type TakenOverError struct {
	Run   pawl.RunID
	By    string   // the other engine
	Ended []string // names of attempts of this engine that end with it
}

func (e *TakenOverError) Error() string {
	text := fmt.Sprintf("run %s was taken over by another engine: %s; this one stops", e.Run, e.By)
	if len(e.Ended) > 0 {
		text += ", and ends what it ran: " + strings.Join(e.Ended, ", ")
	}
	return text
}

// Unwrap gives the error its kind.
func (e *TakenOverError) Unwrap() error {
	return &pawl.Error{Kind: pawl.KindHeld, Err: pawl.ErrFenced, Hint: fmt.Sprintf("pawl log %[1]s shows what that one does; once it has ended, pawl resume --pull %[1]s continues here", e.Run)}
}

// A Fence finds out that another engine has taken over the run of an engine.
type Fence struct {
	Project *project.Project
	Run     pawl.RunID
	Epoch   pawl.Epoch           // of the engine; 0: it has not begun
	Live    []*pawl.AttemptState // that the engine watches
}

// Check returns an error if one of some new events began a newer engine. It ends the attempts that only the older one watches, because the
// newer one counts them as crashed. An engine on the same files has re-attached them instead.
func (f Fence) Check(news []pawl.Event) error {
	for _, event := range news {
		if event.Type != (pawl.EngineStarted{}).Event() || f.Epoch == 0 || event.Epoch <= f.Epoch {
			continue
		}
		payload, err := event.Payload()
		started, ok := payload.(pawl.EngineStarted)
		if err != nil || !ok {
			return errors.Join(pawl.ErrFenced, err)
		}
		lost := &TakenOverError{Run: f.Run, By: fmt.Sprintf("pid %d on host %s, since %s UTC", started.PID, started.Host, event.Time.UTC().Format(time.DateTime))}
		if started.Home != "" && started.Home != f.Project.ID {
			lost.Ended = f.end()
		}
		return lost
	}
	return nil
}

// Failed returns the error of an engine that could not append to its journal.
func (f Fence) Failed(err error, log *journal.Log) error {
	if !errors.Is(err, pawl.ErrFenced) {
		return err
	}
	news, errNews := log.NewEvents()
	return errors.Join(f.Refused(err, news), errNews)
}

// Refused returns the error of an engine whose append was refused, after which its journal has news. The newer engine may have written
// nothing yet; then only its host is known.
func (f Fence) Refused(refused error, news []pawl.Event) error {
	if err := f.Check(news); err != nil {
		return err
	}
	holder, held, err := journal.LeaseHolder(f.Project.Runs(), f.Run)
	if !held || err != nil {
		return errors.Join(refused, err)
	}
	return &TakenOverError{Run: f.Run, By: "on host " + holder.Host, Ended: f.end()}
}

// end asks the supervisors of attempts on this machine to end them, and returns their names. Attempts on workers are left to the newer
// engine, which joins them.
func (f Fence) end() (names []string) {
	for _, a := range f.Live {
		if a.Home != f.Project.ID || a.Input != "" {
			continue
		}
		abort := pawl.Abort{Reason: pawl.ReasonAbort, Why: "another engine has taken the run over"}
		if err := supervise.RequestAbort(f.Project.AttemptDir(a.AttemptRef, f.Run), abort); err == nil { // else it has ended
			names = append(names, a.Name())
		}
	}
	return names
}
