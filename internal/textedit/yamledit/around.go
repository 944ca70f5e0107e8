package yamledit

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"pawl/internal/textedit"
)

// mostAside limits the lines that are replaced by comments.
const mostAside = 20

// aside is a line that cannot be parsed. A comment, mark, replaces it temporarily.
type aside struct{ line, mark string }

// MergeAround is Merge for a part of a file that is a YAML mapping except for some lines. It keeps these lines in place, and
// removes one only if want has its key. The error is ErrKnotted if more lines are invalid.
func MergeAround(file []byte, part textedit.Part, want *Value) ([]byte, error) {
	var away []aside
	y, err := Read(file, part)
	for syntax, bad := errors.AsType[*SyntaxError](err); bad; syntax, bad = errors.AsType[*SyntaxError](err) {
		var set *aside
		if file, part, set = without(file, part, syntax.Line, len(away)); set == nil || len(away) == mostAside {
			return nil, ErrKnotted
		}
		away = append(away, *set)
		y, err = Read(file, part)
	}
	if err != nil || len(y.Root.Pairs) == 0 {
		return nil, ErrKnotted
	}
	out, err := y.Merge(want)
	if err != nil {
		return nil, err
	}
	for _, a := range away {
		if bytes.Count(out, []byte(a.mark)) != 1 {
			return nil, ErrKnotted
		}
		out = a.back(out, want)
	}
	return out, nil
}

// without replaces the line, or the one before it, if the part can then be parsed beyond it. It returns nil if neither helps.
func without(file []byte, part textedit.Part, line, n int) ([]byte, textedit.Part, *aside) {
	lines := textedit.Lines(file)
	for _, at := range []int{line, line - 1} {
		if at < part.Line || at > len(lines) || lines[at-1].To > part.To {
			continue
		}
		l := lines[at-1]
		set := aside{line: l.Text, mark: fmt.Sprintf("%s#pawl has set this line aside: %d.", l.Text[:textedit.Indent(l.Text)], n)}
		if bytes.Contains(file, []byte(set.mark)) {
			continue
		}
		rest := textedit.Apply(file, []textedit.Edit{{From: l.From, To: l.To, Text: set.mark}})
		shorter := part
		shorter.To += len(rest) - len(file)
		_, err := Read(rest, shorter)
		if syntax, bad := errors.AsType[*SyntaxError](err); !bad || syntax.Line > line {
			return rest, shorter, &set
		}
	}
	return nil, part, nil
}

// back restores a line at its mark, or removes the mark if want has the line's key.
func (a aside) back(file []byte, want *Value) []byte {
	at := bytes.Index(file, []byte(a.mark))
	e := textedit.Edit{From: at, To: at + len(a.mark), Text: a.line}
	if key, _, ok := cutKey(strings.TrimSpace(a.line)); ok && want.names(key, textedit.Indent(a.line) > 0) {
		e.Text = ""
		if end := bytes.IndexByte(file[e.To:], '\n'); end >= 0 {
			e.To += end + 1
		}
	}
	return textedit.Apply(file, []textedit.Edit{e})
}

// names reports whether a map, or with deep a map inside it, has a key.
func (v *Value) names(key string, deep bool) bool {
	if !deep {
		return v.pair(key) != nil
	}
	for _, p := range v.Pairs {
		if p.Value != nil && p.Value.Kind == Map && (p.Value.pair(key) != nil || p.Value.names(key, true)) {
			return true
		}
	}
	return false
}
