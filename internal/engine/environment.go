package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"pawl"
	"pawl/internal/resume"
	"pawl/internal/runs"
	"pawl/internal/stepenv"
	"pawl/internal/supervise"
)

// maxResume is the maximum size of PAWL_RESUME in bytes. The size of a process's environment is limited.
const maxResume = 64 << 10

// inherit sets the environment of all steps: what holds no secrets. The command of a run without a plan gets all, because the user
// typed it in this environment; only not what gives access to the journal.
func (e *Engine) inherit() {
	if e.inherited, _ = stepenv.Inherited(e.cfg.Environ); e.state.Kind == pawl.CommandRun {
		e.inherited = stepenv.WithoutStore(e.cfg.Environ)
	}
}

// Supply records the values of the configuration before Run, and uses them. by is who gave them.
func (e *Engine) Supply(by pawl.Author) {
	if e.cfg.Given.Empty() {
		return
	}
	e.emitBy(by, stepenv.Events(e.cfg.Given)...)
	e.plan = runs.NewOutline(stepenv.Resolve(e.text, e.state.Given.With(e.cfg.Given)))
}

// environment sets the environment of an attempt's job.
func (e *Engine) environment(ctx context.Context, job *pawl.Job, w runs.Work, key pawl.Key) error {
	ref := job.AttemptRef
	dir := e.cfg.Project.AttemptDir(ref, e.run)
	env, err := e.variables(job, e.plan.Plan, w, ref, key)
	if err != nil {
		return err
	}
	env["PAWL_ATTEMPT_DIR"] = dir
	env["PAWL_EVENTS"] = filepath.Join(dir, pawl.EventsFile)
	env["PAWL_RESULT"] = filepath.Join(dir, pawl.ResultFile)
	if e.plan.HandlesEnd(w.Step.ID) {
		maps.Copy(env, e.aboutEnd(w.Step.ID))
	}
	if told, err := e.resume(ctx, w, ref, key); err != nil {
		return err
	} else if told != "" {
		env["PAWL_RESUME"] = told
	}
	job.Env = asList(env)
	return nil
}

// aboutEnd returns the variables of a handler: how and why the run ends.
func (e *Engine) aboutEnd(id pawl.StepID) map[string]string {
	status := pawl.StatusFailed
	if id == pawl.OnSuccess {
		status = pawl.StatusCompleted
	}
	failed := strings.Trim(fmt.Sprint(e.state.FailedSteps(e.plan.Plan)), "[]") // separated by spaces
	return map[string]string{"PAWL_RUN_STATUS": string(status), "PAWL_RUN_WHY": e.endWhy, "PAWL_FAILED_STEPS": failed}
}

// variables sets the environment that a job inherits, with its secrets, and returns the variables that follow from the plan and
// the work. Only the latter are stored.
func (e *Engine) variables(job *pawl.Job, plan *pawl.Plan, w runs.Work, ref pawl.AttemptRef, key pawl.Key) (map[string]string, error) {
	path, err := e.cfg.path()
	if err != nil {
		return nil, err
	}
	job.RunAs = e.cfg.account
	open, secret, err := e.cfg.Secrets.Of(plan, w.Step)
	if err != nil {
		return nil, unfitStep{err}
	}
	if job.Away != nil {
		job.Away.Secrets = slices.Sorted(maps.Keys(secret))
	}
	inherited := stepenv.Overlay(e.inherited, stepenv.Named(e.cfg.Environ, Credentials(e.cfg.Executors, w.Step)))
	job.Inherited = stepenv.Overlay(inherited, secret)
	root := e.cfg.Project.Root
	env := map[string]string{"PATH": path}
	maps.Copy(env, e.cfg.Tracer.Environ(e.state, ref))
	maps.Copy(env, open)
	maps.Copy(env, runs.PathVars(e.state.Origin(), w))
	env["PAWL_RUN"] = string(e.run)
	env["PAWL_OUT"] = filepath.Join(root, filepath.FromSlash(env["PAWL_OUT"]))
	env["PAWL_ATTEMPT"] = strconv.Itoa(ref.Attempt)
	env["PAWL_TOKEN"] = string(ref.Token)
	env["PAWL_KEY"] = e.idempotencyKey(w, key)
	env["PAWL_PROJECT"] = root
	return env, nil
}

// path returns the PATH of steps, which has pawl: first, from a folder that contains nothing else. Another user cannot reach that folder,
// and gets the folder of the program last.
func (c *Config) path() (string, error) {
	if c.account != nil {
		self, err := os.Executable()
		if err != nil {
			return "", fmt.Errorf("prepare PATH: %w", err)
		}
		return os.Getenv("PATH") + string(os.PathListSeparator) + filepath.Dir(self), nil
	}
	bin, err := supervise.BinFolder()
	if err != nil {
		return "", fmt.Errorf("prepare PATH: %w", err)
	}
	return bin + string(os.PathListSeparator) + os.Getenv("PATH"), nil
}

// Credentials returns the names of secret variables that a step gets although the plan does not name them: those of its
// executor.
func Credentials(executors []Executor, step *pawl.Step) []string {
	for _, x := range executors {
		if x.Does(step) {
			return x.Credentials(step)
		}
	}
	return nil
}

// checkPath returns the PATH of a step's acceptance checks: that of the plan or the engine, without our own folder. "" means
// that it is the step's own.
func (e *Engine) checkPath(step *pawl.Step) string {
	if _, set := e.plan.EnvOf(step)["PATH"]; set {
		return ""
	}
	return os.Getenv("PATH")
}

// asList returns env as NAME=value entries.
func asList(env map[string]string) []string {
	list := make([]string, 0, len(env))
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	return list
}

// idempotencyKey returns the key for external systems. It is the same for every attempt at the same work.
func (e *Engine) idempotencyKey(w runs.Work, key pawl.Key) string {
	if e.plan.HandlesEnd(w.Step.ID) { // each end of the run is another piece of work
		key.Needs = map[pawl.StepID]string{w.Step.ID: strconv.Itoa(e.state.Ends)}
	}
	if w.Index < 0 {
		return key.Hash()
	}
	shared := e.state.Steps[w.Step.ID].Key
	key.Needs = map[pawl.StepID]string{w.Step.ID: shared.Hash()}
	return key.Hash()
}

// resume returns PAWL_RESUME, JSON about earlier attempts, or "" for a first attempt without anything to report. An
// imported step always gets one, because it was started elsewhere.
func (e *Engine) resume(ctx context.Context, w runs.Work, ref pawl.AttemptRef, key pawl.Key) (string, error) {
	st, imported := e.state.Steps[w.Step.ID], e.state.Import.System != ""
	if st == nil {
		st = &pawl.StepState{}
	}
	told := pawl.Resume{Attempt: ref.Attempt, Rejected: st.Rejected}
	if w.Step.Agent != nil { // a script gets the bare words; only agents read the other system's requirements
		told.Rejected = e.state.RerunText(w.Step.ID)
		told.Prescribed = e.mirror.Advice(ctx, e.state, e.plan.Plan, w.Step.ID)
	}
	var t *pawl.Retries
	if w.Index < 0 {
		t, told.Progress = &st.Retries, st.Progress
	} else { // the step's progress is that of whichever item reported last
		t = st.Items.Retries[w.Index]
	}
	if t != nil && t.Last != nil {
		told.Ended, told.Unmet = t.Last.Why, t.Last.Unmet
		if v := t.Last.Verdict; v != nil {
			told.Verdict = v.Word
		}
		told.Partial = resume.NonEmptyOutputs(e.cfg.Project.Root, w.Paths(w.Step.Outputs))
	}
	if t != nil && t.Conversation != nil && t.Conversation.Definition == key.Definition {
		told.Conversation = t.Conversation
	}
	told.ItemsDone = itemsDone(ctx, e.cfg.Project.Root, st.Named)
	for _, g := range e.state.Gates {
		if g.Step == w.Step.ID && (g.Item == w.Item() || w.Item() == "") && g.Answer != nil {
			told.Answers = append(told.Answers, pawl.GateReply{Ask: g.Ask, Answer: g.Answer.Answer, Option: g.Answer.Option, Why: g.Answer.Why})
		}
	}
	if ref.Attempt == 1 && !imported && told.Rejected == "" && told.Prescribed == "" && len(told.Answers) == 0 {
		return "", nil
	}
	return encodeResume(told)
}

// itemsDone returns the items that a step reported as done, without those whose commit is not reachable any more.
func itemsDone(ctx context.Context, root string, named map[pawl.ItemID]pawl.ItemNamed) []pawl.ItemID {
	var ids []pawl.ItemID
	for _, id := range slices.Sorted(maps.Keys(named)) {
		item := named[id]
		if item.Status == pawl.ItemIsDone && (item.Commit == "" || resume.CommitReachable(ctx, root, item.Commit)) {
			ids = append(ids, id)
		}
	}
	return ids
}

func encodeResume(told pawl.Resume) (string, error) {
	data, err := json.Marshal(told)
	if err != nil {
		return "", fmt.Errorf("encode PAWL_RESUME: %w", err)
	}
	if len(data) > maxResume {
		told.ItemsDone, told.Partial = nil, nil // the step can find finished items by their outputs
		data, err = json.Marshal(told)
	}
	return string(data), err
}
