// Package doctorview checks the programs that pawl needs, for pawl doctor.
package doctorview

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/git"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// Tools describes the system and the programs that steps and recovery need.
func Tools() []pawl.Finding {
	findings := []pawl.Finding{{Level: pawl.OK, What: "system " + runtime.GOOS + "/" + runtime.GOARCH}}
	for name, need := range map[string]string{"/bin/sh": "steps need it", "git": "recovery needs it as evidence"} {
		path, err := findTool(name)
		if err != nil {
			findings = append(findings, pawl.Finding{Level: pawl.Warn, What: name + " not found: " + need})
			continue
		}
		findings = append(findings, pawl.Finding{Level: pawl.OK, What: name + " found", Evidence: path})
	}
	slices.SortFunc(findings[1:], func(x, y pawl.Finding) int { return strings.Compare(x.What, y.What) })
	return findings
}

// Gates reports whether the user's own setting `gates: server-only` protects, in a project if there is one.
func Gates(p *project.Project) []pawl.Finding {
	root, projects := "", []*project.Project{}
	if p != nil {
		root, projects = p.Root, append(projects, p)
	}
	own, err := config.ReadUser(root)
	if err != nil || own.Gates == "" { // another check reports the error
		return nil
	}
	if why := runs.Unprotected(own, nil, projects...); why != "" {
		return []pawl.Finding{{Level: pawl.Warn, What: why}}
	}
	return []pawl.Finding{{Level: pawl.OK, What: "only a server accepts answers to gates, and steps run as " + own.RunAs}}
}

func findTool(name string) (string, error) {
	if name != "git" {
		return exec.LookPath(name)
	}
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	return git.Program(here)
}
