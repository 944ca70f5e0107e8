// Package doctorview checks the programs that pawl needs, for pawl doctor.
package doctorview

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/git"
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
