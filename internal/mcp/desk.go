package mcp

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/history"
	"pawl/internal/interop"
	"pawl/internal/project"
	"pawl/internal/random"
	"pawl/internal/redact"
	"pawl/internal/runs"
	"pawl/internal/sessions"
)

// desk is where the tools work: the project that the server stands in and, where it belongs to one, the attempt.
type desk struct {
	folder  string
	version string
	step    *runs.StepClient // nil: it belongs to no attempt
	session string           // that events bear of whose session nothing is known
	started atomic.Bool      // by the agent whose calls these are
	redact  *redact.Redactor
	user    string // whose agents these are, by login
	formats  interop.Formats
}

func newDesk(c Config) *desk {
	d := &desk{folder: c.Folder, version: c.Version, session: "mcp-" + random.Hex(4), redact: redact.New(c.Environ), user: variable(c.Environ, "USER"), formats: c.Formats}
	d.step = runs.StepClientOf(func(name string) string { return variable(c.Environ, name) })
	if d.step != nil && d.step.Project != "" {
		d.folder = d.step.Project
	}
	return d
}

// variable returns the value that an environment gives a name.
func variable(environ []string, name string) string {
	value := ""
	for _, v := range environ {
		if is, ok := strings.CutPrefix(v, name+"="); ok {
			value = is
		}
	}
	return value
}

func (d *desk) project() (*project.Project, error) { return project.Find(d.folder) }

// projectOrInit returns the project, making one of the folder where there is none.
func (d *desk) projectOrInit() (*project.Project, error) {
	p, err := d.project()
	if !errors.Is(err, pawl.ErrNoProject) {
		return p, err
	}
	if p, err = project.Init(d.folder); err == nil {
		p.Register("", time.Now().UTC())
	}
	return p, err
}

// here is where a call belongs, as far as that is known: the run, and the agent's session that hooks tell of.
type here struct {
	run     pawl.RunID
	session pawl.SessionID
}

// here returns where calls belong: to the attempt, or with the session of the agent that started this server. Nothing is
// known of agents without hooks, and of clients that come by HTTP.
func (d *desk) here(ctx context.Context, p *project.Project) here {
	if d.step != nil {
		return here{run: d.step.Run}
	}
	if !d.started.Load() {
		return here{}
	}
	run, session, err := sessions.SessionAbove(ctx, p, os.Getpid())
	if err != nil {
		return here{} // nobody is known
	}
	return here{run, session}
}

// find returns the run that a name stands for; without one, the run where calls belong, or the current one.
func (d *desk) find(ctx context.Context, p *project.Project, name string) (pawl.RunID, error) {
	if name == "" {
		name = string(d.here(ctx, p).run)
	}
	return runs.FindRun(ctx, p, name)
}

// open opens the run that a name stands for. Whoever opens it closes its journal.
func (d *desk) open(ctx context.Context, name string) (*project.Project, *runs.Run, error) {
	p, err := d.project()
	if err != nil {
		return nil, nil, err
	}
	run, err := d.find(ctx, p, name)
	if err != nil {
		return p, nil, err
	}
	r, err := runs.Load(ctx, p, run)
	return p, r, err
}

// perform does something to the run where calls belong or else to the current one, and returns the run as it stands then.
// Where nothing is unfinished it makes a session of it.
func (d *desk) perform(ctx context.Context, by pawl.Author, act runs.Act) (*runs.Run, error) {
	p, err := d.project()
	if err != nil {
		return nil, err
	}
	run, err := d.runToTell(ctx, p)
	if err != nil {
		return nil, err
	}
	return d.act(ctx, p, run, by, act)
}

// act does something to a run, and has the files of another system say so.
func (d *desk) act(ctx context.Context, p *project.Project, run pawl.RunID, by pawl.Author, act runs.Act) (*runs.Run, error) {
	r, err := runs.Perform(ctx, p, run, by, act)
	if err != nil {
		return nil, err
	}
	d.refresh(ctx, p, r)
	return r, nil
}

// refresh has the files of another system say how a run stands that are kept up to date for it: where they cannot be, the
// run's notes say why.
func (d *desk) refresh(ctx context.Context, p *project.Project, r *runs.Run) {
	c, err := config.Read(p.Config())
	if err == nil {
		err = d.formats.Refresh(ctx, p, r, c.Snapshots)
	}
	if err != nil {
		r.Notes = append(r.Notes, err.Error())
	}
}

// notes are what people should know of a call, one line each, that is no fault of it.
type notes []string

// notes returns what an answer says of a run's.
func (d *desk) notes(r *runs.Run) notes {
	var said notes
	for _, note := range r.Notes {
		said = append(said, d.words(note))
	}
	return said
}

// String says them below what else is answered.
func (n notes) String() string {
	said := ""
	for _, note := range n {
		said += "\nnote: " + note
	}
	return said
}

func (d *desk) runToTell(ctx context.Context, p *project.Project) (pawl.RunID, error) {
	if at := d.here(ctx, p); at.run != "" {
		return at.run, nil
	}
	return history.RunToTell(ctx, p, d.version)
}

// maxWords is how much of a text of others an answer has room for, in bytes.
const maxWords = 400

// words makes of a text of others what an answer has room for. Secrets go first: half of one is none that is known.
func (d *desk) words(text string) string { return clip(d.redact.Text(text), maxWords) }
