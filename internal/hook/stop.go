package hook

import (
	"context"
	"errors"
	"strings"

	"pawl"
	"pawl/internal/journal"
	"pawl/internal/sessions"
)

// stop journals the end of a turn. In a step, it prevents the end of the turn once if the step's checks fail.
func (c *call) stop(ctx context.Context) ([]byte, error) {
	if ref := c.attempt(); ref != nil && !c.event.Held && ref.Item == "" {
		run, err := c.run(ctx)
		if err != nil {
			return nil, err
		}
		unmet, err := sessions.FailingChecks(ctx, c.project, run, *ref, c.Environ)
		if err != nil {
			return nil, err
		}
		if len(unmet) > 0 {
			why := "pawl: step " + string(ref.Step) + " is not done yet. These checks fail:\n" + c.redact.Text(strings.Join(unmet, "\n"))
			return c.dialect.Hold(c.event, why), nil
		}
	}
	turned := pawl.SessionTurned{Session: c.session, Doing: pawl.SessionIdle, Said: c.clean(c.event.Text)}
	return nil, errors.Join(c.add(ctx, append(c.leftByTasks(), turned)...), c.leaveOthers(ctx, turned))
}

// leaveOthers ends the session in the other runs whose doubts were in its brief.
func (c *call) leaveOthers(ctx context.Context, turned pawl.SessionTurned) error {
	if len(c.cache.Others) == 0 {
		return nil
	}
	ended := pawl.SessionEnded{Session: c.session, Why: "continues in run " + string(c.cache.Run)}
	for _, run := range c.cache.Others {
		events, err := c.events(turned, ended)
		if err == nil {
			err = journal.Add(ctx, c.project.Runs(), run, events...)
		}
		if err != nil && !errors.Is(err, pawl.ErrNoRun) { // the run may have been archived since
			return err
		}
	}
	c.cache.Others = nil
	c.saveCache()
	return nil
}
