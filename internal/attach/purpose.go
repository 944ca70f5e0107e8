package attach

import (
	"path/filepath"
	"strings"
)

// Summary says in one line what the change does to the file, and what for.
func (c Change) Summary() string {
	verb, what := "edit", "adds "+c.purpose
	switch {
	case c.Old == nil:
		verb = "create"
	case c.New == nil:
		verb = "remove"
	}
	if c.removes {
		what = "removes " + c.purpose
	}
	return verb + " " + c.Path + ": " + what
}

// purpose says what the entries of pawl in a file are for.
func (t target) purpose() string {
	var all []string
	for _, e := range t.edits {
		switch e.(type) {
		case hooks:
			all = append(all, "hooks, which record in pawl's journal what the agent does")
		case jsonServer, tomlServer:
			all = append(all, "the MCP server pawl, which gives the agent pawl's tools")
		case whole:
			if name, _ := t.command(); name != "" {
				all = append(all, "the command "+name+", by which the agent resumes work with pawl")
			} else {
				all = append(all, wholePurpose(t.path))
			}
		}
	}
	return strings.Join(all, "; ")
}

// wholePurpose says what a file that pawl writes as a whole is for.
func wholePurpose(path string) string {
	switch filepath.Ext(path) {
	case ".js", ".ts", ".mjs":
		return "a plugin, which records in pawl's journal what the agent does"
	}
	return "a text for the agent about how to resume work, save checkpoints and ask you with pawl"
}
