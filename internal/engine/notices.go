package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"pawl"
	"pawl/internal/decide"
	"pawl/internal/project"
	"pawl/internal/redact"
	"pawl/internal/runs"
	"pawl/internal/stepenv"
)

// receiver is somebody who gets notices.
type receiver struct {
	*pawl.Notify
	own bool // from the user's settings, not from the plan
}

// name returns the name that the journal has. A name of the settings may be one of the plan too.
func (r receiver) name() string {
	if r.own {
		return "user:" + r.Name
	}
	return r.Name
}

// announcement is a notice that is due to a receiver.
type announcement struct {
	notice pawl.Notice
	to     receiver
}

func (x announcement) sent() pawl.NoticeSent {
	return pawl.NoticeSent{Notice: x.notice.ID, Kind: x.notice.Kind, To: x.to.name()}
}

// announcements returns what is due and was not sent yet: to the plan's receivers, then to those of the user's settings.
func (c *Config) announcements(plan *pawl.Plan, s *pawl.State, end decide.Action) []announcement {
	var receivers []receiver
	for i := range plan.Notify {
		receivers = append(receivers, receiver{&plan.Notify[i], false})
	}
	for i := range c.Receivers {
		receivers = append(receivers, receiver{&c.Receivers[i], true})
	}
	if len(receivers) == 0 || c.Send == nil {
		return nil
	}
	var due []announcement
	for _, n := range decide.Notices(plan, s, end, time.Now().UTC()) {
		n.Project = c.Project.Root
		n.Host, _ = os.Hostname() // informational
		for _, r := range receivers {
			if slices.Contains(r.On, n.Kind) && !s.Notified(n.ID, r.name()) {
				due = append(due, announcement{n, r})
			}
		}
	}
	return due
}

// notify sends what is due, and reports whether anything is being sent. Workers send; the journal records the results. So a notice
// is sent again if the engine dies in between.
func (e *Engine) notify(helpers context.Context, end decide.Action) (sending bool) {
	due := e.cfg.announcements(e.plan.Plan, e.state, end)
	for _, x := range due {
		if key := x.notice.ID + " " + x.to.name(); e.sending[key] == nil {
			e.send(helpers, key, x)
		}
	}
	return len(due) > 0
}

// errNotAwaited is why a notice was not delivered that the user did not want to wait for.
var errNotAwaited = errors.New("not sent completely: interrupted (Ctrl-C)")

// stopSending ends the sending of notices. They count as not delivered.
func (e *Engine) stopSending() {
	for _, stop := range e.sending {
		stop(errNotAwaited)
	}
}

// onlySending reports whether the run would end, or wait for a person, if no notices were being sent.
func (e *Engine) onlySending(wake decide.Action) bool {
	return len(e.sending) > 0 && e.idle() && (wake.Kind != decide.Sleep || wake.NeedsPerson)
}

// tellAfter is how long pawl sends a notice before it says so.
const tellAfter = time.Second

// waitsForReceiver is what pawl says while it sends a notice.
func waitsForReceiver(to string) string {
	return fmt.Sprintf("waiting until notification %s is delivered (at most %s); Ctrl-C stops waiting", to, pawl.NoticeLimit)
}

// send sends a notice in a worker. If the run waits only for that, pawl says so.
func (e *Engine) send(helpers context.Context, key string, x announcement) {
	ctx, stop := context.WithCancelCause(helpers)
	e.sending[key] = stop
	tell := time.AfterFunc(tellAfter, func() {
		e.callEngine(ctx, func() {
			if e.idle() && e.sending[key] != nil {
				e.cfg.Notice(waitsForReceiver(x.to.name()))
			}
		})
	})
	sent := x.sent()
	d, err := e.cfg.delivery(e.run, e.plan.Plan, e.inherited, x)
	e.spawn(func() func() {
		if err == nil {
			sent.Tries, err = e.cfg.Send(ctx, d)
		}
		tell.Stop()
		interrupted := err != nil && helpers.Err() != nil
		return func() {
			stop(nil)
			delete(e.sending, key)
			if interrupted {
				return
			}
			if err != nil {
				sent.Error = runs.ClipText(err.Error())
				e.notes = append(e.notes, undelivered(sent.To, err))
			}
			e.emit(sent)
		}
	})
}

func undelivered(to string, err error) string {
	return fmt.Sprintf("notification %s was not delivered: %s", to, redact.OfProcess().Text(err.Error()))
}

// delivery returns a notice with what sending it to a receiver needs. inherited is the environment of all steps.
func (c *Config) delivery(run pawl.RunID, plan *pawl.Plan, inherited []string, x announcement) (d pawl.Delivery, err error) {
	r := x.to
	d = pawl.Delivery{
		To: r.name(), Key: fmt.Sprintf("%s/%s/%s", run, x.notice.ID, r.name()), Notice: x.notice, Command: r.Command, Dir: c.Project.Root,
	}
	if r.own {
		d.Webhook, d.Headers, err = stepenv.AddressFor(r.Notify, c.Environ)
		d.Environ = c.Environ
		return d, err
	}
	if d.Webhook, d.Headers, err = c.Secrets.Address(r.Notify); err != nil || r.Command == "" {
		return d, err
	}
	open, secret, err := c.Secrets.Of(plan, &pawl.Step{})
	if err != nil {
		return d, err
	}
	path, err := c.path()
	if err != nil {
		return d, err
	}
	d.RunAs, d.Environ = c.account, stepenv.Overlay(inherited, map[string]string{"PATH": path})
	d.Environ = stepenv.Overlay(stepenv.Overlay(d.Environ, open), secret)
	return d, nil
}

// Announce sends the notices that are due in a run that no engine works on, and records those that were delivered. An engine sends
// the others later. notes are for the user, one for each that was not delivered.
func Announce(ctx context.Context, cfg Config, r *runs.Run, by pawl.Author) (notes []string, err error) {
	if err := cfg.findAccount(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	inherited, _ := stepenv.Inherited(cfg.Environ)
	due := cfg.announcements(r.Plan, r.State, decide.Action{})
	results := make([]pawl.NoticeSent, len(due))
	failures := make([]error, len(due))
	var sending sync.WaitGroup
	for i, x := range due {
		results[i] = x.sent()
		d, err := cfg.delivery(r.State.Run, r.Plan, inherited, x)
		if failures[i] = err; err == nil {
			sending.Go(func() { results[i].Tries, failures[i] = cfg.Send(ctx, d) })
		}
	}
	sent := make(chan struct{})
	go func() { sending.Wait(); close(sent) }()
	select {
	case <-sent:
	case <-time.After(tellAfter):
		cfg.Notice(waitsForReceiver(due[0].to.name()))
		<-sent
	}
	var delivered []pawl.Payload
	for i, err := range failures {
		if err != nil {
			notes = append(notes, undelivered(results[i].To, err))
			continue
		}
		delivered = append(delivered, results[i])
	}
	if len(delivered) == 0 {
		return notes, nil
	}
	return notes, r.Perform(ctx, cfg.Project, by, func(*project.Project, *runs.Run) ([]pawl.Payload, error) { return delivered, nil })
}
