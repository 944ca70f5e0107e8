package planfile

import (
	"fmt"
	"strings"

	"pawl"
)

// fillService sets the defaults of a service. It has no time limit and no stall limit: it is meant to run.
func (r *reader) fillService(s *pawl.Step, d *pawl.Defaults) {
	fill(r, &s.Retry.Attempts, chosen(r, &d.Retry.Attempts, pawl.DefaultServiceAttempts))
	if v := s.Service; r.Good(v) {
		if v.Ready != "" {
			fill(r, &v.Interval, pawl.Duration(pawl.DefaultReadyInterval))
			fill(r, &v.Timeout, pawl.Duration(pawl.DefaultReadyTimeout))
		}
		fill(r, &v.Until, pawl.UntilPhase)
		fill(r, &v.Stop, pawl.Duration(pawl.DefaultServiceStop))
		fill(r, &v.Orphan, pawl.Duration(pawl.DefaultServiceOrphan))
	}
}

// checkService checks a service and rejects the keys that make no sense for a process that runs until pawl ends it.
func (r *reader) checkService(s *pawl.Step) {
	if !r.Given(&s.Service) {
		return
	}
	if !r.Given(&s.Run) {
		r.Errorf(&s.Service, `"service" requires "run"; add a script that runs until it is ended`)
	}
	for _, x := range []struct {
		pointer any
		key     string
		advice  string
	}{
		{&s.Foreach, "foreach", "write one step for each service"},
		{&s.Outputs, "outputs", "declare them in the step that makes them"},
		{&s.Accept, "accept", `write the check as "ready" of the service`},
		{&s.Review, "review", "move it to a step that ends by itself"},
		{&s.Stall, "stall", "a service may be idle for as long as it runs"},
		{&s.Grace, "grace", "a service reports no progress"},
		{&s.Idempotent, "idempotent", "pawl starts a service again after a crash"},
		{&s.Estimate, "estimate", "a service runs until no step needs it"},
	} {
		if r.Given(x.pointer) {
			r.Errorf(x.pointer, "a service has no %q; remove it: %s", x.key, x.advice)
		}
	}
	v := s.Service
	if !r.Good(v) {
		return
	}
	if r.Good(&v.Ready) && strings.TrimSpace(v.Ready) == "" {
		r.Errorf(&v.Ready, `"ready" is empty; set a command or remove the key`)
	}
	for _, key := range []any{&v.Interval, &v.Timeout} {
		if r.Given(key) && !r.Given(&v.Ready) {
			r.Errorf(key, `"interval" and "timeout" of a service require "ready"; add it or remove the key`)
		}
	}
	r.oneOf(&v.Until, string(v.Until), `value for "until":`, string(pawl.UntilPhase), string(pawl.UntilRun))
	r.positive(&v.Interval, "interval")
	r.positive(&v.Timeout, "timeout")
	r.positive(&v.Stop, "stop")
	r.positive(&v.Orphan, "orphan")
}

// checkUsers reports services that no step uses, and steps that need a service of an earlier phase which has ended by then.
func (r *reader) checkUsers(p *pawl.Plan) {
	users := p.Users()
	if users == nil {
		return
	}
	over := map[pawl.StepID]*pawl.Step{} // services of earlier phases that end with their phase
	for i := range p.Phases {
		phase := &p.Phases[i]
		for j := range phase.Steps {
			s := &phase.Steps[j]
			for k, need := range s.Needs {
				if service := over[need]; service != nil && r.Good(&s.Needs[k]) {
					r.Errorf(&s.Needs[k], "%s needs service %q, which ends with its phase; set until: run in that service (line %d), or remove the need",
						title(s), need, r.Line(&service.Service))
				}
			}
			if s.Service == nil || !r.Good(s.Service) || len(users[s.ID]) > 0 || r.partial { // the users may be in the plan that includes the file
				continue
			}
			scope := ""
			if len(p.Phases) > 1 && s.Service.Until != pawl.UntilRun {
				scope = fmt.Sprintf(" of phase %q", phase.Name)
			}
			r.Errorf(&s.Service, `no step%s needs service %q; add it to the "needs" of the steps that use it, or remove it`, scope, s.ID)
		}
		for j := range phase.Steps {
			if s := &phase.Steps[j]; s.Service != nil && s.Service.Until == pawl.UntilPhase {
				over[s.ID] = s
			}
		}
	}
}
