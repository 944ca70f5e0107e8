package convert

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl"
	"pawl/internal/strictyaml"
)

// job converts a job.
func (g *github) job(j *githubJob) {
	j.shell, j.dir, j.env = g.shell, g.dir, maps.Clone(g.env)
	if name := j.body.Get("name"); len(g.jobs) > 1 {
		g.heading = []string{"job " + j.name}
		if name.Scalar() && !strings.Contains(name.Text, "${{") {
			g.heading[0] += ": " + oneLine(name.Text)
		}
	}
	j.system = systemOf(j.body.Get("runs-on"))
	g.matrixOf(j)
	for _, f := range j.body.Fields {
		g.jobKey(j, f)
	}
	before := g.endsOf(j.needs)
	j.ends = before
	if len(g.jobs) == 1 {
		maps.Copy(j.env, g.planEnv(j.body.Get("env"), j))
	}
	for _, other := range g.jobs {
		j.unsure = j.unsure || other.unsure && slices.Contains(j.needs, other.name)
	}
	if when := j.body.Get("if"); when != nil {
		g.jobCondition(j, when)
	}
	for i, n := range listOf(j.body.Get("steps")) {
		g.step(j, n, i)
	}
	if j.body.Get("steps") == nil && j.body.Get("uses") == nil {
		g.lost(j.body, "jobs."+j.name, "the job has no steps")
	}
	if g.pending != nil {
		s := g.placeholder(g.id(j.prefix+"edit"), "", j.ends, strings.TrimRight(outline("uses", orEmpty(j.body.Get("uses")), ""), "\n"))
		j.ends, j.all = []pawl.StepID{s.ID}, append(j.all, s.ID)
	}
	g.heading = nil
}

// jobCondition converts the condition of a job. In place of one that has no counterpart it adds a step, on which the job depends and which
// fails until it is edited.
func (g *github) jobCondition(j *githubJob, when *node) {
	before := len(g.pending)
	j.when, j.status = g.condition(when, j)
	if len(g.pending) == before {
		return
	}
	j.unknown, j.unsure = true, true
	others := g.pending[:before:before]
	g.pending = g.pending[before:]
	g.pending[len(g.pending)-1] += "; write a command that fails unless the condition holds, or true if it always holds"
	s := g.placeholder(g.id(j.prefix+"if"), "condition of job "+j.name, j.ends, "if: "+oneLine(when.Text))
	j.ends, g.pending = []pawl.StepID{s.ID}, others
}

// checkStatus guards a step that would run after a failure, if it must not: in a job whose own condition is not converted, or if the
// failure may be that of a step whose condition is not converted.
func (g *github) checkStatus(j *githubJob, s *step, status bool) {
	switch {
	case !status:
	case j.unknown:
		g.lost(j.body.Get("if"), "if", "the condition of job %s is not converted, and this step would run without it; add it to the condition", j.name)
	case j.unsure && strings.Contains(s.when, "failure()"):
		g.lost(s.whenAt, "if", "a step before has a condition that is not converted and fails until it is edited; failure() would be true because of that")
	}
}

func orEmpty(n *node) *node {
	if n == nil {
		return &node{Kind: strictyaml.String}
	}
	return n
}

func listOf(n *node) []*node {
	if n == nil {
		return nil
	}
	return n.List
}

// endsOf returns the last steps of jobs.
func (g *github) endsOf(needs []string) []pawl.StepID {
	ends := []pawl.StepID{}
	for _, j := range g.jobs {
		if slices.Contains(needs, j.name) {
			for _, id := range j.ends {
				if !slices.Contains(ends, id) {
					ends = append(ends, id)
				}
			}
		}
	}
	return ends
}

func (g *github) jobKey(j *githubJob, f strictyaml.Field) {
	at := "jobs." + j.name + "." + f.Name
	switch f.Name {
	case "name", "needs", "if", "env", "steps", "strategy", "timeout-minutes", "outputs":
	case "runs-on":
		if j.system != "Linux" {
			g.note(f.Value, at, "pawl runs the steps on the machine where you start it")
		}
	case "defaults":
		shell, dir := g.defaults(f.Value)
		if shell != nil {
			j.shell = shell
		}
		if dir != nil {
			j.dir = dir
		}
	case "container":
		g.lost(f.Value, at, "the steps do not run in a container; add docker run to the commands, or remove this line")
	case "services":
		for _, s := range f.Value.Fields {
			image := s.Value.Get("image")
			g.lost(s.Value, at+"."+s.Name, "pawl starts no containers; add a step with service that runs docker run %s", oneLine(orEmpty(image).Text))
		}
	case "uses":
		g.lost(f.Value, at, "%s: pawl calls no other workflows; convert that file too", f.Value.Text)
	case "with", "secrets":
	case "environment":
		g.note(f.Value, at, "if this environment needs an approval, add a step with a gate before this job")
	case "permissions", "concurrency":
		g.note(f.Value, at, "not needed")
	case "continue-on-error":
		g.note(f.Value, at, "each step of the job continues on an error")
	default:
		g.lost(f.Value, at, "unknown key of a job")
	}
}

// systemOf returns what runner.os is, "" where that is not certain.
func systemOf(n *node) string {
	for _, label := range texts(n) {
		switch text := strings.ToLower(label.Text); {
		case strings.Contains(text, "${{"):
			return ""
		case strings.Contains(text, "windows"):
			return "Windows"
		case strings.Contains(text, "macos"):
			return "macOS"
		case strings.Contains(text, "ubuntu"), strings.Contains(text, "linux"):
			return "Linux"
		}
	}
	return ""
}

// step converts a step of a job.
func (g *github) step(j *githubJob, n *node, index int) {
	if n.Kind != strictyaml.Mapping {
		g.lost(n, "steps", "expected a mapping")
		return
	}
	name := ""
	if v := n.Get("name"); v.Scalar() {
		name = oneLine(v.Text)
	}
	if uses := n.Get("uses"); uses.Scalar() && g.known(n, uses) {
		return
	}
	for _, f := range n.Fields {
		switch f.Name {
		case "name", "id", "if", "run", "uses", "with", "shell", "working-directory", "env", "continue-on-error", "timeout-minutes":
		default:
			g.lost(f.Value, f.Name, "unknown key of a step")
		}
	}
	s := &step{Step: pawl.Step{Name: g.plainName(name, j), Needs: j.ends}}
	s.ID = g.stepID(j, n, name, index)
	g.stepSettings(j, n, s)
	if run := n.Get("run"); run.Scalar() {
		g.script(j, n, run, s)
	} else {
		uses := orEmpty(n.Get("uses"))
		g.lost(uses, "uses", "%s: pawl runs no actions; write the command", uses.Text)
		lines := outline("uses", uses, "")
		if with := n.Get("with"); with != nil {
			lines += outline("with", with, "")
		}
		s.Run, s.blank = commented(strings.TrimRight(lines, "\n")), true
	}
	g.add(s)
	if id := n.Get("id"); id.Scalar() {
		j.steps[id.Text] = s.ID
		j.outputs[s.ID] = strings.Contains(s.Run, "; export GITHUB_OUTPUT\n")
	}
	j.ends, j.all = []pawl.StepID{s.ID}, append(j.all, s.ID)
}

// plainName returns a name without what cannot be computed in one.
func (g *github) plainName(name string, j *githubJob) string {
	parts := spans(name)
	for i := 1; i < len(parts); i += 2 {
		value, ok := g.static(inside(parts[i]), j)
		if !ok {
			value = "*"
		}
		parts[i] = value
	}
	return strings.Join(parts, "")
}

func (g *github) stepID(j *githubJob, n *node, name string, index int) pawl.StepID {
	if id := n.Get("id"); id.Scalar() && id.Text != "" {
		return g.id(j.prefix + slugOf(id.Text))
	}
	if name = g.plainName(name, j); strings.TrimSpace(name) != "" {
		return g.id(j.prefix + strings.ToLower(slugOf(name)))
	}
	if run := n.Get("run"); run.Scalar() {
		words := strings.Fields(oneLine(run.Text))
		return g.id(j.prefix + strings.ToLower(slugOf(strings.Join(words[:min(len(words), 3)], " "))))
	}
	return g.id(j.prefix + "step-" + strconv.Itoa(index+1))
}

// stepSettings sets everything but the script.
func (g *github) stepSettings(j *githubJob, n *node, s *step) {
	if dir := firstNode(n.Get("working-directory"), j.dir); dir.Scalar() {
		s.Dir = g.path(dir, "working-directory", dir.Text)
	}
	for _, limit := range []*node{j.body.Get("timeout-minutes"), n.Get("timeout-minutes")} {
		if limit.Scalar() {
			g.limit(limit, s)
		}
	}
	for _, may := range []*node{j.body.Get("continue-on-error"), n.Get("continue-on-error")} {
		switch {
		case may == nil || may.Text == "false":
		case isTrue(may):
			s.mayFail = true
		default:
			g.lost(may, "continue-on-error", "only true and false are converted")
		}
	}
	when, status := "", false
	g.tests = nil
	if own := n.Get("if"); own != nil {
		before := len(g.pending)
		when, status = g.condition(own, j)
		j.unsure = j.unsure || len(g.pending) > before
	}
	switch {
	case !j.status:
		s.when = both(j.when, when)
	case len(j.all) > 0 && !status: // success() would ask for the jobs before too
		s.when = both(both(j.when, when), "steps["+quotedExpr(string(j.all[len(j.all)-1]))+"].status in ['done', 'skipped']")
	default:
		s.when = both(j.when, when)
	}
	s.matrix, s.whenAt = j.matrix, firstNode(n.Get("if"), j.body.Get("if"))
	g.checkStatus(j, s, status || j.status && len(j.all) == 0)
}

// both returns a condition for both, of which any may be empty.
func both(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return "(" + a + ") && (" + b + ")"
}

func firstNode(nodes ...*node) *node {
	for _, n := range nodes {
		if n != nil {
			return n
		}
	}
	return nil
}

func (g *github) limit(n *node, s *step) {
	minutes, err := strconv.ParseFloat(n.Text, 64)
	if err != nil || !(minutes > 0) || minutes > 1e6 {
		g.lost(n, "timeout-minutes", "%s is not a number of minutes", n.Text)
		return
	}
	s.Timeout = pawl.Duration(time.Duration(math.Ceil(minutes*60)) * time.Second)
}

// path returns a path as plans have them, "" for the project or for a path that no plan may have.
func (d *draft) path(n *node, key, text string) string {
	clean, ok := plainPath(text)
	if !ok {
		d.lost(n, key, "%s is not a path inside the project", text)
	}
	return clean
}

// plainPath returns a path inside the project, "" for the project itself.
func plainPath(text string) (string, bool) {
	text = strings.TrimSpace(text)
	for _, prefix := range []string{"${{ github.workspace }}", "$GITHUB_WORKSPACE", "${GITHUB_WORKSPACE}"} {
		if rest, ok := strings.CutPrefix(text, prefix); ok {
			text = "." + rest
		}
	}
	var parts []string
	if strings.HasPrefix(text, "/") || strings.HasPrefix(text, "~") || strings.ContainsAny(text, "$`{\n\x00") {
		return "", false
	}
	for part := range strings.SplitSeq(strings.ReplaceAll(text, "\\", "/"), "/") {
		switch part {
		case "..":
			return "", false
		case "", ".":
		default:
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "/"), true
}
