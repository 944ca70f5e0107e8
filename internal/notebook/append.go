package notebook

import "pawl/internal/textedit/jsonedit"

// NewCell is a cell to append. Cells that are not code have no count and no outputs.
type NewCell struct {
	ID       string // legal and not in the notebook; see FreeID
	Type     CellType
	Source   string
	Tags     []string
	Outputs  []Output
	Count    int
	Metadata CellMetadata
}

// Append returns the notebook with more cells at its end, in nbformat 4.5.
func Append(current []byte, cells ...NewCell) ([]byte, error) {
	for _, c := range cells {
		n, err := Read(current)
		if err != nil {
			return nil, err
		}
		if n, err = n.Mend(); err != nil {
			return nil, err
		}
		e, list := jsonedit.NewEdits(n.root), n.root.Get("cells")
		v, err := jsonedit.Encode(c.members())
		if err != nil {
			return nil, err
		}
		e.Insert(list, len(list.Items), v)
		current = e.Apply()
	}
	return current, nil
}

// members returns the members of the cell's JSON.
func (c NewCell) members() map[string]any {
	metadata := map[string]any{}
	if v := encode(c.Metadata); len(v.Members) > 0 {
		for _, m := range v.Members {
			metadata[m.Key] = m.Value.Decode()
		}
	}
	if len(c.Tags) > 0 {
		metadata["tags"] = c.Tags
	}
	m := map[string]any{"cell_type": c.Type, "id": c.ID, "metadata": metadata, "source": lines(c.Source)}
	if c.Type == Code {
		m["execution_count"], m["outputs"] = countOrNull(c.Count), append([]Output{}, c.Outputs...)
	}
	return m
}
