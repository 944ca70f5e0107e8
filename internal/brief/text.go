package brief

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"pawl"
)

// comment starts a comment line in a notebook, whatever the kernel's language.
const comment = "# "

func (w *writer) title(text string) string {
	if w.audience == Kernel {
		return comment + "%% " + text + "\n"
	}
	return "# " + text + "\n" + w.blank()
}

func (w *writer) paragraph(text string) string {
	if w.audience == Kernel {
		return comment + text + "\n"
	}
	return text + "\n"
}

func (w *writer) heading(text string) string {
	if w.audience == Kernel {
		return w.blank() + comment + "## " + text + "\n"
	}
	return w.blank() + "## " + text + "\n"
}

func (w *writer) bullet(text string) string {
	if w.audience == Kernel {
		return comment + "- " + text + "\n"
	}
	return "- " + text + "\n"
}

func (w *writer) blank() string {
	if w.audience == Kernel {
		return "#\n"
	}
	return "\n"
}

// flat returns text as one line of valid UTF-8 without control characters.
func flat(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	return strings.Join(strings.Fields(strings.Map(printable, text)), " ")
}

// printable drops control characters and bidirectional overrides.
func printable(r rune) rune {
	switch {
	case r == '\n', r == '\t', r == '\r':
		return ' '
	case r < ' ', r >= 0x7f && r < 0xa0, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return -1
	case r == 0x2028, r == 0x2029:
		return ' '
	}
	return r
}

// clip truncates text to at most size bytes at a character boundary, and marks the cut.
func clip(text string, size int) string {
	const mark = "…"
	if len(text) <= size {
		return text
	}
	end := max(0, size-len(mark))
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + mark
}

// clipStart truncates the start of text, so that at most size bytes are left, and marks the cut.
func clipStart(text string, size int) string {
	const mark = "…"
	start := len(text) - max(0, size-len(mark))
	for start < len(text) && !utf8.RuneStart(text[start]) {
		start++
	}
	return mark + text[start:]
}

// lengths are the maximum sizes in bytes of a quoted text and of a name, a path or a command. The first ones with which a brief fits are
// used.
var lengths = []struct{ text, name int }{{2000, 2000}, {800, 800}, {320, 200}}

// framed breaks up closing tags, which could end the element that an agent wraps a brief in.
var framed = strings.NewReplacer("</", "< /")

// plain returns pawl's own text, which may contain untrusted parts, on one line.
func (w *writer) plain(text string) string { return framed.Replace(clip(w.flat(text), w.maxText)) }

// quoted also keeps text from ending its quotes and from being read as HTML, which could hide its content.
var quoted = strings.NewReplacer(`"`, "'", "</", `\< /`, "<", `\<`)

// quote returns untrusted text on one line in quotes.
func (w *writer) quote(text string) string {
	return `"` + quoted.Replace(clip(w.flat(text), w.maxText)) + `"`
}

// quoteEnds is quote for a prompt: of a long one it keeps the end, too, where the prompt says how far the work came.
func (w *writer) quoteEnds(text string) string {
	text = w.flat(text)
	if head := w.maxText / 3; len(text) > w.maxText {
		text = clip(text, head) + " " + clipStart(text, w.maxText-head-1)
	}
	return w.quote(text)
}

// flat returns text on one line without secrets. It redacts before anything is truncated.
func (w *writer) flat(text string) string {
	if w.redact != nil {
		text = w.redact(text)
	}
	return flat(text)
}

// code returns a name, a path or a command on one line between backquotes.
func (w *writer) code(text string) string {
	text = framed.Replace(clip(w.flat(text), w.maxName))
	if text == "" {
		return ""
	}
	return "`" + strings.ReplaceAll(text, "`", "'") + "`"
}

// codes lists at most the given number of names.
func (w *writer) codes(names []string, most int) string {
	var list []string
	for _, name := range names[:min(len(names), most)] {
		list = append(list, w.code(name))
	}
	text := strings.Join(list, ", ")
	if more := len(names) - most; more > 0 {
		text += " and " + strconv.Itoa(more) + " more"
	}
	return text
}

// because returns a reason with a colon before it; empty if there is none.
func (w *writer) because(why string) string {
	if flat(why) == "" {
		return ""
	}
	return ": " + w.quote(why)
}

func at(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// ago returns a time and how long ago it was.
func (w *writer) ago(t time.Time) string {
	d := w.Now.Sub(t)
	switch {
	case t.IsZero():
		return "at an unknown time"
	case d < 0:
		return at(t) + " (in the future according to this machine's clock)"
	}
	return at(t) + " (" + formatDuration(d) + " ago)"
}

// formatDuration returns a length of time, rounded for people.
func formatDuration(d time.Duration) string {
	switch {
	case d < time.Second:
		return "less than a second"
	case d < time.Minute:
		d = d.Round(time.Second)
	case d < 48*time.Hour:
		d = d.Round(time.Minute)
	default:
		return strconv.Itoa(int(d/(24*time.Hour))) + " days"
	}
	return pawl.Duration(d).String()
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
