package rebuild

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/disk"
	"pawl/internal/journal"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// Options selects the run to rebuild and the evidence to use.
type Options struct {
	Run       string // an ID or its prefix. Defaults to the newest damaged or lost run.
	Plan      string // the plan file. Defaults to the copy next to the journal, else to the matching plan in the project.
	Trust     Confidence
	Snapshots config.Snapshots
	Version   string // of this program
	Person    string // the person who accepts
}

// Recovery is a damaged or lost run with the proposal to rebuild it. It holds the engine lock until Close.
type Recovery struct {
	Proposal
	New bool // the run does not exist yet; its work is known from git

	project *project.Project
	lock    *project.Lock
	left    *journal.Salvage
	plan    foundPlan
}

// PrepareRecovery gathers what is left of a run and makes a proposal. It changes nothing.
func PrepareRecovery(ctx context.Context, p *project.Project, o Options) (*Recovery, error) {
	lock, err := p.LockEngine(project.Holder{PID: os.Getpid(), Since: time.Now().UTC(), Command: "pawl recover"})
	if err != nil {
		return nil, err
	}
	r := &Recovery{project: p, lock: lock}
	if err := r.prepare(ctx, o); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Close releases the engine lock.
func (r *Recovery) Close() error { return r.lock.Unlock() }

func (r *Recovery) prepare(ctx context.Context, o Options) error {
	records, err := runs.OpenSnapshotRecords(ctx, r.project, o.Snapshots)
	if err != nil {
		return err
	}
	defer records.Close()
	run, err := chosenRun(ctx, r.project, records, o.Run)
	if err != nil {
		return err
	}
	if run == "" {
		return r.proposeFromGit(ctx, records, o)
	}
	return r.propose(ctx, run, records, o)
}

// chosenRun returns the run for a name. Without a name it returns the newest lost or damaged run, else the newest run,
// "" for none.
func chosenRun(ctx context.Context, p *project.Project, records *runs.SnapshotRecords, name string) (pawl.RunID, error) {
	there, err := runs.List(p)
	if err != nil {
		return "", err
	}
	lost, err := journal.Lost(p.Runs())
	if err != nil {
		return "", err
	}
	aside, err := runs.ArchivedRuns(p)
	if err != nil {
		return "", err
	}
	ids := runs.NewestRuns(slices.Concat(there, lost))
	kept := slices.DeleteFunc(records.Runs(), func(run pawl.RunID) bool { return slices.Contains(aside, run) })
	switch {
	case name != "":
		return findByName(p, runs.NewestRuns(slices.Concat(ids, kept)), name)
	case len(ids) == 0 && len(kept) == 0:
		return "", nil
	case len(ids) == 0:
		return runs.NewestRuns(kept)[0], nil
	}
	for _, run := range ids {
		if _, err := runs.LoadState(ctx, p, run); slices.Contains(lost, run) || pawl.KindOf(err) == pawl.KindDamaged {
			return run, nil
		}
	}
	return ids[0], nil
}

// findByName returns the run for an ID or a unique prefix. A run of which only the folder is left needs its full ID.
func findByName(p *project.Project, ids []pawl.RunID, name string) (pawl.RunID, error) {
	if slices.Contains(ids, pawl.RunID(name)) {
		return pawl.RunID(name), nil
	}
	found := slices.DeleteFunc(slices.Clone(ids), func(run pawl.RunID) bool { return !strings.HasPrefix(string(run), name) })
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return "", runs.UsageError("pawl runs", "%q is ambiguous: %d runs match", name, len(found))
	}
	if run, err := pawl.ParseRunID(name); err == nil {
		if _, err := disk.Lstat(p.RunDir(run)); err == nil {
			return run, nil
		}
	}
	return "", &pawl.Error{Kind: pawl.KindNothing, Err: fmt.Errorf("nothing is left of run %q", name), Hint: "pawl runs"}
}

// proposeFromGit makes a proposal for a project without runs, from a plan and git commits.
func (r *Recovery) proposeFromGit(ctx context.Context, records *runs.SnapshotRecords, o Options) error {
	plan, err := r.findPlan("", nil, o.Plan)
	if err != nil {
		return err
	}
	if plan.Plan == nil {
		return &pawl.Error{Kind: pawl.KindNothing, Err: errors.New("no run is left here, and no plan was found"), Hint: "pawl recover --plan FILE"}
	}
	run := pawl.NewRunID(plan.Name, time.Now(), disk.RandomHex(2))
	r.New, r.plan = true, plan
	return r.propose(ctx, run, records, o)
}

// propose gathers the evidence of a run and makes the proposal.
func (r *Recovery) propose(ctx context.Context, run pawl.RunID, records *runs.SnapshotRecords, o Options) error {
	g := &gatherer{project: r.project, run: run, records: records, fresh: r.New}
	evidence, err := g.gather(ctx, r, o)
	if err != nil {
		return err
	}
	r.left, r.plan = g.left, g.plan
	r.Proposal = Rebuild(evidence, o.Trust, time.Now())
	if n := r.Proposal.RejectedCount(evidence.Journal); n > 0 {
		return fmt.Errorf("rebuild run %s: the state rejects %d of the rebuilt events", run, n)
	}
	return nil
}

// Recovered is the result of an accepted proposal.
type Recovered struct {
	Run   pawl.RunID
	Aside string // where the damaged journal was moved; "" if there was none
}

// Accept makes the proposal the run's journal and moves the damaged journal aside. If it is interrupted, one of the two
// is in place.
func (r *Recovery) Accept() (done Recovered, err error) {
	done.Run = r.Run
	if err := r.plan.save(r.project, r.Run); err != nil {
		return done, err
	}
	if err := runs.Claim(r.project, r.Run, nil); err != nil { // before: a crash leaves a rebuilt journal that counts
		return done, err
	}
	if done.Aside, err = r.left.Rebuild(r.Events); err != nil {
		return done, err
	}
	return done, runs.Mark(r.project, r.Run)
}

// Refresh rewrites views and cache after Accept, because the old ones count the old journal's events.
func (r *Recovery) Refresh(ctx context.Context) error {
	run, err := runs.Load(ctx, r.project, r.Run)
	if err != nil {
		return err
	}
	return errors.Join(runs.RewriteViews(r.project, run), run.Log.Close())
}
