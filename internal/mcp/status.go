package mcp

import (
	"context"
	"errors"
	"strings"
	"time"

	"pawl"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// runIn is the input of tools that read one run.
type runIn struct {
	Run string `json:"run,omitempty" jsonschema:"run id, a prefix of one, or latest; defaults to the current run"`
}

// status is the status of a run. Its lists have at most maxListed entries.
type status struct {
	Run        pawl.RunID     `json:"run,omitempty"`
	Name       string         `json:"name,omitempty"`
	Goal       string         `json:"goal,omitempty"`
	Kind       pawl.RunKind   `json:"kind,omitempty" jsonschema:"plan, command, durable or session (an agent's work without a plan)"`
	Status     pawl.RunStatus `json:"status" jsonschema:"active, waiting (for a person), paused, interrupted (resume it), completed, failed; none: no runs yet"`
	Why        string         `json:"why,omitempty"`
	Updated    *time.Time     `json:"updated_at,omitempty"`
	Percent    int            `json:"progress_percent"`
	Position   *pawl.Position `json:"position,omitempty" jsonschema:"only for runs with a plan"`
	Engine     bool           `json:"engine" jsonschema:"an engine is running it: do not start another"`
	Here       pawl.StepID    `json:"here,omitempty" jsonschema:"the step that you are working on"`
	Steps      map[string]int `json:"steps,omitempty" jsonschema:"number of steps by status"`
	Unfinished []stepStatus   `json:"unfinished,omitempty" jsonschema:"unfinished steps in order"`
	Gates      []gateStatus   `json:"gates,omitempty" jsonschema:"open gates: questions to a person"`
	Blockers   []blocker      `json:"blockers,omitempty" jsonschema:"open blockers"`
	Checkpoint *checkpointAt  `json:"last_checkpoint,omitempty"`
	Next       string         `json:"next" jsonschema:"what to do now"`
	More       int            `json:"more,omitempty" jsonschema:"number of steps, gates and blockers omitted from the lists"`
}

type stepStatus struct {
	ID     pawl.StepID     `json:"id"`
	Name   string          `json:"name,omitempty"`
	Status pawl.StepStatus `json:"status"`
	Why    string          `json:"why,omitempty"`
	Done   int             `json:"items_done,omitempty"`
	Total  int             `json:"items_total,omitempty"`
	Said   string          `json:"progress,omitempty" jsonschema:"last progress message"`
}

type gateStatus struct {
	Gate     pawl.GateID   `json:"gate"`
	Step     pawl.StepID   `json:"step,omitempty"`
	Type     pawl.GateType `json:"type"`
	Question string        `json:"question"`
	Options  []string      `json:"options,omitempty"`
	Answers  []string      `json:"answers,omitempty" jsonschema:"commands with which a person answers it"`
}

type blocker struct {
	Number int         `json:"number"`
	Text   string      `json:"text"`
	Step   pawl.StepID `json:"step,omitempty"`
	Needs  string      `json:"needs,omitempty"`
}

type checkpointAt struct {
	Checkpoint pawl.CheckpointID   `json:"checkpoint"`
	Kind       pawl.CheckpointKind `json:"kind"`
	Time       time.Time           `json:"time"`
}

// maxListed is the maximum length of each list in a status.
const maxListed = 20

func (s *Server) status(ctx context.Context, _ call, in runIn) (answer[status], error) {
	now, err := s.statusNow(ctx, in.Run)
	return answer[status]{text: now.String(), data: now}, err
}

// statusNow returns the status of a run. A project without runs has a status too.
func (d *toolContext) statusNow(ctx context.Context, name string) (status, error) {
	p, r, err := d.open(ctx, name)
	if name == "" && errors.Is(err, pawl.ErrNoRun) {
		now := status{Status: "none"}
		now.Next = now.next()
		return now, nil
	}
	if err != nil {
		return status{}, err
	}
	now := d.statusOf(p, r)
	if d.step != nil && r.State.Run == d.step.Run {
		now.Here = d.step.Attempt.Step
	}
	now.Next = now.next()
	return now, r.Log.Close()
}

// next returns what an agent does in this status.
func (now status) next() string {
	switch {
	case now.Run == "":
		return "start the work: there is nothing to resume"
	case now.Here != "":
		return "continue with step " + string(now.Here)
	case now.Engine:
		return "do not start another engine or redo its steps: an engine is running this run"
	case len(now.Gates) > 0:
		return "tell the user that a person must answer the gates; meanwhile do work that does not depend on them"
	}
	return "call brief before you continue the work: it checks the files and says what is in doubt"
}

func (d *toolContext) statusOf(p *project.Project, r *runs.Run) status {
	s := r.State
	holder, alive := p.EngineHolder()
	alive = alive && holder.WorksOn(s)
	w := statusWriter{clean: d.clean, status: status{
		Run: s.Run, Name: s.Name, Goal: d.clean(s.Goal), Kind: s.Kind, Status: s.StatusIn(r.Plan, alive), Why: d.clean(s.Why),
		Updated: &s.Updated, Percent: s.Percent(r.Plan), Engine: alive, Steps: map[string]int{},
	}}
	if steps := r.Plan.Steps(); len(steps) > 0 {
		at := s.Position(r.Plan)
		w.Position = &at
		w.addSteps(s, steps)
	}
	if c := s.LastSave; c != nil {
		w.Checkpoint = &checkpointAt{Checkpoint: c.ID, Kind: c.Kind, Time: c.Time}
	}
	w.addGates(s)
	w.addBlockers(s)
	return w.status
}

// statusWriter builds a status. clean redacts and truncates untrusted text.
type statusWriter struct {
	status
	clean func(string) string
}

func (w *statusWriter) addSteps(s *pawl.State, steps []*pawl.Step) {
	for _, step := range steps {
		st := s.Steps[step.ID]
		told := w.step(step, st)
		w.Steps[string(told.Status)]++
		if !st.Finished() && w.room(len(w.Unfinished)) {
			w.Unfinished = append(w.Unfinished, told)
		}
	}
}

// room reports whether a list has room for one more entry, and otherwise counts the omitted entry.
func (w *statusWriter) room(has int) bool {
	if has < maxListed {
		return true
	}
	w.More++
	return false
}

func (w *statusWriter) step(step *pawl.Step, st *pawl.StepState) stepStatus {
	told := stepStatus{ID: step.ID, Name: w.clean(step.Name), Status: pawl.Pending}
	if st == nil {
		return told
	}
	told.Status, told.Why = st.Status, w.clean(st.Why)
	if st.Items != nil {
		told.Done, told.Total = st.Items.Count, st.Items.Size()
	}
	if st.Progress != nil {
		told.Said = w.clean(st.Progress.Text)
	}
	for _, live := range st.Live() {
		for _, warning := range live.Warnings {
			told.Said = strings.TrimPrefix(told.Said+"; warning: "+w.clean(warning), "; ")
		}
	}
	return told
}

func (w *statusWriter) addGates(s *pawl.State) {
	for _, g := range s.OpenGates() {
		if w.room(len(w.Gates)) {
			w.Gates = append(w.Gates, gateStatus{
				Gate: g.ID, Step: g.Step, Type: g.Type, Question: w.clean(g.Ask), Options: w.list(g.Options), Answers: w.list(runs.AnswerCommands(g)),
			})
		}
	}
}

// list cleans the first maxListed texts.
func (w *statusWriter) list(texts []string) []string {
	var list []string
	for _, t := range texts[:min(len(texts), maxListed)] {
		list = append(list, w.clean(t))
	}
	return list
}

func (w *statusWriter) addBlockers(s *pawl.State) {
	for _, b := range s.OpenBlockers() {
		if w.room(len(w.Blockers)) {
			w.Blockers = append(w.Blockers, blocker{Number: b.ID, Text: w.clean(b.Text), Step: b.Step, Needs: w.clean(b.Needs)})
		}
	}
}
