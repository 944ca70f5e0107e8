package planfile

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"pawl"
	"pawl/internal/strictyaml"
)

// Limits of kernel steps with code, as in Gyoshu. Notebooks have none, and the limits of other steps have no maximum.
const (
	kernelTimeout    = 4 * time.Minute
	maxKernelTimeout = 10 * time.Minute
)

// Inactivity of a cell after which pawl warns, as in Gyoshu.
const (
	silentLimit   = pawl.Duration(60 * time.Second)
	markerLimit   = pawl.Duration(90 * time.Second)
	progressLimit = pawl.Duration(30 * time.Second) // three polls of Gyoshu's watchdog
)

// fillKernel sets the defaults of a kernel step, and returns that of its timeout. Cells of notebooks have no limit and no markers.
func (r *reader) fillKernel(k *pawl.KernelAction) (timeout pawl.Duration) {
	w := &k.Watch
	fill(r, &w.Silent, silentLimit)
	if k.File != "" {
		fill(r, &w.Long, pawl.Duration(kernelTimeout))
		return 0
	}
	fill(r, &w.Marker, markerLimit)
	fill(r, &w.Progress, progressLimit)
	return pawl.Duration(kernelTimeout)
}

// checkKernel checks the action of a kernel step.
func (r *reader) checkKernel(s *pawl.Step) {
	k := s.Kernel
	if !r.Good(k) {
		return
	}
	if r.Given(&k.Code) == r.Given(&k.File) {
		r.Errorf(&s.Kernel, `a kernel step needs exactly one of "code" and "file"`)
	}
	if r.Good(&k.Code) && strings.TrimSpace(k.Code) == "" {
		r.Errorf(&k.Code, `"code" is empty; fill it in`)
	}
	r.checkPath(&k.File, k.File, "file")
	r.checkPath(&k.Out, k.Out, "out")
	r.oneOf(&k.Driver, string(k.Driver), "driver", string(pawl.PythonDriver), string(pawl.JupyterDriver), string(pawl.RemoteDriver))
	r.positive(&k.StartTimeout, "start_timeout")
	r.positive(&k.CellTimeout, "cell_timeout")
	if _, err := pawl.ParseStepID(k.Session); err != nil && r.Good(&k.Session) {
		r.Errorf(&k.Session, "invalid session %q: use 1 to 64 letters, digits, '.', '_' or '-'", k.Session)
	}
	if r.Given(&k.Session) && s.Foreach != nil {
		r.Errorf(&k.Session, `each item of a foreach step has its own kernel; remove "session"`)
	}
	notebook := strings.HasSuffix(k.File, ".ipynb")
	for _, key := range []struct {
		pointer any
		name    string
	}{{&k.Out, "out"}, {&k.Params, "params"}, {&k.CellTimeout, "cell_timeout"}, {&k.OutputLimit, "output_limit"}} {
		if r.Given(key.pointer) && !notebook {
			r.Errorf(key.pointer, "%q needs a notebook: a file whose name ends in .ipynb", key.name)
		}
	}
	if out := cmp.Or(k.Out, k.File); notebook && s.Foreach != nil && !namesItem(out) {
		r.Errorf(&s.Kernel, "all items of the foreach step write the notebook %s; add $PAWL_ITEM or $PAWL_ITEM_ID to \"out\"", out)
	}
	if remote := k.Driver == pawl.RemoteDriver; remote != r.Given(&k.Server) && (r.Good(&k.Driver) || !r.Given(&k.Driver)) {
		r.Errorf(&s.Kernel, `driver remote needs "server", the address of a Jupyter server, and "server" needs driver remote`)
	}
	if _, err := OutputLimit(k.OutputLimit); err != nil && r.Good(&k.OutputLimit) {
		r.Errorf(&k.OutputLimit, "output_limit: %v", err)
	}
	if most := pawl.Duration(maxKernelTimeout); s.Timeout > most && k.File == "" {
		at := any(&s.Timeout)
		if !r.Given(at) {
			at = &s.Kernel
		}
		r.Errorf(at, "the timeout of a kernel step with code must be at most %s, not %s; split the step or set a shorter timeout", most, s.Timeout)
	}
}

// The range of the text of a cell in a notebook, as in Gyoshu.
const (
	minOutput = 10 << 10
	maxOutput = 100 << 20
)

// OutputLimit returns the most bytes of text that a cell has in its notebook, 0 for the default.
func OutputLimit(text string) (bytes int, err error) {
	if text == "" {
		return 0, nil
	}
	n, err := strictyaml.ParseSize(text)
	if err == nil && (n < minOutput || n > maxOutput) {
		err = fmt.Errorf("%s is not between 10KiB and 100MiB", text)
	}
	return int(n), err
}

// checkSessions checks that the steps of each kernel session are ordered and name the same kernel: they share its variables.
func (r *reader) checkSessions(p *pawl.Plan) {
	last := map[string]*pawl.Step{}
	steps := map[pawl.StepID]*pawl.Step{} // so far
	first := map[pawl.StepID]int{}        // step → its phase
	for i := range p.Phases {
		for j := range p.Phases[i].Steps {
			s := &p.Phases[i].Steps[j]
			first[s.ID] = i
			steps[s.ID] = s
			if s.Kernel == nil || s.Foreach != nil || !r.Good(s.Kernel) {
				continue
			}
			session := s.Kernel.Session
			before := last[session]
			last[session] = s
			if before == nil {
				continue
			}
			if first[before.ID] == i && !reaches(steps, s, before.ID) {
				r.Errorf(&s.Kernel, "steps %s and %s use the same kernel; let %[2]s need %[1]s, or give one of them another \"session\"", before.ID, s.ID)
			}
			if a, b := before.Kernel, s.Kernel; a.Name != b.Name || a.Driver != b.Driver || a.Python != b.Python || a.Server != b.Server {
				r.Errorf(&s.Kernel, "steps %s and %s use the same kernel, so their \"name\", \"driver\", \"python\" and \"server\" must be the same; or give one of them another \"session\"", before.ID, s.ID)
			}
		}
	}
}

// reaches reports whether a step needs another one, directly or through steps that it needs.
func reaches(steps map[pawl.StepID]*pawl.Step, from *pawl.Step, to pawl.StepID) bool {
	seen := map[pawl.StepID]bool{}
	for open := []*pawl.Step{from}; len(open) > 0; {
		next := open[len(open)-1]
		open = open[:len(open)-1]
		for _, id := range next.Needs {
			if id == to {
				return true
			}
			if steps[id] != nil && !seen[id] {
				seen[id] = true
				open = append(open, steps[id])
			}
		}
	}
	return false
}
