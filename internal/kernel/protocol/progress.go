package protocol

import (
	"fmt"
	"time"

	"pawl/internal/kernel"
)

// Progress is how far a cell is. Its methods are pure.
//
// A cell is over when its reply and the status idle have arrived. Either can get lost: an interrupt can make a kernel forget the reply,
// and a kernel that prints faster than the system carries its output drops messages, also idle. So half of the end is enough if the
// other half is missing for long.
//
// A cell is sent again in one case only: the kernel answered "aborted", and nothing shows that it executed the cell. Kernels answer so
// to what waited in their queue when a cell before it failed or was interrupted. They have then taken the request out of the queue
// without executing it, so a second request cannot execute the code twice.
type Progress struct {
	Python bool // an interrupt raises KeyboardInterrupt

	request  string // id of the request that was sent last
	requests int

	executed    bool // the kernel said that it executes the cell, or there was output
	interrupted bool // pawl interrupted it
	count       int
	failed      *kernel.Error // as published; the reply has it, too
	reply       *Reply
	replied     time.Time
	idled       time.Time
	heard       time.Time // when the kernel last published something of the cell
	mark        mark

	// After the connection was lost, a probe waits in the kernel's queue behind the cell. Its answer shows that the cell is over.
	reconnected bool
	probed      time.Time // when the probe was answered
}

// mark is where a mark is that comes back once the connection has nothing left to deliver. Without it, output that waits for a slow
// reader would look like silence.
type mark int

const (
	markNone mark = iota
	markSent
	markBack // and nothing has come since
)

// Verdict is what to do about a cell.
type Verdict struct {
	Over   bool
	Again  bool // send it again
	Mark   bool // send a mark
	Ending kernel.Ending
	Wait   time.Duration // look again then, even if nothing arrives; 0: no matter
}

// Sent notes that the cell is sent with a request. What was known of an earlier request counts no more.
func (p *Progress) Sent(request string) {
	p.request, p.requests = request, p.requests+1
	p.reply, p.replied, p.idled, p.heard, p.probed, p.mark = nil, time.Time{}, time.Time{}, time.Time{}, time.Time{}, markNone
}

// NotSent notes that the newest request has reached nobody. It will be sent on another connection.
func (p *Progress) NotSent() { p.reconnected, p.probed = false, time.Time{} }

// Request returns the newest request of the cell.
func (p *Progress) Request() string { return p.request }

// Replied notes the reply to the newest request.
func (p *Progress) Replied(r Reply, now time.Time) { p.reply, p.replied = &r, now }

// HasReply reports whether the newest request was replied to. A second reply counts for nothing.
func (p *Progress) HasReply() bool { return p.reply != nil }

// Interrupted notes that pawl interrupts the cell.
func (p *Progress) Interrupted() { p.interrupted = true }

// MarkSent notes that a mark was sent. It must come back after everything that the connection has to deliver now.
func (p *Progress) MarkSent() { p.mark = markSent }

// MarkBack notes that the mark came back.
func (p *Progress) MarkBack() {
	if p.mark == markSent {
		p.mark = markBack
	}
}

// Reconnected notes that the connection was lost, and a probe sent behind the cell.
func (p *Progress) Reconnected() { p.reconnected, p.probed, p.mark = true, time.Time{}, markNone }

// Probed notes that the probe was answered.
func (p *Progress) Probed(now time.Time) {
	if p.reconnected {
		p.probed = now
	}
}

// Published notes what was published of the cell.
func (p *Progress) Published(m kernel.Message, now time.Time) {
	p.heard, p.mark = now, markNone
	switch m.Kind {
	case kernel.KindBusy:
	case kernel.KindIdle:
		p.idled = now
	case kernel.KindStarted:
		p.executed, p.count = true, m.Count
	case kernel.KindError:
		p.executed, p.failed = true, m.Error
	default:
		p.executed = true
	}
}

// idleGrace is how much later than the answer to a probe the status idle of the cell before it may arrive.
const idleGrace = time.Second

// Next returns what to do about the cell. Half of its end may be missing for the time silence.
func (p *Progress) Next(now time.Time, silence time.Duration) Verdict {
	switch {
	case p.reply != nil && p.reply.aborted():
		return p.aborted(now)
	case p.reply != nil && !p.idled.IsZero():
		return p.over("")
	case p.reply != nil:
		last := p.replied
		if p.heard.After(last) {
			last = p.heard
		}
		return p.overAt(now, last.Add(silence), fmt.Sprintf("the kernel replied, but published no idle status for %s", silence))
	case !p.idled.IsZero():
		at, why := p.idled.Add(silence), fmt.Sprintf("the kernel became idle, but did not reply for %s", silence)
		if !p.probed.IsZero() && p.probed.Before(at) {
			at, why = p.probed, "the kernel became idle; its reply was lost with the connection"
		}
		return p.overAt(now, at, why)
	case !p.probed.IsZero():
		return p.lostAt(now, p.probed.Add(idleGrace))
	}
	return Verdict{}
}

// overAt is over at a time, because half of the end is still missing then, and nothing is on the way.
func (p *Progress) overAt(now, at time.Time, why string) Verdict {
	switch {
	case now.Before(at):
		return Verdict{Wait: at.Sub(now)}
	case p.mark == markNone:
		return Verdict{Mark: true}
	case p.mark == markSent:
		return Verdict{}
	}
	return p.over(why)
}

func (p *Progress) over(why string) Verdict {
	e := kernel.Ending{Status: kernel.OK, Count: p.count, Error: p.failed, Why: why}
	failed := p.failed != nil
	if p.reply == nil && !failed && p.reconnected { // the error may have got lost, too
		e.Status, e.Why = kernel.Lost, why+"; it is unknown whether the cell failed"
		return Verdict{Over: true, Ending: e}
	}
	if p.reply != nil {
		e.Error, failed = nil, p.reply.Status == "error"
		if failed {
			e.Error = p.reply.error()
		}
		if p.reply.Count > 0 {
			e.Count = p.reply.Count
		}
	}
	if failed {
		e.Status = kernel.Failed
		if e.Error.Name == "KeyboardInterrupt" || p.interrupted && !p.Python {
			e.Status = kernel.Interrupted
		}
	}
	return Verdict{Over: true, Ending: e}
}

// abortPause is how long to wait before a cell is sent again. Kernels abort what arrives for a while after a failure: tslab for 200 ms.
const abortPause = 300 * time.Millisecond

// aborted is the end of a cell that the kernel did not execute, or gave up.
func (p *Progress) aborted(now time.Time) Verdict {
	e := kernel.Ending{Status: kernel.Aborted, Count: p.count, Error: p.failed}
	switch {
	case p.executed && p.interrupted:
		e.Status = kernel.Interrupted
	case p.executed:
		e.Why = "the kernel aborted the cell after it had begun"
	case p.requests < 2 && now.Before(p.replied.Add(abortPause)):
		return Verdict{Wait: p.replied.Add(abortPause).Sub(now)}
	case p.requests < 2:
		return Verdict{Again: true}
	default:
		e.Why = "the kernel aborted the cell twice without executing it"
	}
	return Verdict{Over: true, Ending: e}
}

// lostAt is the end of a cell that ended while there was no connection.
func (p *Progress) lostAt(now, at time.Time) Verdict {
	if now.Before(at) {
		return Verdict{Wait: at.Sub(now)}
	}
	e := kernel.Ending{Status: kernel.Lost, Count: p.count, Error: p.failed}
	e.Why = "the connection was lost when the cell was sent; it is unknown whether the kernel executed it"
	if p.executed {
		e.Why = "the cell ended while the connection was lost; its result is unknown"
	}
	return Verdict{Over: true, Ending: e}
}

// Dead is the end of a cell whose kernel died.
func (p *Progress) Dead(death kernel.Death) kernel.Ending {
	if p.reply != nil && !p.reply.aborted() {
		e := p.over("the kernel replied, and then died: " + death.Why).Ending
		e.Death = &death
		return e
	}
	return kernel.Ending{Status: kernel.Lost, Count: p.count, Error: p.failed, Why: "the kernel died: " + death.Why, Death: &death, Peak: death.Peak}
}
