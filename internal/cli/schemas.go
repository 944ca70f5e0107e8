package cli

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/brief"
	"pawl/internal/cli/attachview"
	"pawl/internal/cli/background"
	"pawl/internal/cli/checkpointview"
	"pawl/internal/cli/eventstream"
	"pawl/internal/cli/failure"
	"pawl/internal/cli/forkview"
	"pawl/internal/cli/importview"
	"pawl/internal/cli/layout"
	"pawl/internal/cli/processview"
	"pawl/internal/cli/promptview"
	"pawl/internal/cli/pruneview"
	"pawl/internal/cli/recoverview"
	"pawl/internal/cli/remotecmd"
	"pawl/internal/cli/restoreview"
	"pawl/internal/cli/resumeview"
	"pawl/internal/cli/rollbackview"
	"pawl/internal/cli/runsview"
	"pawl/internal/cli/stats"
	"pawl/internal/cli/statusview"
	"pawl/internal/cli/trustview"
	"pawl/internal/cli/updateview"
	"pawl/internal/interop"
	"pawl/internal/project"
	"pawl/internal/recovery"
	"pawl/internal/remote"
	"pawl/internal/resume"
	"pawl/internal/runs"
	"pawl/internal/schema"
	"pawl/internal/transfer"
	"pawl/internal/version"
)

// output is what a command prints with --json: a value of one of the types or, in a stream, one in each line.
type output struct {
	name, command string
	types         []reflect.Type
}

func of[T any](name, command string) output {
	return output{name, command, []reflect.Type{reflect.TypeFor[T]()}}
}

// outputs lists what commands print with --json. A schema of each lies in docs/schemas.
var outputs = []output{
	of[trustview.Adoption]("adopt", "pawl adopt --json"),
	of[runs.ArchiveResult]("archive", "pawl archive --json"),
	of[openedGate]("ask", "pawl ask --json"),
	of[attachview.Report]("attach", "pawl attach --json, pawl detach --json"),
	of[background.Started]("background", "pawl run --background --json, pawl resume --background --json"),
	of[brief.Brief]("brief", "pawl brief --json"),
	of[promptview.Prompt]("brief-prompt", "pawl brief --prompt STEP --json"),
	of[checkpointview.Report]("checkpoint", "pawl checkpoint --json"),
	of[[]checkpointview.Report]("checkpoints", "pawl checkpoints --json"),
	of[[]restoreview.Change]("diff", "pawl diff --json"),
	of[transfer.Cloned]("clone", "pawl clone --json"),
	of[failure.Document]("error", "any command with --json, to standard error"),
	of[[]resume.Explained]("explain", "pawl explain --json"),
	of[[]recovery.Rule]("explain-rules", "pawl explain --rules --json"),
	of[[]pawl.Finding]("findings", "pawl doctor --json, pawl verify --json, pawl remote verify --json"),
	of[forkview.Report]("fork", "pawl fork --json"),
	of[[]layout.GateReport]("gates", "pawl gates --json"),
	of[interop.Imported]("import", "pawl import --json"),
	of[importview.Report]("import-dry-run", "pawl import --dry-run --json"),
	of[pawl.Event]("log", "pawl log --json, one in each line"),
	of[[]checkpointview.Node]("log-graph", "pawl log --graph --json"),
	of[[]project.Remembered]("memory", "pawl memory --json"),
	of[[]string]("names", "pawl export --json, pawl import --fresh --json, pawl prune --as SYSTEM --json"),
	of[checkedPlan]("plan-check", "pawl plan check --json"),
	of[processview.Report]("processes", "pawl processes --json"),
	of[pruneview.Report]("prune", "pawl prune --json"),
	of[transfer.Pulled]("pull", "pawl pull --json"),
	of[transfer.Pushed]("push", "pawl push --json"),
	of[recoverview.Report]("recover", "pawl recover --json"),
	of[transfer.Added]("remote", "pawl remote add --json"),
	of[remotecmd.Deleted]("remote-delete", "pawl remote delete --json"),
	of[[]transfer.Remote]("remote-list", "pawl remote list --json"),
	of[remote.Pruned]("remote-prune", "pawl remote prune --json"),
	of[[]transfer.OnRemote]("remote-runs", "pawl remote runs --json"),
	of[restoreview.Report]("restore", "pawl restore --json"),
	of[resumeview.Examined]("resume-dry-run", "pawl resume --dry-run --json"),
	of[rollbackview.Report]("rollback", "pawl rollback --json"),
	{"run", "pawl run --json, pawl resume --json, one in each line; the outcome in the last one",
		[]reflect.Type{reflect.TypeFor[eventstream.Last](), reflect.TypeFor[pawl.Event]()}},
	of[[]runsview.Report]("runs", "pawl runs --json"),
	of[checkpointview.Shown]("show", "pawl show --json"),
	of[stats.Report]("stats", "pawl stats --json"),
	of[stats.All]("stats-all", "pawl stats --all --json"),
	of[statusview.Report]("status", "pawl status --json"),
	of[trustview.Project]("trust", "pawl trust --json"),
	of[[]trustview.Trusted]("trust-list", "pawl trust --list --json"),
	of[version.Info]("version", "pawl version --json"),
	of[resumeview.Forecast]("why", "pawl why --json"),
	of[updateview.Report]("why-update", "pawl why --update --json, pawl run --update --dry-run --json"),
}

func (a *app) schemaCommand() *cobra.Command {
	var names []string
	for _, o := range outputs {
		names = append(names, o.name)
	}
	return &cobra.Command{
		Use:       "schema [OUTPUT]",
		Short:     "Print the JSON Schema of what a command prints with --json",
		Long:      "Print the JSON Schema of what a command prints with --json\n\nWithout OUTPUT, schema lists the outputs and their commands. `pawl plan schema` prints the schema of plans.",
		Example:   "  pawl schema status",
		Args:      atMostOne,
		ValidArgs: names,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.listOutputs()
			}
			i := slices.IndexFunc(outputs, func(o output) bool { return o.name == args[0] })
			if i < 0 {
				return usageError("pawl schema", "unknown output %q; expected one of %s", args[0], strings.Join(names, ", "))
			}
			data, err := schema.Output(outputs[i].command, outputs[i].types...)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Out, "%s\n", data)
			return err
		},
	}
}

func (a *app) listOutputs() error {
	rows := make([][]string, len(outputs))
	for i, o := range outputs {
		rows[i] = []string{o.name, o.command}
	}
	return layout.Table(a.Out, []string{"OUTPUT", "PRINTED BY"}, rows)
}

func (a *app) versionCommand() *cobra.Command {
	return a.jsonFlag(&cobra.Command{
		Use:   "version",
		Short: "Print version, commit, Go version and platform",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			if a.json {
				return a.printJSON(version.Read())
			}
			_, err := fmt.Fprintf(a.Out, "pawl version %s\n", version.Read())
			return err
		},
	})
}
