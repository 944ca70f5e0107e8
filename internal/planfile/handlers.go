package planfile

import (
	"reflect"
	"strings"

	"pawl"
	"pawl/internal/stepenv"
)

func (r *reader) checkHandler(key string, h *pawl.Handler) {
	if !r.Good(h) {
		return
	}
	if short := reflect.DeepEqual(*h, pawl.Handler{Run: h.Run}) && !r.Given(&h.Run); short && strings.TrimSpace(h.Run) == "" {
		r.Errorf(h, "%q is empty; set a command or remove the key", key)
	}
	r.checkShell(&h.Shell)
	r.checkPath(&h.Dir, h.Dir, "dir")
	r.checkEnv(&h.Env)
	r.positive(&h.Timeout, "timeout")
	r.checkRetry(&h.Retry)
}

func (r *reader) checkNotify(p *pawl.Plan) {
	if !r.Good(&p.Notify) {
		return
	}
	if len(p.Notify) == 0 {
		r.Errorf(&p.Notify, `"notify" is empty; add a notification or remove the key`)
	}
	stepenv.CheckNotify(p.Notify, func(pointer any, format string, args ...any) {
		if r.Good(pointer) {
			r.Errorf(pointer, format, args...)
		}
	})
}
