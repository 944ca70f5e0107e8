package dotagent

import (
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/report"
)

// verify runs the document's four validations: named files exist, times are plausible, phases are in order, no write was
// interrupted. Each is one OK finding or a finding per fault. Then it checks tasks, reports and archives, and adds the
// findings of reading.
func verify(files format.Files, env format.Env) []pawl.Finding {
	r := readWorkflow(files, env)
	if n := len(archives(files)); r.out.Name == "" && n > 0 {
		return []pawl.Finding{{Level: pawl.OK, What: fmt.Sprintf("no active workflow; %d archived", n), Where: archiveFolder}}
	}
	if r.out.Name == "" {
		return []pawl.Finding{{Level: pawl.Bad, What: "no state of dotagent found here", Where: phasePath}}
	}
	v := &workflowVerifier{workflowReader: r}
	v.validate()
	v.tasks()
	v.archives()
	v.checkOtherFiles()
	v.found.Add(r.Findings()...)
	return v.found.Findings()
}

// validate runs the four validations of the document.
func (v *workflowVerifier) validate() {
	v.outputs()
	v.times()
	v.progression()
	v.writes()
}

type workflowVerifier struct {
	*workflowReader
	found report.Report
}

// outputs checks that all named outputs exist: those of phases and tasks, and the files that tasks say they changed.
func (v *workflowVerifier) outputs() {
	var faults []pawl.Finding
	n := 0
	look := func(where, name, what string) {
		n++
		if there, known := v.exists(name); !there && known {
			faults = append(faults, report.New(pawl.Bad, where, "", "%s names %s, which is missing", what, name))
		}
	}
	for _, c := range v.flow.completed {
		if c.output != "" {
			look(c.node.at("output").where(), c.output, c.phase.String())
		} else if !c.odd {
			faults = append(faults, report.New(pawl.Warn, c.where(), "", "%s is marked done but names no output", c.phase))
		}
	}
	for _, t := range v.workflowReader.tasks {
		if t.named && t.native != "" && taskStatus(t.native) == pawl.Done && t.output == nil {
			look(t.node.at("output").where(), t.out, "task "+t.id)
		}
		if t.output == nil {
			continue
		}
		for _, c := range t.output.claims {
			look(t.output.where(), c.Path, "the output of task "+t.id)
		}
	}
	v.found.Check(fmt.Sprintf("all %d files that phases and tasks name exist", n), faults)
}

// times checks that times are in order. Reading reports times in the future.
func (v *workflowVerifier) times() {
	var faults []pawl.Finding
	before, what := v.flow.started, "the workflow started"
	for _, c := range v.flow.completed {
		if c.when.IsZero() {
			faults = append(faults, report.New(pawl.Warn, c.where(), "", "%s has no completion time", c.phase))
			continue
		}
		if c.when.Before(before.Add(-clockSkew)) {
			faults = append(faults, report.New(pawl.Bad, c.where(), "", "%s was completed before %s", c.phase, what))
		}
		before, what = newest(before, c.when), c.phase.String()+" was done"
	}
	if u := v.flow.updated; !u.IsZero() && u.Before(before.Add(-clockSkew)) {
		faults = append(faults, report.New(pawl.Warn, v.flow.node.at("last_updated").where(), "", "last_updated is before %s", what))
	}
	for _, t := range v.workflowReader.tasks {
		if !t.ended.IsZero() && t.ended.Before(t.started) {
			faults = append(faults, report.New(pawl.Warn, t.where(), "", "task %s ended before it started", t.id))
		}
	}
	faults = append(faults, v.badTimes...)
	v.found.Check("the times are plausible: none is in the future, the last one is less than a week old", faults)
}

// progression checks that the completed phases are the first of the five, in order.
func (v *workflowVerifier) progression() {
	var faults []pawl.Finding
	for _, text := range v.flow.order() {
		faults = append(faults, report.New(pawl.Bad, v.flow.where(), "", "%s", text))
	}
	if v.flow.Value == nil && v.file(phasePath) == nil {
		faults = append(faults, report.New(pawl.Warn, phasePath, "", "missing: completed phases are taken from the reports"))
	}
	if at := v.currentPhase(); at < phaseEnd && v.flow.current != unknown && v.flow.current > at {
		faults = append(faults, report.New(pawl.Bad, v.flow.node.at("current_phase").where(), "", "%s is marked as current, but %s is not done", v.flow.current, at))
	}
	v.found.Check("the completed phases are the first ones, in order", faults)
}

// writes checks for interrupted writes.
func (v *workflowVerifier) writes() {
	faults := slices.Clone(v.truncated)
	if v.file(executionPath+".tmp") != nil {
		faults = append(faults, report.New(pawl.Warn, executionPath+".tmp", "", "leftover of an interrupted write; execution.json is used"))
	}
	v.found.Check("no write was interrupted", faults)
}

// tasks checks for tasks with too many attempts, and for unknown dependencies.
func (v *workflowVerifier) tasks() {
	var faults []pawl.Finding
	known := map[pawl.StepStatus]int{}
	for _, t := range v.workflowReader.tasks {
		known[t.status]++
		if t.exhausted || t.attempts > maxAttempts {
			faults = append(faults, report.New(pawl.Bad, t.where(), "", "task %s was tried %d times; dotagent gives up after %d", t.id, t.attempts, maxAttempts))
		}
		for _, need := range t.texts("depends_on") {
			if v.task(need) == nil {
				faults = append(faults, report.New(pawl.Warn, t.where(), "", "task %s needs %s, which is not a task", t.id, short(need)))
			}
		}
	}
	v.found.Check(fmt.Sprintf("%s, none of them tried more than %d times", of(known[pawl.Done], len(v.workflowReader.tasks), "tasks are done"), maxAttempts), faults)
}

// archives checks the archives and their number.
func (v *workflowVerifier) archives() {
	all := archives(v.files)
	var faults []pawl.Finding
	for _, folder := range all {
		if v.file(folder+"/phase.json") == nil {
			faults = append(faults, report.New(pawl.Warn, folder, "", "the archive has no phase.json"))
		}
	}
	if len(all) > maxArchives {
		faults = append(faults, report.New(pawl.Warn, strings.TrimSuffix(archiveFolder, "/"), "", "there are %d archives; dotagent keeps %d", len(all), maxArchives))
	}
	v.found.Check(fmt.Sprintf("%d workflows are archived", len(all)), faults)
}

// checkOtherFiles verifies that the files that nothing else reads are valid JSON.
func (v *workflowVerifier) checkOtherFiles() {
	for _, f := range v.files {
		if strings.HasSuffix(f.Path, ".json") && !strings.HasPrefix(f.Path, archiveFolder) {
			v.parse(&f)
		}
	}
}
