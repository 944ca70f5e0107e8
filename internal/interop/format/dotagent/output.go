package dotagent

import (
	"cmp"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/textedit/jsonedit"
)

// output is the output.json of a task.
type output struct {
	node
	status  string
	summary string
	reason  string
	claims  []format.Claim
}

// readOutput reads the output of a task. An output from before the task started belongs to an earlier attempt.
func (r *workflowReader) readOutput(t *task) {
	f := r.file(t.out)
	if f == nil {
		if there, _ := r.exists(t.out); there && t.out != "" {
			t.output = &output{node: node{file: t.out}, claims: []format.Claim{{Path: t.out}}}
		}
		return
	}
	p, ok := r.parse(f)
	switch {
	case !ok || !p.Is(jsonedit.Object):
		t.doubt = t.out + " is incomplete"
		return
	case older(f.Changed, t.started):
		t.doubt = t.out + " was written before the task started"
		r.Warn(f.Path, "written before task %s started: it belongs to an earlier attempt and is ignored", t.id)
		return
	}
	if id := p.first("task_id", "id"); id != "" && id != t.id {
		t.doubt = t.out + " belongs to task " + oneLine(id)
		r.Warn(p.where(), "expected the output of task %s, found the output of task %s", t.id, short(id))
		return
	}
	t.output = r.outputIn(p)
}

func (r *workflowReader) outputIn(p node) *output {
	o := &output{node: p, status: oneLine(p.text("status")), claims: []format.Claim{{Path: p.file}}}
	o.summary = p.first("summary", "description")
	details := p.at("blocked_details")
	o.reason = joined(p.text("blocked_reason"), details.text("description"), p.first("error", "failure_reason"))
	for _, e := range p.list("files_modified") {
		name := cmp.Or(e.first("path", "file"), e.text())
		clean := r.localPath(e, name)
		kind := strings.ToLower(e.text("change_type"))
		gone := strings.HasPrefix(kind, "delet") || strings.HasPrefix(kind, "remov")
		if clean != "" && !gone && !slices.ContainsFunc(o.claims, func(c format.Claim) bool { return c.Path == clean }) {
			o.claims = append(o.claims, format.Claim{Path: clean})
		}
	}
	r.learn(p)
	return o
}

// kinds are the categories of dotagent's memories.
var kinds = map[string]pawl.MemoryKind{
	"codebase": pawl.Pattern, "convention": pawl.Preference, "decision": pawl.DecisionMem, "gotcha": pawl.Gotcha,
}

// learn adds the memories in an output.
func (r *workflowReader) learn(p node) {
	for _, e := range p.list("knowledge_updates") {
		kind := kinds[strings.ToLower(e.text("category"))]
		r.remember(cmp.Or(kind, pawl.Pattern), cmp.Or(e.text("content"), e.text()), e.text("confidence"))
	}
	said := p.at("reflection")
	for _, text := range said.texts("patterns_noticed") {
		r.remember(pawl.Pattern, text, "")
	}
	for _, text := range said.texts("what_failed") {
		r.remember(pawl.Gotcha, text, "")
	}
}

func (r *workflowReader) remember(kind pawl.MemoryKind, text, confidence string) {
	text = oneLine(text)
	if text == "" || strings.EqualFold(text, "none") {
		return
	}
	if confidence != "" && confidence != "certain" {
		text += " (" + oneLine(confidence) + ")"
	}
	memory := pawl.Memory{Kind: kind, Text: text}
	if !slices.Contains(r.out.Memories, memory) {
		r.out.Memories = append(r.out.Memories, memory)
	}
}

// blocker returns what blocks a task, according to its output.
func (t *task) blocker() pawl.Blocker {
	b := pawl.Blocker{Text: cmp.Or(oneLine(t.reason), "task "+t.id+" is blocked"), Step: t.step, Opened: t.ended}
	if t.output != nil {
		details := t.output.at("blocked_details")
		b.Needs = oneLine(joined(details.text("needs"), details.text("suggested_resolution")))
		if list := details.texts("needs"); b.Needs == "" && len(list) > 0 {
			b.Needs = oneLine(strings.Join(list, "; "))
		}
	}
	return b
}
