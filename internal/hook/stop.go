package hook

import (
	"context"
	"strings"

	"pawl"
	"pawl/internal/engine"
)

// stop journals the end of a turn. The turn of an agent that works for a step is held open once, where the step's checks
// do not pass.
func (c *call) stop(ctx context.Context) ([]byte, error) {
	if ref := c.attempt(); ref != nil && !c.event.Held && ref.Item == "" {
		run, err := c.run(ctx)
		if err != nil {
			return nil, err
		}
		unmet, err := engine.Unmet(ctx, c.project, run, ref.Step, c.Environ)
		if err != nil {
			return nil, err
		}
		if len(unmet) > 0 {
			why := "pawl: step " + string(ref.Step) + " is not done yet. These checks fail:\n" + c.redact.Text(strings.Join(unmet, "\n"))
			return c.dialect.Hold(c.event, why), nil
		}
	}
	return nil, c.add(ctx, pawl.SessionTurned{Session: c.session, Doing: pawl.SessionIdle, Said: c.words(c.event.Text)})
}
