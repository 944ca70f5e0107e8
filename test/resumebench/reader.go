package main

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A statement is a line of a text with the deeper indented lines that follow it, and the heading above it.
type statement struct {
	text    string
	heading string
}

// statements splits a text. A heading is a Markdown heading, or an unindented line that ends with a colon, which counts up
// to the next empty line.
func statements(text string) []statement {
	var all []statement
	heading, label := "", ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		words := strings.TrimSpace(line)
		indented := line != strings.TrimLeft(line, " \t")
		switch {
		case words == "":
			label = ""
		case strings.HasPrefix(words, "#") && !indented:
			heading, label = words, ""
		case indented && len(all) > 0:
			all[len(all)-1].text += "\n" + words
		default:
			all = append(all, statement{text: words, heading: heading + "\n" + label})
			if strings.HasSuffix(words, ":") {
				label = words
			}
		}
	}
	return all
}

// quoted matches quotations: `code` and "text" on one line.
var quoted = regexp.MustCompile("`[^`\n]*`|\"[^\"\n]*\"")

// succeeded is an exit code that is not a failure.
var succeeded = regexp.MustCompile(`exit(ed with)? (code|status):? 0\b`)

// bare returns a text in lower case with quotations blanked, of the same length, so that positions stay.
func bare(text string) string {
	text = quoted.ReplaceAllStringFunc(lower(text), func(found string) string { return strings.Repeat("_", len(found)) })
	return succeeded.ReplaceAllStringFunc(text, func(found string) string { return "succeeded" + strings.Repeat(" ", len(found)-len("succeeded")) })
}

// lower lowers ASCII letters only: the length stays.
func lower(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, text)
}

// clauseEnds separates clauses. A remark in parentheses is one.
var clauseEnds = regexp.MustCompile(`;|\n|[.!?] |[.!?]$|[()]`)

// said is a place where a statement names an operation, and the class of the statement.
type said struct {
	class     class
	statement string
}

// about returns what a text says about the operation with this mark, once for each place that names it.
func about(text, mark string) []said {
	var all []said
	for _, s := range statements(text) {
		low := lower(s.text)
		for from := 0; ; {
			at := strings.Index(low[from:], lower(mark))
			if at < 0 {
				break
			}
			all = append(all, said{s.classAt(from + at), s.text})
			from += at + len(mark)
		}
	}
	return all
}

// classAt returns the class of the statement about the name at a position. It searches the clause before the name, the clause after it,
// the statement's label, its other clauses, and its heading, in this order. Empty: the statement does not say the state.
func (s statement) classAt(at int) class {
	text := bare(s.text)
	from, to := clauseAround(text, at)
	label, _, found := strings.Cut(strings.SplitN(text, "\n", 2)[0], ":")
	if !found || len(strings.Fields(label)) > labelWords {
		label = ""
	}
	for _, part := range []string{text[from:at], text[at:to], label, text[to:], text[:from], lower(s.heading)} {
		if c := classOf(part); c != "" {
			return c
		}
	}
	return ""
}

// mentions reports whether a statement has a phrase of a class anywhere.
func mentions(text string, c class) bool { return patterns()[c].MatchString(bare(text)) }

// labelWords is how many words a label has at most.
const labelWords = 4

// clauseAround returns the begin and the end of the clause that contains a position.
func clauseAround(text string, at int) (from, to int) {
	from, to = 0, len(text)
	for _, end := range clauseEnds.FindAllStringIndex(text, -1) {
		if end[1] <= at {
			from = end[1]
		} else if end[0] >= at {
			return from, end[0]
		}
	}
	return from, to
}

// classOf returns the first class in order that has a phrase in a text.
func classOf(text string) class {
	for _, c := range classOrder {
		if patterns()[c].MatchString(text) {
			return c
		}
	}
	return ""
}

// patterns are the phrases as expressions.
var patterns = sync.OnceValue(func() map[class]*regexp.Regexp {
	all := map[class]*regexp.Regexp{}
	for c, words := range phrases {
		all[c] = anyOf(words)
	}
	return all
})

// anyOf matches each of the phrases as whole words, the longest first.
func anyOf(words []string) *regexp.Regexp {
	words = slices.Clone(words)
	slices.SortFunc(words, func(a, b string) int { return len(b) - len(a) })
	for i, w := range words {
		words[i] = regexp.QuoteMeta(w)
		if isLetter(w[0]) {
			words[i] = `\b` + words[i]
		}
		if isLetter(w[len(w)-1]) {
			words[i] += `\b`
		}
	}
	return regexp.MustCompile(strings.Join(words, "|"))
}

func isLetter(b byte) bool { return b >= 'a' && b <= 'z' }

// verdictIn returns the verdict that a statement gives; empty: none.
func verdictIn(text string) verdict {
	text = bare(text)
	if at := strings.Index(text, "verdict"); at >= 0 {
		text = text[at:]
	}
	first, found := len(text), verdict("")
	for _, v := range []verdict{verdictNotDone, verdictPartly, verdictUnknown, verdictDone} {
		if at := anyOf(verdictWords[v]).FindStringIndex(text); at != nil && at[0] < first {
			first, found = at[0], v
		}
	}
	return found
}
