package grid

import (
	"strings"

	"pawl"
	"pawl/internal/textedit"
	"pawl/internal/textedit/markdown"
)

// category is a kind of what was learned, as The Grid names it.
type category struct {
	kind  pawl.MemoryKind
	key   string // in YAML
	title string // of a heading
	words []string
}

// categories are all six; the document's own functions forget the last two and the fourth.
var categories = []category{
	{pawl.Pattern, "codebase_patterns", "Codebase Patterns", []string{"pattern"}},
	{pawl.Gotcha, "gotchas", "Gotchas", []string{"gotcha", "pitfall"}},
	{pawl.Preference, "user_preferences", "User Preferences", []string{"preference"}},
	{pawl.DecisionMem, "decisions_made", "Decisions Made", []string{"decision"}},
	{pawl.RejectedIdea, "almost_did", "Almost Did (Rejected)", []string{"almost", "reject"}},
	{pawl.Fragile, "fragile_areas", "Fragile Areas", []string{"fragile"}},
}

// categoryOf returns the category that a heading means, nil for another heading.
func categoryOf(title string) *category {
	title = strings.ToLower(title)
	for i := range categories {
		for _, word := range categories[i].words {
			if strings.Contains(title, word) {
				return &categories[i]
			}
		}
	}
	return nil
}

// readWarmth reads what was learned: lists in YAML, or bullets under headings, or both. WARMTH.md is the cluster's,
// LEARNINGS.md goes for all projects; what stands there under no known heading is a pattern.
func (r *clusterReader) readWarmth(name string) {
	f := r.file(name)
	if f == nil {
		return
	}
	warmth := name == "WARMTH.md"
	if warmth {
		r.warmth = strings.TrimPrefix(string(f.Data), "\uFEFF")
	}
	c, body, ok := r.front(f, !hasHeadings(f.Data))
	if ok {
		for _, l := range categories {
			for _, text := range c.texts(l.key) {
				r.learn(l.kind, text)
			}
		}
		if warmth {
			r.named(c.text("cluster"))
			r.fact("warmth_from", strings.Join(c.texts("accumulated_from"), "; "))
			c.time("last_updated")
		}
		c.unusedFacts(r.out.Facts, strings.ToLower(strings.TrimSuffix(name, ".md")))
	}
	for _, s := range markdown.Sections(bodyLines(f.Data, body)) {
		l := categoryOf(s.Title)
		if l == nil && !warmth {
			l = &categories[0]
		}
		if l == nil {
			continue
		}
		for _, line := range s.Lead() {
			if text, ok := markdown.Bullet(line.Text); ok {
				r.learn(l.kind, text)
			}
		}
	}
}

// hasHeadings reports whether a text has headings, so that it is no bare YAML. "# .grid/WARMTH.md" is a comment there.
func hasHeadings(data []byte) bool {
	for _, s := range markdown.Sections(textedit.Lines(data)) {
		if s.Level > 1 {
			return true
		}
	}
	return false
}
