package notebook

import (
	"encoding/json"
	"maps"

	"pawl/internal/kernel"
)

const (
	widgetView  = "application/vnd.jupyter.widget-view+json"
	widgetState = "application/vnd.jupyter.widget-state+json"

	maxWidgets = 8 << 20 // bytes of the states of all widgets
)

// widgets has the last state of each widget.
type widgets struct {
	models map[string]map[string]json.RawMessage // comm id → state
	size   int
	full   bool // at least one state is not the last one
}

// comm is the data of a widget's message.
type comm struct {
	Method string                     `json:"method"`
	State  map[string]json.RawMessage `json:"state"`
	Binary [][]any                    `json:"buffer_paths"`
}

// add follows the message of a widget.
func (w *widgets) add(m *kernel.Comm) {
	if m == nil || m.Type == "open" && m.Target != "jupyter.widget" {
		return
	}
	var data comm
	if json.Unmarshal(m.Data, &data) != nil || len(data.Binary) > 0 {
		w.full = w.full || len(data.Binary) > 0
		return
	}
	state, known := w.models[m.ID]
	switch {
	case m.Type == "open":
		state = map[string]json.RawMessage{}
	case !known || m.Type != "msg" || data.Method != "update" && data.Method != "echo_update":
		return // a closed widget stays in the notebook as it was last
	}
	for key, value := range data.State {
		if w.size+len(value)-len(state[key]) > maxWidgets {
			w.full = true
			return
		}
		w.size += len(value) - len(state[key])
		state[key] = value
	}
	if w.models == nil {
		w.models = map[string]map[string]json.RawMessage{}
	}
	w.models[m.ID] = state
}

// Widgets returns the last state of the widgets, for "widgets" in a notebook's metadata; nil if there are no widgets.
func (r *Recorder) Widgets() json.RawMessage {
	if len(r.widgets.models) == 0 {
		return nil
	}
	type model struct {
		Name    json.RawMessage            `json:"model_name"`
		Module  json.RawMessage            `json:"model_module"`
		Version json.RawMessage            `json:"model_module_version"`
		State   map[string]json.RawMessage `json:"state"`
	}
	states := map[string]model{}
	for id, state := range r.widgets.models {
		states[id] = model{or(state["_model_name"]), or(state["_model_module"]), or(state["_model_module_version"]), state}
	}
	text, err := json.Marshal(map[string]any{widgetState: map[string]any{"version_major": 2, "version_minor": 0, "state": states}})
	if err != nil {
		return nil
	}
	return text
}

func or(value json.RawMessage) json.RawMessage {
	if value == nil {
		return json.RawMessage(`""`)
	}
	return value
}

// noted returns the data of a display. That of a widget whose state is unknown gets a note.
func (w *widgets) noted(data map[string]json.RawMessage, d *display) map[string]json.RawMessage {
	view := data[widgetView]
	if view == nil {
		return data
	}
	var model struct {
		ID string `json:"model_id"`
	}
	if json.Unmarshal(view, &model) == nil && w.models[model.ID] != nil && !w.full {
		return data
	}
	data = maps.Clone(data)
	var text string
	if json.Unmarshal(data[textPlain], &text) == nil && text != "" {
		text += "\n"
	}
	data[textPlain] = plainText(text + "[pawl: a widget; its last state is not in the notebook]")[textPlain]
	return data
}
