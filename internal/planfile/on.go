package planfile

import (
	"pawl"
	"pawl/internal/dispatch"
)

// checkOn checks where a step is executed: only a script can be executed by a worker.
func (r *reader) checkOn(s *pawl.Step) {
	if !r.Given(&s.On) {
		return
	}
	r.checkQueue(&s.On)
	switch {
	case r.Given(&s.Service):
		r.Errorf(&s.On, `a service has no "on"; remove it: the steps that need the service reach it on this machine`)
	case !r.Given(&s.Run):
		r.Errorf(&s.On, `"on" requires "run"; remove it: other steps are executed on this machine`)
	}
}

func (r *reader) checkQueue(on *pawl.On) {
	if err := dispatch.CheckQueue(on.Queue); err != nil && on.Queue != "" && r.Good(&on.Queue) {
		r.Errorf(&on.Queue, "%v", err)
	}
}
