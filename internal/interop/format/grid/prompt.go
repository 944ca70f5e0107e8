package grid

import (
	"strings"

	"pawl"
	"pawl/internal/oneline"
)

// prompt builds The Grid's own continuation prompt for the block to go on with.
func (r *clusterReader) prompt() {
	b := r.blocks[r.promptBlock()]
	if b == nil || r.out.Position.Complete {
		return
	}
	var p strings.Builder
	p.WriteString("First, read ~/.claude/agents/grid-executor.md for your role.\n")
	section(&p, "warmth", "Accumulated knowledge from prior Programs:\n\n"+r.warmthText()+
		"\n\nApply this warmth. Don't repeat mistakes. Build on discoveries.")
	section(&p, "completed_threads", r.completedThreads())
	section(&p, "resume_point", r.resumeText())
	section(&p, "plan", cmpText(b.plan, "There is no plan file for block "+b.id+"."))
	p.WriteString("\nExecute the remaining threads. Verify previous commits exist before starting.\n")
	r.out.Prompt = p.String()
}

// promptBlock returns the id of the block that the position names.
func (r *clusterReader) promptBlock() string {
	for id, b := range r.blocks {
		if b.ID == r.out.Position.StepID && b.ID != "" {
			return id
		}
	}
	return ""
}

func section(p *strings.Builder, tag, text string) {
	p.WriteString("\n<" + tag + ">\n" + strings.TrimSpace(text) + "\n</" + tag + ">\n")
}

func cmpText(text, instead string) string {
	if strings.TrimSpace(text) == "" {
		return instead
	}
	return oneline.Clip(text, maxText)
}

// warmthText is WARMTH.md as it is; without it, what was learned elsewhere.
func (r *clusterReader) warmthText() string {
	if strings.TrimSpace(r.warmth) != "" {
		return oneline.Clip(strings.TrimSpace(r.warmth), maxText)
	}
	var p strings.Builder
	for _, l := range categories {
		head := "## " + l.title + "\n"
		for _, m := range r.out.Memories {
			if m.Kind == l.kind {
				p.WriteString(head + "- " + m.Text + "\n")
				head = ""
			}
		}
	}
	return cmpText(p.String(), "None.")
}

// completedThreads is a table of what is done, of all blocks.
func (r *clusterReader) completedThreads() string {
	var p strings.Builder
	p.WriteString("| Thread | Name | Commit | Files |\n|--------|------|--------|-------|\n")
	rows := 0
	for _, b := range r.order() {
		for _, t := range b.threads {
			if t.Status == pawl.ItemIsDone {
				row(&p, t.ID, t.Name, t.Commit, strings.Join(t.Outputs, ", "))
				rows++
			}
		}
		if len(b.threads) == 0 {
			for _, c := range b.Commits {
				row(&p, b.id, firstLine(c.Message), c.Hash, strings.Join(c.Files, ", "))
				rows++
			}
		}
	}
	if rows == 0 {
		return "None."
	}
	return oneline.Clip(p.String(), maxText)
}

func row(p *strings.Builder, cells ...string) {
	for _, c := range cells {
		p.WriteString("| " + strings.ReplaceAll(strings.ReplaceAll(c, "\n", " "), "|", `\|`) + " ")
	}
	p.WriteString("|\n")
}

// resumeText says where to go on and what the person answered.
func (r *clusterReader) resumeText() string {
	from, feedback := "Block "+string(r.out.Position.StepID), "None"
	if r.next != "" {
		from = "Thread " + string(r.next)
	}
	if r.point != nil && r.point.answer != "" {
		feedback = r.point.answer
	}
	text := "Continue from: " + from + "\n" + r.out.Next + "\nUser feedback: " + feedback
	if b := r.blocks[r.promptBlock()]; b != nil && b.Partial != nil && b.Partial.Last != "" {
		text += "\nLast action: " + b.Partial.Last
	}
	return text
}
