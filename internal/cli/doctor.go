package cli

import (
	"errors"
	"path/filepath"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli/doctorview"
	"pawl/internal/cli/remotecmd"
	"pawl/internal/cli/scheduling"
	"pawl/internal/cli/storecmd"
	"pawl/internal/config"
	"pawl/internal/disk"
	"pawl/internal/project"
	"pawl/internal/resume"
)

func (a *app) doctorCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check this machine, the project and the agents' hooks",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			findings := append(resume.Guarantees(), doctorview.Tools()...)
			p, err := a.project()
			switch {
			case errors.Is(err, pawl.ErrNoProject):
				findings = append(findings, pawl.Finding{Level: pawl.OK, What: "no project in this folder yet", Hint: "pawl init"})
			case err != nil:
				findings = append(findings, pawl.Finding{Level: pawl.Bad, What: err.Error(), Hint: pawl.HintOf(err)})
			default:
				findings = append(findings, append(a.projectFindings(p), storecmd.Findings(c.Context(), p)...)...)
				findings = append(findings, remotecmd.Findings(c.Context(), p)...)
			}
			findings = append(append(findings, doctorview.Gates(p)...), a.agentFindings(p)...)
			return a.printFindings(findings, "this system is not ready")
		},
	}
	return a.jsonFlag(c)
}

func (a *app) projectFindings(p *project.Project) []pawl.Finding {
	var findings []pawl.Finding
	if _, err := a.engineConfig(p); err != nil {
		findings = append(findings, pawl.Finding{Level: pawl.Bad, What: err.Error()})
	}
	if !p.Trust.Trusted() {
		return append(findings, pawl.Finding{Level: pawl.Warn, What: p.Trusted().Error(), Hint: "pawl trust"})
	}
	if len(config.Withheld(p)) > 0 {
		findings = append(findings, pawl.Finding{Level: pawl.Warn, What: withheld, Hint: "pawl trust"})
	}
	probe := filepath.Join(p.Home(), ".doctor")
	if err := disk.Replace(probe, nil); err != nil {
		findings = append(findings, pawl.Finding{Level: pawl.Bad, What: "cannot write to the project's .pawl folder", Evidence: err.Error()})
	} else if err := disk.Remove(probe); err != nil {
		findings = append(findings, pawl.Finding{Level: pawl.Warn, What: "cannot remove the test file " + probe, Evidence: err.Error()})
	} else {
		findings = append(findings, pawl.Finding{Level: pawl.OK, What: "project " + p.Root + " is writable"})
	}
	findings = append(findings, scheduling.Findings(p)...)
	if holder, alive := p.EngineHolder(); alive {
		findings = append(findings, pawl.Finding{Level: pawl.OK, What: "an engine is running in this project", Evidence: holder.String()})
	}
	return findings
}
