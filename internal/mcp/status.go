package mcp

import (
	"context"
	"errors"
	"time"

	"pawl"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// runIn is what tools take that read one run.
type runIn struct {
	Run string `json:"run,omitempty" jsonschema:"a run's id, the beginning of one, or latest; the current run if left out"`
}

// status is where a run stands. Its lists are cut at maxListed.
type status struct {
	Run        pawl.RunID     `json:"run,omitempty"`
	Name       string         `json:"name,omitempty"`
	Goal       string         `json:"goal,omitempty"`
	Kind       pawl.RunKind   `json:"kind,omitempty" jsonschema:"plan, command, durable or session (an agent's work without a plan)"`
	Status     pawl.RunStatus `json:"status" jsonschema:"active, waiting (for a person), paused, interrupted (resume it), completed, failed; none: nothing was run here yet"`
	Why        string         `json:"why,omitempty"`
	Updated    *time.Time     `json:"updated_at,omitempty"`
	Percent    int            `json:"progress_percent"`
	Position   *pawl.Position `json:"position,omitempty" jsonschema:"of a run with a plan"`
	Engine     bool           `json:"engine" jsonschema:"an engine works on it: do not start another"`
	Here       pawl.StepID    `json:"here,omitempty" jsonschema:"the step that you work on"`
	Steps      map[string]int `json:"steps,omitempty" jsonschema:"how many steps are in each status"`
	Unfinished []stepStatus   `json:"unfinished,omitempty" jsonschema:"the steps that are not finished, in order"`
	Gates      []gateStatus   `json:"gates,omitempty" jsonschema:"what a person is asked"`
	Blockers   []blocker      `json:"blockers,omitempty" jsonschema:"what stands in the way"`
	Checkpoint *checkpointAt  `json:"last_checkpoint,omitempty"`
	More       int            `json:"more,omitempty" jsonschema:"how many steps, gates and blockers are left out of the lists"`
}

type stepStatus struct {
	ID     pawl.StepID     `json:"id"`
	Name   string          `json:"name,omitempty"`
	Status pawl.StepStatus `json:"status"`
	Why    string          `json:"why,omitempty"`
	Done   int             `json:"items_done,omitempty"`
	Total  int             `json:"items_total,omitempty"`
	Said   string          `json:"progress,omitempty" jsonschema:"what it said last"`
}

type gateStatus struct {
	Gate     pawl.GateID   `json:"gate"`
	Step     pawl.StepID   `json:"step,omitempty"`
	Type     pawl.GateType `json:"type"`
	Question string        `json:"question"`
	Options  []string      `json:"options,omitempty"`
	Answers  []string      `json:"answers,omitempty" jsonschema:"the commands by which a person closes it"`
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

// maxListed is how long each list in a status may be.
const maxListed = 20

func (s *Server) status(ctx context.Context, _ call, in runIn) (answer[status], error) {
	now, err := s.statusNow(ctx, in.Run)
	return answer[status]{text: now.String(), data: now}, err
}

// statusNow says where a run stands. That nothing was run yet is worth an answer too.
func (d *desk) statusNow(ctx context.Context, name string) (status, error) {
	p, r, err := d.open(ctx, name)
	if name == "" && errors.Is(err, pawl.ErrNoRun) {
		return status{Status: "none"}, nil
	}
	if err != nil {
		return status{}, err
	}
	now := d.statusOf(p, r)
	if d.step != nil && r.State.Run == d.step.Run {
		now.Here = d.step.Attempt.Step
	}
	return now, r.Log.Close()
}

func (d *desk) statusOf(p *project.Project, r *runs.Run) status {
	s := r.State
	holder, alive := p.EngineHolder()
	alive = alive && holder.Run == s.Run
	w := statusWriter{words: d.words, status: status{
		Run: s.Run, Name: s.Name, Goal: d.words(s.Goal), Kind: s.Kind, Status: s.StatusNow(alive), Why: d.words(s.Why),
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

// statusWriter writes a status. words makes of a text of others what an answer has room for.
type statusWriter struct {
	status
	words func(string) string
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

// room reports whether a list takes one more, and counts what it does not.
func (w *statusWriter) room(has int) bool {
	if has < maxListed {
		return true
	}
	w.More++
	return false
}

func (w *statusWriter) step(step *pawl.Step, st *pawl.StepState) stepStatus {
	told := stepStatus{ID: step.ID, Name: w.words(step.Name), Status: pawl.Pending}
	if st == nil {
		return told
	}
	told.Status, told.Why = st.Status, w.words(st.Why)
	if st.Items != nil {
		told.Done, told.Total = st.Items.Count, st.Items.Total
	}
	if st.Progress != nil {
		told.Said = w.words(st.Progress.Text)
	}
	return told
}

func (w *statusWriter) addGates(s *pawl.State) {
	for _, g := range s.OpenGates() {
		if w.room(len(w.Gates)) {
			w.Gates = append(w.Gates, gateStatus{
				Gate: g.ID, Step: g.Step, Type: g.Type, Question: w.words(g.Ask), Options: w.list(g.Options), Answers: w.list(runs.AnswerCommands(g)),
			})
		}
	}
}

// list cuts a list to what there is room for.
func (w *statusWriter) list(texts []string) []string {
	var list []string
	for _, t := range texts[:min(len(texts), maxListed)] {
		list = append(list, w.words(t))
	}
	return list
}

func (w *statusWriter) addBlockers(s *pawl.State) {
	for _, b := range s.OpenBlockers() {
		if w.room(len(w.Blockers)) {
			w.Blockers = append(w.Blockers, blocker{Number: b.ID, Text: w.words(b.Text), Step: b.Step, Needs: w.words(b.Needs)})
		}
	}
}
