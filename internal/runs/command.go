package runs

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"pawl"
	"pawl/internal/shellwords"
)

// CommandPlan returns a plan of one step that runs a command. The supervisor starts it without a shell.
func CommandPlan(args []string) CreateOptions {
	data, err := json.Marshal(map[string]any{
		"name":  nameOf(filepath.Base(args[0])),
		"steps": []any{map[string]any{"id": "command", "name": nameOf(strings.Join(args, " ")), "run": shellwords.Join(args), "idempotent": false}},
	})
	if err != nil {
		panic("a map of strings is JSON, which is YAML too: " + err.Error())
	}
	return CreateOptions{Kind: pawl.CommandRun, Data: data}
}

// nameOf returns a name in one line, without what YAML cannot hold.
func nameOf(text string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case shellwords.NotInYAML(r) || unicode.IsControl(r):
			return utf8.RuneError
		}
		return r
	}, text)
	return cmp.Or(strings.TrimSpace(name), "command")
}
