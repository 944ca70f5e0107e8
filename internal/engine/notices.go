package engine

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"pawl"
	"pawl/internal/decide"
	"pawl/internal/redact"
	"pawl/internal/runs"
	"pawl/internal/stepenv"
	"pawl/internal/supervise"
)

// receiver is somebody who gets notices.
type receiver struct {
	*pawl.Notify
	own bool // from the user's settings, not from the plan
}

// receivers returns those of the plan, then those of the user's settings.
func (e *Engine) receivers() []receiver {
	var all []receiver
	for i := range e.plan.Notify {
		all = append(all, receiver{&e.plan.Notify[i], false})
	}
	for i := range e.cfg.Receivers {
		all = append(all, receiver{&e.cfg.Receivers[i], true})
	}
	return all
}

// name returns the name that the journal has. A name of the settings may be one of the plan too.
func (r receiver) name() string {
	if r.own {
		return "user:" + r.Name
	}
	return r.Name
}

// notify sends what is due and was not sent yet, and reports whether anything is being sent. Workers send; the journal records the
// results. So a notice is sent again if the engine dies in between.
func (e *Engine) notify(helpers context.Context, end decide.Action) (sending bool) {
	receivers := e.receivers()
	if len(receivers) == 0 || e.cfg.Send == nil {
		return false
	}
	for _, n := range decide.Notices(e.plan.Plan, e.state, end, time.Now().UTC()) {
		for _, r := range receivers {
			key := n.ID + " " + r.name()
			if !slices.Contains(r.On, n.Kind) || e.state.Notified(n.ID, r.name()) {
				continue
			}
			if sending = true; !e.sending[key] {
				e.sending[key] = true
				e.send(helpers, key, n, r)
			}
		}
	}
	return sending
}

// send sends a notice in a worker.
func (e *Engine) send(ctx context.Context, key string, n pawl.Notice, r receiver) {
	n.Project = e.cfg.Project.Root
	n.Host, _ = os.Hostname() // informational
	sent := pawl.NoticeSent{Notice: n.ID, Kind: n.Kind, To: r.name()}
	d, err := e.delivery(n, r)
	e.spawn(func() func() {
		if err == nil {
			sent.Tries, err = e.cfg.Send(ctx, d)
		}
		interrupted := err != nil && ctx.Err() != nil
		return func() {
			delete(e.sending, key)
			if interrupted {
				return
			}
			if err != nil {
				sent.Error = runs.ClipText(err.Error())
				e.note("notification %s was not delivered: %s", sent.To, redact.OfProcess().Text(sent.Error))
			}
			e.emit(sent)
		}
	})
}

// delivery returns a notice with what sending it to a receiver needs.
func (e *Engine) delivery(n pawl.Notice, r receiver) (d pawl.Delivery, err error) {
	d = pawl.Delivery{
		To: r.name(), Key: fmt.Sprintf("%s/%s/%s", e.run, n.ID, r.name()), Notice: n, Command: r.Command, Dir: e.cfg.Project.Root,
	}
	if r.own {
		d.Webhook, d.Headers, err = stepenv.AddressFor(r.Notify, e.cfg.Environ)
		d.Environ = e.cfg.Environ
		return d, err
	}
	if d.Webhook, d.Headers, err = e.cfg.Secrets.Address(r.Notify); err != nil || r.Command == "" {
		return d, err
	}
	open, secret, err := e.cfg.Secrets.Of(e.plan.Plan, &pawl.Step{})
	if err != nil {
		return d, err
	}
	bin, err := supervise.BinFolder()
	if err != nil {
		return d, fmt.Errorf("prepare PATH: %w", err)
	}
	d.Environ = stepenv.Overlay(e.inherited, map[string]string{"PATH": bin + string(os.PathListSeparator) + os.Getenv("PATH")})
	d.Environ = stepenv.Overlay(stepenv.Overlay(d.Environ, open), secret)
	return d, nil
}
