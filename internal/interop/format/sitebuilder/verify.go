package sitebuilder

import (
	"cmp"
	"fmt"
	"strings"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/report"
	"pawl/internal/oneline"
)

// verify checks all checkpoints by the document's rules, and the other files that mention their tasks. It returns every
// fault, OK for what is sound, and the findings of reading.
func verify(files format.Files, env format.Env) []pawl.Finding {
	r := readTeam(files, env)
	if len(r.jobs) == 0 {
		return []pawl.Finding{{Level: pawl.Bad, What: "no tasks of site builders found here", Where: r.checkpoints()}}
	}
	v := &teamVerifier{teamReader: r}
	for _, j := range r.jobs {
		if j.point != nil {
			v.job(j)
		}
	}
	v.board()
	v.found.Add(r.Findings()...)
	return v.found.Findings()
}

type teamVerifier struct {
	*teamReader
	found report.Report
}

func (v *teamVerifier) fault(level pawl.Level, c *checkpoint, hint, text string, args ...any) {
	v.found.Find(level, report.Where(c.file, c.line), hint, text, args...)
}

// job checks a task's checkpoint.
func (v *teamVerifier) job(j *job) {
	before := len(v.found.Findings())
	c := j.point
	v.status(j)
	v.counts(c)
	v.times(c)
	for by, n := range c.scores {
		if n > 100 {
			v.fault(pawl.Bad, c, "", "the score of %s is %d; scores go from 0 to 100", by, n)
		}
	}
	if len(v.found.Findings()) == before && len(j.missing) == 0 && !c.broken {
		v.fault(pawl.OK, c, "", "task %s of %s is %s, and its checkpoint is consistent", j.task, cmp.Or(j.agent, "nobody"), orNone(c.native))
	}
}

// status checks that a checkpoint's status matches its other values.
func (v *teamVerifier) status(j *job) {
	c := j.point
	switch word := c.taskStatus(); {
	case len(j.missingParts()) > 0:
		v.fault(pawl.Bad, c, "pawl import sitebuilder dispatches only these", "task %s is marked complete, but is not: %s", j.task, strings.Join(j.missingParts(), "; "))
	case word == complete && c.resumable != nil && *c.resumable:
		v.fault(pawl.Warn, c, "", "task %s is complete, but marked resumable", j.task)
	case word == blocked && len(c.errors) == 0:
		v.fault(pawl.Bad, c, "give the reason in errors", "task %s is blocked without a reason", j.task)
	case word == blocked:
		v.fault(pawl.Warn, c, "clear its errors, then: "+resume(j), "task %s is %s", j.task, j.why(v.clock))
	case word == inProgress && c.resumable != nil && !*c.resumable:
		v.fault(pawl.Bad, c, "", "task %s is not complete, but marked not resumable", j.task)
	case word == inProgress && c.silence(v.clock) != "":
		v.fault(pawl.Warn, c, resume(j), "task %s: %s", j.task, c.silence(v.clock))
	}
}

func resume(j *job) string {
	return "/dispatch-sitebuilder " + j.agent + " " + j.task + " --resume"
}

func (v *teamVerifier) counts(c *checkpoint) {
	listed := 0
	for _, s := range c.items {
		if meaning(s.native) == complete {
			listed++
		}
	}
	switch {
	case c.counted && c.done > c.total:
		v.fault(pawl.Bad, c, "", "%d subtasks are complete, more than the total of %d", c.done, c.total)
	case c.counted && len(c.items) > c.total:
		v.fault(pawl.Bad, c, "", "%d subtasks are listed, more than the total of %d", len(c.items), c.total)
	case c.counted && listed > c.done:
		v.fault(pawl.Bad, c, "", "the number of complete subtasks is %d, but the list has %d", c.done, listed)
	}
	const near = 2 // the document itself rounds 10 of 29 to 34 and to 35
	if c.percent > 100 {
		v.fault(pawl.Bad, c, "", "progress is %d%%, more than 100%%", c.percent)
	} else if c.counted && c.total > 0 && c.percent >= 0 && max(c.percent-c.progress(), c.progress()-c.percent) > near {
		v.fault(pawl.Warn, c, "", "progress is stated as %d%%, but %d of %d subtasks are %d%%", c.percent, c.done, c.total, c.progress())
	}
}

func (v *teamVerifier) times(c *checkpoint) {
	for _, later := range []struct {
		name string
		bad  bool
	}{
		{"updated_at", !c.updated.IsZero() && c.updated.Before(c.started)}, {"completed_at", !c.completed.IsZero() && c.completed.Before(c.started)},
	} {
		if later.bad {
			v.fault(pawl.Bad, c, "", "%s is before started_at", later.name)
		}
	}
	if c.id != "" && !c.started.IsZero() && !strings.HasSuffix(c.id, c.started.Format("-20060102-150405")) {
		v.fault(pawl.Warn, c, "", "the id %s does not end with its start time", oneline.Quote(c.id))
	}
}

// board compares STATUS.md with the checkpoints.
func (v *teamVerifier) board() {
	standing := map[string]taskStatus{}
	for _, j := range v.jobs {
		if j.point == nil {
			continue
		}
		if was, known := standing[j.agent]; !known || was == complete {
			standing[j.agent] = j.status
		}
	}
	for _, row := range v.teamReader.board.agents {
		is, known := standing[row.agent()]
		if says := meaning(row.native); known && says == complete && is != complete {
			v.found.Add(pawl.Finding{Level: pawl.Warn, Where: report.Where(v.teamReader.status(), row.line),
				What: fmt.Sprintf("STATUS.md says that %s is %s, but its checkpoints say %s", row.agent(), oneline.Quote(row.native), is)})
		}
	}
}
