// Package convert makes pawl plans of other systems' workflows: GitHub Actions workflows, dagu DAGs and Taskfiles.
//
// It promises that the plan is valid, that it names everything in the file that the plan does not do, with line and column,
// and that a step which is not complete fails until it is edited. It is pure: it reads no other file and runs nothing.
package convert

import (
	"fmt"
	"path"
	"strings"

	"pawl"
	"pawl/internal/planfile"
	"pawl/internal/shellwords"
	"pawl/internal/strictyaml"
)

// System is a system whose files can be converted.
type System string

// The systems.
const (
	GitHub   System = "github"
	Dagu     System = "dagu"
	Taskfile System = "taskfile"
)

// Systems lists the systems.
var Systems = []System{GitHub, Dagu, Taskfile}

// noun is what messages call a system's file.
func (s System) noun() string {
	switch s {
	case GitHub:
		return "workflow"
	case Dagu:
		return "DAG"
	}
	return "Taskfile"
}

// Result is a plan that was made of a workflow.
type Result struct {
	System System `json:"system"`
	Name   string `json:"name"` // of the plan
	Steps  int    `json:"steps"`
	Lost   int    `json:"not_converted"`
	Notes  []Note `json:"notes"`
	Plan   []byte `json:"-"`
}

// Note is a place in a workflow whose conversion the user should check.
type Note struct {
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Key    string `json:"key"`
	Lost   bool   `json:"not_converted"` // the plan does not do what the file says there
	Text   string `json:"text"`
}

// In returns the note as a line of a report about a file.
func (n Note) In(file string) string {
	if n.Lost {
		return fmt.Sprintf("%s:%d:%d: %s: not converted: %s", file, n.Line, n.Column, n.Key, n.Text)
	}
	return fmt.Sprintf("%s:%d:%d: %s: %s", file, n.Line, n.Column, n.Key, n.Text)
}

// Convert makes a plan of a file. system may be empty: then the content of the file decides. job limits the plan to a job of a
// workflow and the jobs that it needs, or names the task of a Taskfile. Errors are [pawl.Error] of KindUsage.
func Convert(file string, data []byte, system System, job string) (Result, error) {
	root, err := strictyaml.Tree("file", file, data)
	if err != nil {
		return Result{}, usage("", "%w", err)
	}
	if root == nil || root.Kind != strictyaml.Mapping {
		return Result{}, usage("", "%s: expected a mapping at the top level", file)
	}
	if system == "" {
		if system, err = detect(file, data, root); err != nil {
			return Result{}, err
		}
	}
	d := newDraft(file, root)
	switch system {
	case GitHub:
		err = (&github{draft: d}).convert(job)
	case Dagu:
		err = (&dagu{draft: d}).convert(job)
	case Taskfile:
		err = (&taskfile{draft: d}).convert(job)
	default:
		return Result{}, usage("", "unknown system %q; %s", system, strictyaml.DidYouMean(string(system), []string{string(GitHub), string(Dagu), string(Taskfile)}))
	}
	if err != nil {
		return Result{}, err
	}
	return d.finish(system)
}

// detect returns the system that a file is for.
func detect(file string, data []byte, root *strictyaml.Node) (System, error) {
	if _, err := planfile.Read(file, data); err == nil {
		return "", usage("pawl run "+shellwords.Word(file), "%s is a plan of pawl already; for a DAG of dagu, pass --from dagu", file)
	}
	switch {
	case root.Get("jobs") != nil:
		return GitHub, nil
	case root.Get("tasks") != nil && root.Get("steps") == nil, root.Get("includes") != nil:
		return Taskfile, nil
	case root.Get("steps") != nil:
		return Dagu, nil
	}
	return "", usage("", "%s: no jobs, steps or tasks; name the system with --from github, dagu or taskfile", file)
}

func usage(hint, format string, args ...any) error {
	return &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf(format, args...), Hint: hint}
}

// nameOf returns a name for the plan: that in the file, or the file's own.
func nameOf(file string, named *strictyaml.Node) string {
	if named.Scalar() && strings.TrimSpace(named.Text) != "" {
		return oneLine(named.Text)
	}
	base := path.Base(strings.ReplaceAll(file, "\\", "/"))
	base = strings.TrimSuffix(strings.TrimSuffix(base, ".yml"), ".yaml")
	if name := oneLine(base); name != "" {
		return name
	}
	return "plan"
}

// oneLine returns the first line of a text.
func oneLine(text string) string {
	text = strings.TrimSpace(text)
	if end := strings.IndexAny(text, "\r\n"); end >= 0 {
		text = text[:end]
	}
	return strings.TrimSpace(text)
}
