package mcp

// advice is what a model does with an answer. It is part of the data: some clients pass on only that, others only the text.
type advice struct {
	Next string `json:"next,omitempty" jsonschema:"what to do now"`
	Undo string `json:"undo,omitempty" jsonschema:"how to undo it"`
}

// String returns the advice as the end of a text.
func (a advice) String() string {
	text := ""
	if a.Next != "" {
		text += "; next: " + a.Next
	}
	if a.Undo != "" {
		text += "; undo: " + a.Undo
	}
	return text
}
