package brief

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"pawl"
)

// The marks of a notebook's comments: whatever the kernel's language, a line that begins so is one.
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

// flat returns text as one line without what moves a cursor, and as valid UTF-8.
func flat(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	return strings.Join(strings.Fields(strings.Map(printable, text)), " ")
}

// printable drops control characters, and those that turn the direction of what follows.
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

// clip returns at most so many bytes of text, cut between two characters, with a mark where it was cut.
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

// maxWords is how many bytes of somebody's words are told.
const maxWords = 320

// framed breaks up what could end the frame that an agent puts a brief into.
var framed = strings.NewReplacer("</", "< /")

// plain returns words of pawl's own, which may have those of others in them, on one line.
func (w *writer) plain(text string) string { return framed.Replace(clip(w.flat(text), maxWords)) }

// quoted also keeps words from ending their quotes, and from being taken for HTML, which can hide what it holds.
var quoted = strings.NewReplacer(`"`, "'", "</", `\< /`, "<", `\<`)

// said returns words of others, on one line, in quotes.
func (w *writer) said(text string) string {
	return `"` + quoted.Replace(clip(w.flat(text), maxWords)) + `"`
}

// flat returns text on one line, without its secrets: these are taken out before anything is cut.
func (w *writer) flat(text string) string {
	if w.redact != nil {
		text = w.redact(text)
	}
	return flat(text)
}

// maxName is how many bytes of a name, a path or a command are told.
const maxName = 200

// code returns a name, a path or a command on one line between backquotes.
func (w *writer) code(text string) string {
	text = framed.Replace(clip(w.flat(text), maxName))
	if text == "" {
		return ""
	}
	return "`" + strings.ReplaceAll(text, "`", "'") + "`"
}

// codes lists the first of some names.
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

// because adds a reason where there is one.
func (w *writer) because(why string) string {
	if flat(why) == "" {
		return ""
	}
	return ": " + w.said(why)
}

func at(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// ago says a time and how long it is past.
func (w *writer) ago(t time.Time) string {
	d := w.Now.Sub(t)
	switch {
	case t.IsZero():
		return "at an unknown time"
	case d < 0:
		return at(t) + " (in the future by this machine's clock)"
	}
	return at(t) + " (" + lasted(d) + " ago)"
}

// lasted says a length of time for people.
func lasted(d time.Duration) string {
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
