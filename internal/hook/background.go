package hook

import (
	"time"

	"pawl"
	"pawl/internal/operations"
	"pawl/internal/sessions"
)

// maxBackground is how many background calls a session's cache holds.
const maxBackground = 50

// noteBackground saves when a call began that may leave processes running, so that its outcome can find them. The caller saves the cache.
func (c *call) noteBackground(o pawl.Operation) (changed bool) {
	if !operations.Background(c.event.Tool, c.event.Input) || len(c.cache.Background) >= maxBackground {
		return false
	}
	if c.cache.Background == nil {
		c.cache.Background = map[string]background{}
	}
	c.cache.Background[o.Digest] = background{Began: time.Now(), Summary: o.Summary, Dir: o.Dir, Tool: o.Tool}
	return true
}

// left returns the event for the processes that the call which has just ended left running; nil if there are none.
func (c *call) left() []pawl.Payload {
	digest := operations.Digest(c.event.Tool, c.event.Input)
	if b, began := c.cache.Background[digest]; began {
		delete(c.cache.Background, digest)
		c.saveCache()
		return c.leftBy(b)
	}
	if !operations.Background(c.event.Tool, c.event.Input) {
		return nil
	}
	o := c.intent() // its hook was killed
	took := time.Duration(c.event.Seconds*float64(time.Second)) + unseenSlack
	return c.leftBy(background{Began: time.Now().Add(-took), Summary: o.Summary, Dir: o.Dir, Tool: o.Tool})
}

// unseenSlack is how much longer than it took a call may have run whose intent is not on record.
const unseenSlack = 10 * time.Second

// leftBy returns the event for the running processes of a background call; nil if there are none.
func (c *call) leftBy(b background) []pawl.Payload {
	o := &pawl.OperationState{Began: b.Began}
	o.Session, o.Tool, o.Kind, o.Summary, o.Dir = c.session, b.Tool, pawl.OperationCommand, b.Summary, b.Dir
	processes := sessions.LeftBy(c.project, o, c.process)
	if len(processes) == 0 {
		return nil
	}
	return []pawl.Payload{pawl.OperationLeft{Session: c.session, Tool: b.Tool, Summary: b.Summary, Dir: b.Dir, Processes: processes}}
}

// leftByTasks returns the events for the background tasks that the agent lists when its turn ends.
func (c *call) leftByTasks() (payloads []pawl.Payload) {
	for _, t := range c.event.Background[:min(len(c.event.Background), maxBackground)] {
		b := background{Began: time.Now().Add(-maxTaskAge), Summary: c.clean(t.Command), Tool: "background task"}
		payloads = append(payloads, c.leftBy(b)...)
	}
	return payloads
}

// maxTaskAge is how long before the end of a turn a background task is searched.
const maxTaskAge = 24 * time.Hour
