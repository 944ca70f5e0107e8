// Package storecmd is the command pawl store: it shows where the runs of a project are stored, and moves them between files and
// Postgres.
package storecmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/config"
	"pawl/internal/disk"
	"pawl/internal/journal"
	"pawl/internal/postgres"
	"pawl/internal/project"
)

// Where runs are stored.
const (
	inPostgres = "postgres"
	inFiles    = "files"
)

const long = "Show where the runs of this project are stored, or move them\n\n" +
	"Without arguments, store lists the runs. \"store move postgres\" moves all of them to the Postgres database that PAWL_POSTGRES names,\n" +
	"or \"postgres\" in your own settings, and creates its schema; new runs start there, too. \"store move files\" moves them back. The\n" +
	"journals stay the same, byte by byte. The files of a run in Postgres stay in .pawl, as a copy that is never ahead of the database.\n" +
	"Moving needs the project for itself: stop its run first. If it is interrupted, repeat the command.\n\n" +
	"\"store pull RUN\" copies a run in the database to this project. It comes from elsewhere: pawl adopt RUN lets pawl continue it here."

// New returns the command. find returns the project.
func New(find func() (*project.Project, error), out io.Writer) *cobra.Command {
	s := &command{find: find, out: out}
	c := &cobra.Command{
		Use:     "store [move postgres|files] | store pull RUN",
		Short:   "Show where runs are stored, or move them to Postgres or back to files",
		Long:    long,
		Example: "  pawl store\n  PAWL_POSTGRES=postgres://pawl@db.example/pawl pawl store move postgres",
		Args:    arguments,
		RunE: func(c *cobra.Command, args []string) error {
			p, err := s.find()
			if err != nil {
				return err
			}
			switch {
			case len(args) == 0:
			case args[0] == "pull":
				err = s.pull(c.Context(), p, args[1])
			default:
				err = s.move(c.Context(), p, args[1])
			}
			if err != nil {
				return err
			}
			return s.show(p)
		},
	}
	c.Flags().BoolVar(&s.json, "json", false, "output JSON")
	return c
}

func arguments(_ *cobra.Command, args []string) error {
	if len(args) == 0 || len(args) == 2 && (args[0] == "pull" || args[0] == "move" && (args[1] == inPostgres || args[1] == inFiles)) {
		return nil
	}
	return errors.New("expected nothing, \"move postgres\", \"move files\" or \"pull RUN\"")
}

type command struct {
	find func() (*project.Project, error)
	out  io.Writer
	json bool
}

// Report says where the runs of a project are stored.
type Report struct {
	New      string `json:"new_runs"` // postgres or files
	Database string `json:"database,omitempty"`
	Runs     []Run  `json:"runs"`
}

// Run is a run in a Report.
type Run struct {
	Run      pawl.RunID `json:"run"`
	Stored   string     `json:"stored"` // postgres or files
	Database string     `json:"database,omitempty"`
	Archived bool       `json:"archived,omitempty"`
}

// folders are the folders with runs.
func folders(p *project.Project) []string { return []string{p.Runs(), p.Archive()} }

func (s *command) show(p *project.Project) error {
	r := Report{New: inFiles, Runs: []Run{}}
	var err error
	if r.Database, err = journal.NewRunsIn(p.Runs()); err != nil {
		return err
	}
	if r.Database != "" {
		r.New = inPostgres
	}
	for _, folder := range folders(p) {
		ids, err := journal.Runs(folder)
		if err != nil {
			return err
		}
		for _, id := range ids {
			database, err := journal.StoredIn(folder, id)
			if err != nil {
				return err
			}
			run := Run{Run: id, Stored: inFiles, Database: database, Archived: folder != p.Runs()}
			if database != "" {
				run.Stored = inPostgres
			}
			r.Runs = append(r.Runs, run)
		}
	}
	return s.print(r)
}

func (s *command) print(r Report) error {
	if s.json {
		out := json.NewEncoder(s.out)
		out.SetIndent("", "  ")
		return out.Encode(r)
	}
	for _, run := range r.Runs {
		fmt.Fprintf(s.out, "%-8s  %s\n", run.Stored, run.Run)
	}
	where := r.New
	if r.Database != "" {
		where += " (database " + r.Database + ")"
	}
	fmt.Fprintf(s.out, "new runs start in %s\n", where)
	return nil
}

// move moves all runs. No engine may work on the project meanwhile.
func (s *command) move(ctx context.Context, p *project.Project, where string) (err error) {
	lock, err := p.LockEngine(project.Holder{PID: os.Getpid(), Since: time.Now().UTC(), Command: "pawl store move"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	database := ""
	if where == inPostgres {
		s, err := open(ctx, p, postgres.Migrate)
		if err != nil {
			return err
		}
		database = s.ID()
		s.Close()
	}
	if err := journal.StoreNew(p.Runs(), database); err != nil {
		return err
	}
	moved := 0
	for _, folder := range folders(p) {
		ids, err := journal.Runs(folder)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if database != "" {
				err = journal.ToStore(ctx, folder, id, database)
			} else {
				err = journal.ToFiles(ctx, folder, id)
			}
			if err != nil {
				return fmt.Errorf("move run %s (%s moved before): %w", id, layout.Count(moved, "run"), err)
			}
			moved++
		}
	}
	return nil
}

// open opens the database.
func open(ctx context.Context, p *project.Project, how func(ctx context.Context, dsn string) (*postgres.Store, error)) (*postgres.Store, error) {
	dsn, err := config.Postgres(os.Getenv, p.Root)
	if err == nil && dsn == "" {
		err = &pawl.Error{Kind: pawl.KindUsage, Err: errors.New("no database: set " + config.PostgresVariable + ", or \"postgres\" in your own settings, to its DSN"), Hint: "pawl store --help"}
	}
	if err != nil {
		return nil, err
	}
	return how(ctx, dsn)
}

// pull copies a run that is stored in the database to the project.
func (s *command) pull(ctx context.Context, p *project.Project, name string) error {
	run, err := pawl.ParseRunID(name)
	if err != nil {
		return &pawl.Error{Kind: pawl.KindUsage, Err: err, Hint: "pawl store --help"}
	}
	if disk.Exists(p.RunDir(run)) || disk.Exists(p.ArchivedDir(run)) {
		return &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("the project already has run %s", run), Hint: "pawl runs"}
	}
	from, err := open(ctx, p, postgres.Open)
	if err != nil {
		return err
	}
	defer from.Close()
	key, err := from.Find(ctx, run)
	if err != nil {
		return err
	}
	if err := journal.Attach(p.Runs(), run, from.ID(), key); err != nil {
		return err
	}
	log, err := journal.Open(p.Runs(), run)
	if err != nil {
		return err
	}
	return errors.Join(log.Stale(), log.Close())
}
