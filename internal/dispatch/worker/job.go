package worker

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/redact"
	"pawl/internal/stepenv"
	"pawl/internal/supervise"
)

// job returns the job of the order's supervisor. It ends the script when no worker has held the lock for GiveUp.
func (p *performance) job() (pawl.Job, error) {
	o, work := p.order, p.work()
	job := pawl.Job{
		AttemptRef: o.AttemptRef, Run: o.Run, Script: o.Script, Shell: o.Shell, RunShell: o.RunShell,
		Dir: filepath.Join(work, filepath.FromSlash(o.Dir)), Root: work, Outputs: o.Outputs,
		Timeout: o.Timeout, Grace: o.Grace, Stall: o.Stall, OutputCap: o.OutputCap,
		Passing: true, Beat: pawl.Duration(p.worker.beat()), Orphan: pawl.Duration(p.worker.giveUp()),
	}
	var err error
	if job.EngineLock, err = filepath.Rel(work, p.worker.Lock); err != nil {
		return job, err
	}
	secrets, err := p.secrets()
	if err != nil {
		return job, err
	}
	bin, err := supervise.BinFolder()
	if err != nil {
		return job, err
	}
	inherited, _ := stepenv.Inherited(p.worker.Environ)
	job.Inherited = stepenv.Overlay(inherited, secrets)
	dir := p.attemptDir()
	env := map[string]string{"PATH": bin + string(filepath.ListSeparator) + valueOf(p.worker.Environ, "PATH")}
	maps.Copy(env, o.Env)
	env["PAWL_PROJECT"] = work
	env["PAWL_OUT"] = filepath.Join(work, filepath.FromSlash(o.Env["PAWL_OUT"]))
	env["PAWL_ATTEMPT_DIR"] = dir
	env["PAWL_EVENTS"], env["PAWL_RESULT"] = filepath.Join(dir, pawl.EventsFile), filepath.Join(dir, pawl.ResultFile)
	env["PAWL_TOKEN"], env["PAWL_RUN"] = string(o.Token), string(o.Run)
	for _, name := range slices.Sorted(maps.Keys(env)) {
		job.Env = append(job.Env, name+"="+env[name])
	}
	return job, nil
}

// secrets returns the variables that the order names and the worker sets.
func (p *performance) secrets() (map[string]string, error) {
	values := map[string]string{}
	for _, name := range p.order.Secrets {
		value, set := lookup(p.worker.Environ, name)
		switch {
		case name == redact.StoreVariable || !slices.Contains(p.worker.Variables, name):
			return nil, refused("step %s needs the variable %s, which worker %s may not give it; start the worker with --variable %s",
				p.order.Name(), name, p.worker.Name, name)
		case !set:
			return nil, refused("step %s needs the variable %s, and worker %s does not have it; set %s where the worker is started",
				p.order.Name(), name, p.worker.Name, name)
		}
		values[name] = value
	}
	return values, nil
}

func lookup(environ []string, name string) (value string, set bool) {
	for _, v := range slices.Backward(environ) {
		if key, value, _ := strings.Cut(v, "="); key == name {
			return value, true
		}
	}
	return "", false
}

func valueOf(environ []string, name string) string {
	value, _ := lookup(environ, name)
	return value
}

// readWhole reads a file of the attempt; nil if there is none.
func (p *performance) readWhole(name string) []byte {
	data, err := disk.ReadBelow(p.attemptDir(), name, maxReturned)
	if err != nil {
		return nil
	}
	return data
}

// maxReturned is the largest size of a file of the attempt that comes back.
const maxReturned = 256 << 20
