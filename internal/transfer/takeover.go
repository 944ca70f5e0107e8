package transfer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/project"
	"pawl/internal/remote"
	"pawl/internal/snapshot"
)

// remoteLimit is how long a remote may take to say who has pushed a run last.
const remoteLimit = 10 * time.Second

// Owners checks, for each remote from which this project has pulled a run that another one pushed, whether the run can be taken over there
// when it resumes. A finding that is bad needs a person, who knows that nobody else continues the run. It changes nothing.
func Owners(ctx context.Context, p *project.Project, run pawl.RunID) []pawl.Finding {
	ctx, cancel := context.WithTimeout(ctx, remoteLimit)
	defer cancel()
	var findings []pawl.Finding
	err := eachPulled(ctx, p, run, func(c *Connection, err error) error {
		f := pawl.Finding{Where: Place(c.Name), Level: pawl.Bad, Evidence: c.URL}
		var newest *remote.Record
		if err == nil {
			_, newest, err = c.agree(ctx, run)
		}
		refused, elsewhere := errors.AsType[*PushedElsewhereError](err)
		switch {
		case elsewhere:
			f.What, f.Hint = fmt.Sprintf("%s pushed the run since (push %d)", pushedBy(refused.Record), refused.Record.Number), pawl.HintOf(err)
		case err != nil:
			f.What, f.Hint = "another machine may have continued the run since: "+err.Error(), pawl.HintOf(err)
		case c.Unconditional():
			f.What, f.Hint = "it overwrites what exists, so it cannot refuse a second machine that takes the run over; resume here only if no other one does", "pawl resume --yes"
		case newest == nil:
			return nil
		default:
			f.Level, f.What = pawl.OK, fmt.Sprintf("%s pushed the run last; resuming here takes it over, and refuses the next push from there", pushedBy(newest))
		}
		findings = append(findings, f)
		return nil
	})
	if err != nil {
		findings = append(findings, pawl.Finding{Level: pawl.Bad, Where: "remotes", What: err.Error(), Hint: pawl.HintOf(err)})
	}
	return findings
}

// Place is where a finding of Owners is.
func Place(name string) string { return "remote " + name }

// pushedBy says who pushed a record, and when.
func pushedBy(r *remote.Record) string {
	return fmt.Sprintf("host %s (project %.13s, %s UTC)", r.Owner.Host, r.Owner.Project, r.Time.UTC().Format("2006-01-02 15:04"))
}

// TakeOver makes this project the owner of a run on each remote from which it has pulled the run: it pushes a record, which the remote creates
// only if nobody has pushed since. So of two machines that take the run over, one is refused, and the next push of the one before is,
// too. An engine calls it before it does anything. allowed says whether a person accepts that a remote does not answer.
func TakeOver(ctx context.Context, p *project.Project, run pawl.RunID, o PushOptions, allowed func(name string) bool) error {
	o.take = true
	return eachPulled(ctx, p, run, func(c *Connection, err error) error {
		if err == nil {
			err = With(ctx, p, c.Name, func(to *Connection, store *snapshot.Store) error {
				_, err := to.Push(ctx, run, store, o)
				return err
			})
		}
		if err == nil || !errors.Is(err, remote.ErrPushed) && allowed(c.Name) {
			return nil
		}
		return fmt.Errorf("take the run over on remote %s: %w", c.Name, err)
	})
}

// eachPulled calls do with each remote from which this project has pulled what another one pushed, and has not pushed the run since. err says
// why the remote does not answer, or that the project has it no more.
func eachPulled(ctx context.Context, p *project.Project, run pawl.RunID, do func(c *Connection, err error) error) error {
	from, err := pulledFrom(p, run)
	if err != nil || from == nil {
		return err
	}
	all, err := Remotes(p)
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(from)) {
		r, err := Remote{Name: from[id]}, errNotPulledFrom
		c := &Connection{Remote: r, project: p}
		if at := slices.IndexFunc(all, func(a Remote) bool { return a.Name == r.Name }); at >= 0 {
			c, err = connectIn(ctx, p, all[at])
		}
		if err == nil && c.ID() != id {
			err = errNotPulledFrom
		}
		if err := do(c, err); err != nil {
			return err
		}
	}
	return nil
}

var errNotPulledFrom = usage("pawl remote add NAME URL, and then pawl pull", "the run was pulled from a remote that this project no longer has by this name")

// pulledFrom returns the remotes from which a run was pulled that was not pushed since, their names by ID; nil for none.
func pulledFrom(p *project.Project, run pawl.RunID) (names map[string]string, err error) {
	entries, err := disk.ReadDir(folderOf(p))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		at, err := readPosition(folderOf(p, entry.Name(), string(run)+".json"))
		if err != nil {
			return nil, err
		}
		if at.Pulled != "" {
			if names == nil {
				names = map[string]string{}
			}
			names[entry.Name()] = at.Pulled
		}
	}
	return names, err
}

func connectIn(ctx context.Context, p *project.Project, r Remote) (*Connection, error) {
	ctx, cancel := context.WithTimeout(ctx, remoteLimit)
	defer cancel()
	c, err := Connect(ctx, p, r.Name)
	if c == nil {
		c = &Connection{Remote: r, project: p}
	}
	return c, err
}
