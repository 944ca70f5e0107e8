package notebook

import (
	"pawl/internal/textedit/jsonedit"
)

// Mend returns the notebook in nbformat 4.5: each cell has an id, and the required values that were missing. It returns n if nothing
// is missing. Other bytes stay as they are.
func (n *Notebook) Mend() (*Notebook, error) {
	e := jsonedit.NewEdits(n.root)
	if n.Minor < 5 {
		e.Set(n.root, "nbformat_minor", encode(5))
	}
	if n.root.Get("metadata") == nil {
		e.Set(n.root, "metadata", encode(struct{}{}))
	}
	for i := range n.Cells {
		n.Cells[i].mend(e)
	}
	text := e.Apply()
	if len(text) == len(n.text) && string(text) == string(n.text) {
		return n, nil
	}
	return Read(text)
}

func (c *Cell) mend(e *jsonedit.Edits) {
	if !c.Own {
		e.Set(c.json, "id", encode(c.ID))
	}
	require(e, c.json, "metadata", struct{}{})
	if c.Type != Code {
		return
	}
	require(e, c.json, "outputs", []any{})
	require(e, c.json, "execution_count", nil)
	outputs := c.json.Get("outputs")
	if outputs == nil {
		return
	}
	for _, o := range outputs.Items {
		switch o.Get("output_type").Text() {
		case "execute_result":
			require(e, o, "metadata", struct{}{})
			require(e, o, "execution_count", nil)
		case "display_data":
			require(e, o, "metadata", struct{}{})
		}
	}
}

// require sets a member of an object that does not have it.
func require(e *jsonedit.Edits, object *jsonedit.Value, key string, value any) {
	if object.Get(key) == nil {
		e.Set(object, key, encode(value))
	}
}

// setMembers sets the members of an object that is a member of another one, or adds it.
func setMembers(e *jsonedit.Edits, in *jsonedit.Value, key string, by *jsonedit.Value) {
	object := in.Get(key)
	if !object.Is(jsonedit.Object) || !by.Is(jsonedit.Object) {
		e.Set(in, key, by)
		return
	}
	for _, m := range by.Members {
		e.Set(object, m.Key, m.Value)
	}
}

// encode returns a value of pawl's own as JSON.
func encode(value any) *jsonedit.Value {
	v, err := jsonedit.Encode(value)
	if err != nil {
		panic("notebook: " + err.Error())
	}
	return v
}

// Describe returns the notebook with the language that a kernel reports, and with the kernel's specification if the notebook names
// none, as nbclient leaves it. languageInfo is the JSON of the kernel's reply.
func Describe(current []byte, spec Kernelspec, languageInfo []byte) ([]byte, error) {
	n, err := Read(current)
	if err != nil {
		return nil, err
	}
	if n, err = n.Mend(); err != nil {
		return nil, err
	}
	e, metadata := jsonedit.NewEdits(n.root), n.root.Get("metadata")
	if info, err := jsonedit.Read(languageInfo); err == nil && info.Get("name").Is(jsonedit.String) {
		e.Set(metadata, "language_info", info)
	}
	if spec.Name != "" && metadata.Get("kernelspec", "name") == nil {
		e.Set(metadata, "kernelspec", encode(map[string]string{"display_name": spec.DisplayName, "language": spec.Language, "name": spec.Name}))
	}
	return e.Apply(), nil
}
