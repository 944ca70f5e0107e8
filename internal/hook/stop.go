package hook

import (
	"context"
	"errors"
	"strings"

	"pawl"
	"pawl/internal/journal"
	"pawl/internal/sessions"
)

// stop journals the end of a turn. The turn of an agent that works for a step is held open once, where the step's checks
// do not pass.
func (c *call) stop(ctx context.Context) ([]byte, error) {
	if ref := c.attempt(); ref != nil && !c.event.Held && ref.Item == "" {
		run, err := c.run(ctx)
		if err != nil {
			return nil, err
		}
		unmet, err := sessions.FailingChecks(ctx, c.project, run, ref.Step, c.Environ)
		if err != nil {
			return nil, err
		}
		if len(unmet) > 0 {
			why := "pawl: step " + string(ref.Step) + " is not done yet. These checks fail:\n" + c.redact.Text(strings.Join(unmet, "\n"))
			return c.dialect.Hold(c.event, why), nil
		}
	}
	turned := pawl.SessionTurned{Session: c.session, Doing: pawl.SessionIdle, Said: c.words(c.event.Text)}
	return nil, errors.Join(c.add(ctx, turned), c.settle(ctx, turned))
}

// settle closes what the session was told to be in doubt in other runs, where it is a guest.
func (c *call) settle(ctx context.Context, turned pawl.SessionTurned) error {
	if len(c.kept.Others) == 0 {
		return nil
	}
	goes := pawl.SessionEnded{Session: c.session, Why: "it goes on in run " + string(c.kept.Run)}
	for _, run := range c.kept.Others {
		events, err := c.events(turned, goes)
		if err == nil {
			err = journal.Add(ctx, c.project.Runs(), run, events...)
		}
		if err != nil && !errors.Is(err, pawl.ErrNoRun) { // one that was set aside meanwhile is nobody's any more
			return err
		}
	}
	c.kept.Others = nil
	c.keep()
	return nil
}
