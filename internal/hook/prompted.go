package hook

import "pawl"

// prompted returns the event for a prompt. Nobody types prompts into a step: those there are pawl's or the plan's.
func (c *call) prompted() pawl.SessionPrompted {
	e := c.event
	return pawl.SessionPrompted{
		Session: c.session, Text: c.clean(e.Text), Digest: digest([]byte(e.Text)), Own: c.attempt() != nil || !e.ByPerson(),
	}
}
