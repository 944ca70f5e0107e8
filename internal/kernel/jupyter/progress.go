package jupyter

import (
	"fmt"
	"time"

	"pawl/internal/kernel"
)

// progress is how far a cell is. Its methods are pure.
//
// A cell is over when its reply and the status idle have arrived. Either can get lost: an interrupt can make a kernel forget the reply,
// and a kernel that prints faster than the system carries its output drops messages, also idle. So half of the end is enough if the
// other half is missing for long.
//
// A cell is sent again in one case only: the kernel answered "aborted", and nothing shows that it executed the cell. Kernels answer so
// to what waited in their queue when a cell before it failed or was interrupted. They have then taken the request out of the queue
// without executing it, so a second request cannot execute the code twice.
type progress struct {
	request  string // id of the request that was sent last
	requests int

	executed    bool // the kernel said that it executes the cell, or there was output
	interrupted bool // pawl interrupted it
	python      bool // an interrupt raises KeyboardInterrupt
	count       int
	failed      *kernel.Error // as published; the reply has it, too
	reply       *reply
	replied     time.Time
	idled       time.Time
	heard       time.Time // when the kernel last published something of the cell
	mark        mark

	// After the connection was lost, a probe waits in the kernel's queue behind the cell. Its answer shows that the cell is over.
	reconnected bool
	probed      time.Time // when the probe was answered
}

// mark is where a mark is that comes back once the helper has nothing left to deliver. Without it, output that waits for a slow reader
// would look like silence.
type mark int

const (
	markNone mark = iota
	markSent
	markBack // and nothing has come since
)

// reply is the content of an execute_reply.
type reply struct {
	Status    string   `json:"status"` // ok, error, aborted; some kernels say abort
	Count     int      `json:"execution_count"`
	Name      string   `json:"ename"`
	Value     string   `json:"evalue"`
	Traceback []string `json:"traceback"`
}

func (r *reply) aborted() bool { return r.Status == "aborted" || r.Status == "abort" }

func (r *reply) error() *kernel.Error {
	return &kernel.Error{Name: r.Name, Value: r.Value, Traceback: r.Traceback}
}

// verdict is what to do about a cell.
type verdict struct {
	over   bool
	again  bool // send it again
	mark   bool // send a mark
	ending kernel.Ending
	wait   time.Duration // look again then, even if nothing arrives; 0: no matter
}

// idleGrace is how much later than the answer to a probe the status idle of the cell before it may arrive.
const idleGrace = time.Second

// next returns what to do about the cell. Half of its end may be missing for the time silence.
func (p *progress) next(now time.Time, silence time.Duration) verdict {
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
	return verdict{}
}

// overAt is over at a time, because half of the end is still missing then, and nothing is on the way.
func (p *progress) overAt(now, at time.Time, why string) verdict {
	switch {
	case now.Before(at):
		return verdict{wait: at.Sub(now)}
	case p.mark == markNone:
		return verdict{mark: true}
	case p.mark == markSent:
		return verdict{}
	}
	return p.over(why)
}

func (p *progress) over(why string) verdict {
	e := kernel.Ending{Status: kernel.OK, Count: p.count, Error: p.failed, Why: why}
	failed := p.failed != nil
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
		if e.Error.Name == "KeyboardInterrupt" || p.interrupted && !p.python {
			e.Status = kernel.Interrupted
		}
	}
	return verdict{over: true, ending: e}
}

// abortPause is how long to wait before a cell is sent again. Kernels abort what arrives for a while after a failure: tslab for 200 ms.
const abortPause = 300 * time.Millisecond

// aborted is the end of a cell that the kernel did not execute, or gave up.
func (p *progress) aborted(now time.Time) verdict {
	e := kernel.Ending{Status: kernel.Aborted, Count: p.count, Error: p.failed}
	switch {
	case p.executed && p.interrupted:
		e.Status = kernel.Interrupted
	case p.executed:
		e.Why = "the kernel aborted the cell after it had begun"
	case p.requests < 2 && now.Before(p.replied.Add(abortPause)):
		return verdict{wait: p.replied.Add(abortPause).Sub(now)}
	case p.requests < 2:
		return verdict{again: true}
	default:
		e.Why = "the kernel aborted the cell twice without executing it"
	}
	return verdict{over: true, ending: e}
}

// lostAt is the end of a cell that ended while there was no connection.
func (p *progress) lostAt(now, at time.Time) verdict {
	if now.Before(at) {
		return verdict{wait: at.Sub(now)}
	}
	e := kernel.Ending{Status: kernel.Lost, Count: p.count, Error: p.failed}
	e.Why = "the connection was lost when the cell was sent; it is unknown whether the kernel executed it"
	if p.executed {
		e.Why = "the cell ended while the connection was lost; its result is unknown"
	}
	return verdict{over: true, ending: e}
}

// dead is the end of a cell whose kernel died.
func (p *progress) dead(death kernel.Death) kernel.Ending {
	if p.reply != nil && !p.reply.aborted() {
		e := p.over("the kernel replied, and then died: " + death.Why).ending
		e.Death = &death
		return e
	}
	return kernel.Ending{Status: kernel.Lost, Count: p.count, Error: p.failed, Why: "the kernel died: " + death.Why, Death: &death, Peak: death.Peak}
}
