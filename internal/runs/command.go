package runs

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"pawl"
)

// CommandPlan returns a plan of one step that runs a command. CommandArgs returns the command's arguments.
func CommandPlan(args []string) CreateOptions {
	quoted := make([]string, len(args))
	for i, arg := range args {
		quoted[i] = quoteWord(arg)
	}
	data, err := json.Marshal(map[string]any{
		"name":  nameOf(filepath.Base(args[0])),
		"steps": []any{map[string]any{"id": "command", "name": nameOf(strings.Join(args, " ")), "run": strings.Join(quoted, " "), "idempotent": false}},
	})
	if err != nil {
		panic("a map of strings is JSON, which is YAML too: " + err.Error())
	}
	return CreateOptions{Kind: pawl.CommandRun, Data: data}
}

// quoteWord quotes an argument as sh reads it. An argument that YAML cannot hold is written as $'\xHH…'.
func quoteWord(arg string) string {
	if utf8.ValidString(arg) && !strings.ContainsFunc(arg, notInYAML) {
		return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
	}
	var b strings.Builder
	b.WriteString("$'")
	for i := range len(arg) {
		fmt.Fprintf(&b, `\x%02x`, arg[i])
	}
	return b.String() + "'"
}

// notInYAML reports whether a character may not stand in YAML as JSON writes it.
func notInYAML(r rune) bool {
	return r >= 0x7f && r <= 0x9f || r == 0xfeff || r&0xfffe == 0xfffe
}

// nameOf returns a name in one line, without what YAML cannot hold.
func nameOf(text string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case notInYAML(r) || unicode.IsControl(r):
			return utf8.RuneError
		}
		return r
	}, text)
	return cmp.Or(strings.TrimSpace(name), "command")
}

// CommandArgs returns the arguments of a command from the script that CommandPlan made of it. ok is false for another script.
func CommandArgs(script string) (args []string, ok bool) {
	for {
		arg, rest, ok := cutWord(script)
		if !ok {
			return nil, false
		}
		args = append(args, arg)
		if rest == "" {
			return args, true
		}
		if script, ok = strings.CutPrefix(rest, " "); !ok {
			return nil, false
		}
	}
}

// cutWord reads the first quoted word of a script.
func cutWord(script string) (word, rest string, ok bool) {
	if bytes, found := strings.CutPrefix(script, "$'"); found {
		text, rest, closed := strings.Cut(bytes, "'")
		data, err := hex.DecodeString(strings.ReplaceAll(text, `\x`, ""))
		return string(data), rest, closed && err == nil
	}
	for {
		quoted, found := strings.CutPrefix(script, "'")
		if !found {
			return "", "", false
		}
		text, after, closed := strings.Cut(quoted, "'")
		if !closed {
			return "", "", false
		}
		word += text
		if script, found = strings.CutPrefix(after, `\'`); !found {
			return word, after, true
		}
		word += "'"
	}
}
