package notebook

import (
	"fmt"
	"regexp"
	"strconv"

	"pawl/internal/textedit/jsonedit"
)

// Inject returns the notebook with a cell that assigns parameters, as papermill does: in place of an earlier such cell, else after
// the cell tagged parameters, else as the first cell. The parameters are also in the notebook's metadata. Without parameters the
// notebook stays as it is. The warnings name parameters that the cell tagged parameters does not assign. language is that of the kernel;
// "" is the notebook's own.
func (n *Notebook) Inject(language string, params Params) (text []byte, warnings []string, err error) {
	if len(params) == 0 {
		return n.text, nil, nil
	}
	if language == "" {
		language = n.language()
	}
	source, err := Assignments(language, params)
	if err != nil {
		return nil, nil, err
	}
	if n, err = n.Mend(); err != nil {
		return nil, nil, err
	}
	e := jsonedit.NewEdits(n.root)
	if i := n.tagged(TagInjected); i >= 0 {
		n.replaceInjected(e, &n.Cells[i], source)
	} else {
		e.Insert(n.root.Get("cells"), n.tagged(TagParameters)+1, encode(NewCell{ID: n.FreeID(TagInjected), Type: Code, Source: source, Tags: []string{TagInjected}}.members()))
	}
	setMembers(e, n.root.Get("metadata"), "papermill", encode(map[string]any{"parameters": params.Plain()}))
	return e.Apply(), n.unknown(params), nil
}

// replaceInjected replaces the code of an injected cell. Unless it is the same code, its outputs are those of other parameters.
func (n *Notebook) replaceInjected(e *jsonedit.Edits, c *Cell, source string) {
	if c.Source == source {
		return
	}
	e.Set(c.json, "source", encode(lines(source)))
	e.Set(c.json, "outputs", encode([]any{}))
	e.Set(c.json, "execution_count", encode(nil))
}

// language returns the notebook's language, as far as it says.
func (n *Notebook) language() string {
	if n.Kernel.Language != "" {
		return n.Kernel.Language
	}
	return n.Kernel.Name
}

// FreeID returns an id that no cell has: name, or name-2 and so on. name must be legal.
func (n *Notebook) FreeID(name string) string {
	id := name
	for i := 2; n.Find(id) >= 0; i++ {
		id = name + "-" + strconv.Itoa(i)
	}
	return id
}

// unknown returns a warning for each parameter that the cell tagged parameters does not assign.
func (n *Notebook) unknown(params Params) []string {
	i := n.tagged(TagParameters)
	if i < 0 {
		return []string{`no cell has the tag "parameters"; the parameters are assigned in the first cell`}
	}
	var warnings []string
	for _, p := range params {
		assigned := `(?m)(?:^|;)[ \t]*(?:(?:export[ \t]+)?(?:var|let|const)[ \t]+)?` + regexp.QuoteMeta(p.Name) + `[ \t]*(?::[^=\n]*)?(?:=[^=]|<-)`
		if found, err := regexp.MatchString(assigned, n.Cells[i].Source+"\n"); err == nil && !found {
			warnings = append(warnings, fmt.Sprintf(`the cell tagged "parameters" does not assign %s; check the spelling`, p.Name))
		}
	}
	return warnings
}
