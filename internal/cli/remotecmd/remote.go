// Package remotecmd has the commands that move runs between machines: pawl remote, push, pull and clone.
package remotecmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli/complete"
	"pawl/internal/cli/flags"
	"pawl/internal/cli/layout"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/shellwords"
	"pawl/internal/snapshot"
	"pawl/internal/transfer"
)

// Commands makes the commands.
type Commands struct {
	Out     io.Writer
	Find    func() (*project.Project, error)
	Path    func(path string) (string, error) // an absolute path for one that the user gave
	Author  func() pawl.Author
	Version string                // of this program
	Worker  func() *cobra.Command // makes pawl worker

	json   bool
	remote string // value of --remote
}

// All returns what makes the commands, by name.
func (x *Commands) All() map[string]func() *cobra.Command {
	return map[string]func() *cobra.Command{"push": x.pushCommand, "pull": x.pullCommand, "clone": x.cloneCommand, "remote": x.remoteCommand, "worker": x.Worker}
}

func (x *Commands) jsonFlag(c *cobra.Command) *cobra.Command {
	c.Flags().BoolVar(&x.json, "json", false, "output JSON")
	return c
}

const remoteLong = "Manage the remotes of this project\n\n" +
	"A remote is a place that several machines reach: a folder such as a network share, a bucket of an S3 server, or a repository of an OCI\n" +
	"registry. pawl push stores runs there, and pawl pull fetches them. pawl keeps the list of remotes in your own state folder. Nothing in\n" +
	"the files of a project adds one."

func (x *Commands) remoteCommand() *cobra.Command {
	c := &cobra.Command{Use: "remote", Short: "Manage remotes, which store runs for several machines", Long: remoteLong, Example: "  pawl remote add origin s3://bucket/pawl\n  pawl remote runs\n  pawl remote verify"}
	c.AddCommand(x.addCommand(), x.listCommand(), x.deleteCommand())
	for _, named := range []*cobra.Command{x.removeCommand(), x.runsCommand(), x.verifyCommand(), x.pruneCommand()} {
		named.ValidArgsFunction = x.completeName
		c.AddCommand(named)
	}
	return c
}

// completeName completes the name of a remote.
func (x *Commands) completeName(_ *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	here, err := x.Path(".")
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names := complete.In(here, "", nil).Remotes()
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, prefix) }), cobra.ShellCompDirectiveNoFileComp
}

const addLong = "Add a remote\n\n" +
	"URL is file:///FOLDER, s3://BUCKET/PREFIX or oci://HOST/REPOSITORY. It must exist, and be empty or a remote of pawl. Endpoint, region\n" +
	"and credentials are those of the AWS CLI or of docker: a URL has none. If several remotes exist, commands use the one named origin\n" +
	"unless --remote names another one. To change --auto of a remote, add it again."

func (x *Commands) addCommand() *cobra.Command {
	auto := false
	c := &cobra.Command{
		Use:   "add NAME URL",
		Short: "Add a remote",
		Long:  addLong, Example: "  pawl remote add origin file:///mnt/share/pawl\n  pawl remote add origin s3://bucket/pawl\n" +
			"  pawl remote add origin oci://registry.example.com/team/pawl\n  pawl remote add origin file:///mnt/share/pawl --auto",
		Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			p, err := x.Find()
			if err != nil {
				return err
			}
			r, err := transfer.Add(c.Context(), p, args[0], args[1], auto)
			if err != nil {
				return err
			}
			return x.print(r, func() error {
				_, err := fmt.Fprintf(x.Out, "added remote %s: %s\n", r.Name, r.URL)
				if r.Unconditional && err == nil {
					_, err = fmt.Fprint(x.Out, "this server overwrites what exists: if two machines push a run at the same time, you choose which push counts\n")
				}
				return err
			})
		},
	}
	c.Flags().BoolVar(&auto, "auto", false, "push runs there after each step")
	return x.jsonFlag(c)
}

func (x *Commands) listCommand() *cobra.Command {
	return x.jsonFlag(&cobra.Command{
		Use:   "list",
		Short: "List the remotes of this project",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			p, err := x.Find()
			if err != nil {
				return err
			}
			list, err := transfer.Remotes(p)
			if err != nil {
				return err
			}
			return x.print(list, func() error {
				if len(list) == 0 {
					_, err := fmt.Fprintln(x.Out, "no remotes")
					return err
				}
				var rows [][]string
				for _, r := range list {
					push := "by command"
					if r.Auto {
						push = "auto"
					}
					rows = append(rows, []string{r.Name, push, r.URL})
				}
				return layout.Table(x.Out, []string{"NAME", "PUSH", "URL"}, rows)
			})
		},
	})
}

func (x *Commands) removeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove a remote from this project; what is stored there stays",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := x.Find()
			if err == nil {
				err = transfer.Remove(p, args[0])
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(x.Out, "removed remote %s; what is stored there stays\n", args[0])
			return err
		},
	}
}

// connected calls do with the remote that the arguments name.
func (x *Commands) connected(ctx context.Context, args []string, do func(*transfer.Connection) error) error {
	p, err := x.Find()
	if err != nil {
		return err
	}
	c, err := transfer.Connect(ctx, p, strings.Join(args, ""))
	if err != nil {
		return err
	}
	return do(c)
}

func (x *Commands) runsCommand() *cobra.Command {
	return x.jsonFlag(&cobra.Command{
		Use:   "runs [NAME]",
		Short: "List the runs on a remote",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return x.connected(c.Context(), args, func(from *transfer.Connection) error {
				list, err := from.Runs(c.Context())
				if err != nil {
					return err
				}
				return x.print(list, func() error { return x.printRuns(list) })
			})
		},
	})
}

func (x *Commands) printRuns(list []transfer.OnRemote) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(x.Out, "no runs on the remote")
		return err
	}
	var rows [][]string
	for _, r := range list {
		push := fmt.Sprint(r.Number)
		if r.Conflict != "" {
			push += " (conflict: " + r.Conflict + ")"
		}
		rows = append(rows, []string{string(r.Run), r.Status, push, layout.UTCWithZone(r.Time), r.Owner.Host})
	}
	return layout.Table(x.Out, []string{"RUN", "STATUS", "PUSH", "TIME", "HOST"}, rows)
}

func (x *Commands) verifyCommand() *cobra.Command {
	return x.jsonFlag(&cobra.Command{
		Use:   "verify [NAME]",
		Short: "Check every byte that the runs on a remote need",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return x.connected(c.Context(), args, func(from *transfer.Connection) error {
				findings, err := from.Verify(c.Context())
				if err != nil {
					return err
				}
				if err := x.print(append([]pawl.Finding{}, findings...), func() error { layout.PrintFindings(x.Out, findings); return nil }); err != nil {
					return err
				}
				if bad := layout.CountLevel(findings, pawl.Bad); bad > 0 {
					return &pawl.Error{Kind: pawl.KindDamaged, Err: fmt.Errorf("the remote is damaged: %s", layout.Count(bad, "fault"))}
				}
				return nil
			})
		},
	})
}

func (x *Commands) pruneCommand() *cobra.Command {
	grace := flags.Age(24 * time.Hour)
	c := &cobra.Command{
		Use:   "prune [NAME]",
		Short: "Delete what no run on a remote needs",
		Long: "Delete what no run on a remote needs\n\nprune marks packs that the newest push of no run needs, and deletes those that an earlier prune marked longer than --grace ago.\n" +
			"No push may take longer than that.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return x.connected(c.Context(), args, func(from *transfer.Connection) error {
				pruned, err := from.Prune(c.Context(), time.Duration(grace))
				if err != nil {
					return err
				}
				return x.print(pruned, func() error {
					_, err := fmt.Fprintf(x.Out, "deleted %s, freed %s; marked %d, kept %d\n",
						layout.Count(pruned.Deleted, "pack"), layout.ByteSize(pruned.Freed), pruned.Marked, pruned.Kept)
					return err
				})
			})
		},
	}
	c.Flags().Var(&grace, "grace", "delete what was marked longer than `DURATION` ago, such as 24h or 7d")
	return x.jsonFlag(c)
}

// print prints a value as JSON, or calls text.
func (x *Commands) print(value any, text func() error) error {
	if !x.json {
		return text()
	}
	enc := json.NewEncoder(x.Out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(value)
}

func (x *Commands) remoteFlag(c *cobra.Command, what string) *cobra.Command {
	c.Flags().StringVar(&x.remote, "remote", "", what)
	return x.jsonFlag(c)
}

const pushLong = "Store a run on a remote, for another machine\n\n" +
	"push stores the journal, the plans and the snapshots of a run, and the records of attempts that have not ended. It sends only what\n" +
	"the remote lacks. The run may be active. Secrets in files or in the journal are sent as they are on this disk.\n\n" +
	"If another machine or project has pushed the run since this one pushed or pulled it, push exits with 5 and changes nothing on the\n" +
	"remote. Nothing is merged: fork the run to continue it here."

func (x *Commands) pushCommand() *cobra.Command {
	return x.remoteFlag(&cobra.Command{
		Use:     "push [RUN]",
		Short:   "Store a run on a remote, for another machine",
		Long:    pushLong,
		Example: "  pawl push\n  pawl push latest --remote backup",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			p, err := x.Find()
			if err != nil {
				return err
			}
			if _, err := transfer.Find(p, x.remote); err != nil {
				return err
			}
			run, err := runs.FindRun(c.Context(), p, strings.Join(args, ""))
			if err != nil {
				return err
			}
			return transfer.With(c.Context(), p, x.remote, func(to *transfer.Connection, store *snapshot.Store) error {
				done, err := to.Push(c.Context(), run, store, transfer.PushOptions{By: x.Author(), Version: x.Version})
				if err != nil {
					return err
				}
				return x.print(done, func() error { return x.printPushed(to, done) })
			})
		},
	}, "push to the remote `NAME`")
}

func (x *Commands) printPushed(to *transfer.Connection, done transfer.Pushed) error {
	if done.UpToDate {
		_, err := fmt.Fprintf(x.Out, "nothing to push: remote %s has run %s up to event %d\n", to.Name, done.Run, done.Seq)
		return err
	}
	_, err := fmt.Fprintf(x.Out, "pushed run %s to %s (push %d): up to event %d, %s, %s sent\n",
		done.Run, to.Name, done.Number, done.Seq, layout.Count(done.Snapshots, "snapshot"), layout.ByteSize(done.Bytes))
	if len(done.Live) > 0 && err == nil {
		_, err = fmt.Fprintf(x.Out, "not ended: %s\n", strings.Join(done.Live, ", "))
	}
	return err
}

const pullLong = "Fetch a run from a remote\n\n" +
	"pull fetches the journal, the plans and the snapshots of a run, but changes no files of the project. It fetches only what the project\n" +
	"lacks, and checks all of it. The run comes from elsewhere: pawl adopt shows it, and lets pawl continue it. If this project has the run,\n" +
	"the remote must continue it; otherwise pull exits with 5 and changes nothing."

func (x *Commands) pullCommand() *cobra.Command {
	return x.remoteFlag(&cobra.Command{
		Use:     "pull RUN",
		Short:   "Fetch a run from a remote",
		Long:    pullLong,
		Example: "  pawl pull build-20260101-120000-a1b2",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			p, err := x.Find()
			if err != nil {
				return err
			}
			return transfer.With(c.Context(), p, x.remote, func(from *transfer.Connection, store *snapshot.Store) error {
				run, err := from.Resolve(c.Context(), args[0])
				if err != nil {
					return err
				}
				done, err := from.Pull(c.Context(), run, store)
				if err != nil {
					return err
				}
				return x.print(done, func() error { return x.printPulled(done, "pawl adopt "+string(done.Run)) })
			})
		},
	}, "pull from the remote `NAME`")
}

func (x *Commands) printPulled(done transfer.Pulled, next string) error {
	if done.UpToDate {
		_, err := fmt.Fprintf(x.Out, "nothing to pull: the project has run %s up to event %d of push %d, or more\n", done.Run, done.Seq, done.Number)
		return err
	}
	_, err := fmt.Fprintf(x.Out, "pulled run %s (push %d, by %s at %s): up to event %d, %s, %s received\n", done.Run, done.Number, done.Owner.Host,
		layout.UTCWithZone(done.Time), done.Seq, layout.Count(done.Snapshots, "snapshot"), layout.ByteSize(done.Bytes))
	if len(done.Live) > 0 && err == nil {
		_, err = fmt.Fprintf(x.Out, "not ended when it was pushed: %s\nmake sure that %s runs them no more before you resume the run here\n", strings.Join(done.Live, ", "), done.Owner.Host)
	}
	if err == nil {
		_, err = fmt.Fprintf(x.Out, "to continue it here: %s\n", next)
	}
	return err
}

const cloneLong = "Make a new project with a run of a remote and its files\n\n" +
	"clone makes the new or empty folder DIR a project with the run, and writes the files of its latest checkpoint there. What git or\n" +
	".pawlignore ignores is not among them, nor is git's own folder. If clone is interrupted, DIR has a file PAWL-UNFINISHED: remove DIR,\n" +
	"and repeat the command."

func (x *Commands) cloneCommand() *cobra.Command {
	return x.remoteFlag(&cobra.Command{
		Use:     "clone RUN DIR",
		Short:   "Make a new project with a run of a remote and its files",
		Long:    cloneLong,
		Example: "  pawl clone build-20260101-120000-a1b2 build --remote file:///mnt/share/pawl",
		Args:    cobra.ExactArgs(2),
		RunE:    func(c *cobra.Command, args []string) error { return x.clone(c.Context(), args[0], args[1]) },
	}, "clone from the remote `NAME` of this project, or from a URL")
}

func (x *Commands) clone(ctx context.Context, name, folder string) error {
	path, err := x.Path(folder)
	if err != nil {
		return err
	}
	url := x.remote
	if !strings.Contains(url, "://") {
		p, err := x.Find()
		if errors.Is(err, pawl.ErrNoProject) {
			return &pawl.Error{Kind: pawl.KindUsage, Err: errors.New("outside of a project, clone needs the URL of the remote"), Hint: "pawl clone RUN DIR --remote s3://bucket/pawl"}
		}
		if err != nil {
			return err
		}
		r, err := transfer.Find(p, x.remote)
		if err != nil {
			return err
		}
		url = r.URL
	}
	from, err := transfer.At(ctx, url)
	if err != nil {
		return err
	}
	run, err := from.Resolve(ctx, name)
	if err != nil {
		return err
	}
	done, err := transfer.Clone(ctx, url, path, run)
	if err != nil {
		return err
	}
	return x.print(done, func() error {
		if _, err := fmt.Fprintf(x.Out, "made project %s, with %s of checkpoint %s\n", done.Root, layout.Count(done.Files, "path"), done.Checkpoint); err != nil {
			return err
		}
		return x.printPulled(done.Pulled, "pawl -C "+shellwords.Word(folder)+" adopt "+string(done.Run))
	})
}
