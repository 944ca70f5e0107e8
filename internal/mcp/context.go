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
	"pawl/internal/disk"
	"pawl/internal/history"
	"pawl/internal/interop"
	"pawl/internal/project"
	"pawl/internal/redact"
	"pawl/internal/runs"
	"pawl/internal/sessions"
)

// toolContext is the context of all tools: the project and, if the server belongs to one, the attempt.
type toolContext struct {
	folder  string
	version string
	step    *runs.StepClient // nil: not inside an attempt
	session string           // the session of events whose agent session is unknown
	started atomic.Bool      // the server was started by the agent that calls it
	redact  *redact.Redactor
	user    string // login name of the person
	environ []string
	formats interop.Formats
}

func newToolContext(c Config) *toolContext {
	d := &toolContext{folder: c.Folder, version: c.Version, session: "mcp-" + disk.RandomHex(4), redact: redact.New(c.Environ), user: variable(c.Environ, "USER"), formats: c.Formats, environ: c.Environ}
	d.step = runs.StepClientOf(func(name string) string { return variable(c.Environ, name) })
	if d.step != nil && d.step.Project != "" {
		d.folder = d.step.Project
	}
	return d
}

// variable returns the value of a variable in environ; the last one wins.
func variable(environ []string, name string) string {
	value := ""
	for _, v := range environ {
		if is, ok := strings.CutPrefix(v, name+"="); ok {
			value = is
		}
	}
	return value
}

// project returns the project, if the user trusts it.
func (d *toolContext) project() (*project.Project, error) { return Project(d.folder) }

// Project returns the project that contains a folder or, for a linked worktree without one, that of the main worktree, if the user trusts
// it.
func Project(folder string) (*project.Project, error) {
	p, err := project.FindOrMain(folder)
	if err != nil {
		return nil, err
	}
	return p, p.Trusted()
}

// projectOrInit returns the project. If there is none, it initializes one in the folder.
func (d *toolContext) projectOrInit() (*project.Project, error) {
	p, err := d.project()
	if !errors.Is(err, pawl.ErrNoProject) {
		return p, err
	}
	if p, err = project.Init(d.folder); err == nil {
		err = p.Trusted()
	}
	if err == nil {
		p.Register("", time.Now().UTC())
	}
	return p, err
}

// caller is the run and the agent session that a call belongs to, as far as they are known.
type caller struct {
	run     pawl.RunID
	session pawl.SessionID
}

// caller returns the run of the attempt, or the run and session of the agent that started this server. Agents without hooks
// and HTTP clients are unknown.
func (d *toolContext) caller(ctx context.Context, p *project.Project) caller {
	if d.step != nil {
		return caller{run: d.step.Run}
	}
	if !d.started.Load() {
		return caller{}
	}
	run, session, err := sessions.SessionAbove(ctx, p, os.Getpid())
	if err != nil {
		return caller{} // unknown
	}
	return caller{run, session}
}

// find returns the run with this name. For an empty name it returns the caller's run, or else the current one.
func (d *toolContext) find(ctx context.Context, p *project.Project, name string) (pawl.RunID, error) {
	return runs.FindRun(ctx, p, d.nameOf(ctx, p, name))
}

func (d *toolContext) nameOf(ctx context.Context, p *project.Project, name string) string {
	if name == "" {
		return string(d.caller(ctx, p).run)
	}
	return name
}

// open opens the run with this name, as find does, unless it was made elsewhere: nothing in it is verified. The caller must close its
// journal.
func (d *toolContext) open(ctx context.Context, name string) (*project.Project, *runs.Run, error) {
	p, err := d.project()
	if err != nil {
		return nil, nil, err
	}
	r, err := runs.LoadNamed(ctx, p, d.nameOf(ctx, p, name))
	if err != nil {
		return p, nil, err
	}
	if err := runs.RequireOwn(p, r.State.Run); err != nil {
		return p, nil, errors.Join(err, r.Log.Close())
	}
	return p, r, nil
}

// perform applies act to the caller's run, or else to the current one, and returns the updated run. If no run is unfinished,
// it starts a session run.
func (d *toolContext) perform(ctx context.Context, by pawl.Author, act runs.Act) (*runs.Run, error) {
	p, err := d.project()
	if err != nil {
		return nil, err
	}
	run, err := d.targetRun(ctx, p)
	if err != nil {
		return nil, err
	}
	return d.act(ctx, p, run, by, act)
}

// act applies act to a run and updates the mirrored files of other systems.
func (d *toolContext) act(ctx context.Context, p *project.Project, run pawl.RunID, by pawl.Author, act runs.Act) (*runs.Run, error) {
	r, err := runs.Perform(ctx, p, run, by, act)
	if err != nil {
		return nil, err
	}
	d.refresh(ctx, p, r)
	return r, nil
}

// refresh updates the files of other systems that mirror a run. An error becomes a note of the run.
func (d *toolContext) refresh(ctx context.Context, p *project.Project, r *runs.Run) {
	c, err := config.Of(p)
	if err == nil {
		err = d.formats.Refresh(ctx, p, r, c.Snapshots)
	}
	if err != nil {
		r.Notes = append(r.Notes, err.Error())
	}
}

// notes are remarks for people about a successful call, one line each.
type notes []string

// notes returns the redacted notes of a run.
func (d *toolContext) notes(r *runs.Run) notes {
	var all notes
	for _, note := range r.Notes {
		all = append(all, d.clean(note))
	}
	return all
}

// String returns the notes as lines that follow an answer.
func (n notes) String() string {
	text := ""
	for _, note := range n {
		text += "\nnote: " + note
	}
	return text
}

func (d *toolContext) targetRun(ctx context.Context, p *project.Project) (pawl.RunID, error) {
	if at := d.caller(ctx, p); at.run != "" {
		return at.run, nil
	}
	return history.EnsureRun(ctx, p, d.version)
}

// maxText is the maximum size of an untrusted text in an answer, in bytes.
const maxText = 400

// clean redacts and then truncates an untrusted text for an answer.
func (d *toolContext) clean(text string) string { return clip(d.redact.Text(text), maxText) }
