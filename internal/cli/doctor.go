package cli

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/project"
	"pawl/internal/resume"
)

func (a *app) doctorCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Say what this system guarantees, and what is missing",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			findings := append(resume.Guarantees(), tools()...)
			p, err := a.project()
			switch {
			case errors.Is(err, pawl.ErrNoProject):
				findings = append(findings, pawl.Finding{Level: pawl.OK, What: "no project here yet", Hint: "pawl init"})
			case err != nil:
				findings = append(findings, pawl.Finding{Level: pawl.Bad, What: err.Error(), Hint: pawl.HintOf(err)})
			default:
				findings = append(findings, a.projectFindings(p)...)
			}
			findings = append(findings, a.agentFindings(p)...)
			return a.printFindings(findings, "something is not in place")
		},
	}
	return a.jsonFlag(c)
}

func tools() []pawl.Finding {
	findings := []pawl.Finding{{Level: pawl.OK, What: "system " + runtime.GOOS + "/" + runtime.GOARCH}}
	for name, need := range map[string]string{"/bin/sh": "steps run in it", "git": "snapshots and evidence use it"} {
		path, err := exec.LookPath(name)
		if err != nil {
			findings = append(findings, pawl.Finding{Level: pawl.Warn, What: name + " is missing: " + need})
			continue
		}
		findings = append(findings, pawl.Finding{Level: pawl.OK, What: name + " is there", Evidence: path})
	}
	slices.SortFunc(findings[1:], func(x, y pawl.Finding) int { return strings.Compare(x.What, y.What) })
	return findings
}

func (a *app) projectFindings(p *project.Project) []pawl.Finding {
	var findings []pawl.Finding
	if _, err := a.engineConfig(p); err != nil {
		findings = append(findings, pawl.Finding{Level: pawl.Bad, What: err.Error()})
	}
	probe := filepath.Join(p.Home(), ".doctor")
	if err := os.WriteFile(probe, nil, 0o600); err != nil {
		findings = append(findings, pawl.Finding{Level: pawl.Bad, What: "the project's .pawl cannot be written", Evidence: err.Error()})
	} else if err := os.Remove(probe); err != nil {
		findings = append(findings, pawl.Finding{Level: pawl.Warn, What: "left behind: " + probe, Evidence: err.Error()})
	} else {
		findings = append(findings, pawl.Finding{Level: pawl.OK, What: "project in " + p.Root + " can be written"})
	}
	if holder, alive := p.EngineHolder(); alive {
		findings = append(findings, pawl.Finding{Level: pawl.OK, What: "an engine works here", Evidence: holder.String()})
	}
	return findings
}
