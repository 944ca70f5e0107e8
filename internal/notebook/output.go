package notebook

import (
	"bytes"
	"encoding/json"
	"strings"

	"pawl/internal/kernel"
	"pawl/internal/textedit/jsonedit"
)

// Output is an output of a cell.
type Output struct {
	Type     OutputType
	Stream   kernel.Stream              // of Stream
	Text     string                     // of Stream
	Data     map[string]json.RawMessage // MIME type → string or, of a JSON type, any value; of Display and Result
	Metadata json.RawMessage            // an object; of Display and Result
	Count    int                        // of Result; 0: unknown
	Error    *kernel.Error              // of Failure
}

// OutputType is the type of an output.
type OutputType string

// The types of outputs.
const (
	Stream  OutputType = "stream"
	Display OutputType = "display_data"
	Result  OutputType = "execute_result"
	Failure OutputType = "error"
)

// MarshalJSON returns the output as a notebook has it: keys sorted, texts as lists of lines.
func (o Output) MarshalJSON() ([]byte, error) {
	m := map[string]any{"output_type": o.Type}
	switch o.Type {
	case Stream:
		m["name"], m["text"] = o.Stream, lines(o.Text)
	case Failure:
		m["ename"], m["evalue"], m["traceback"] = o.Error.Name, o.Error.Value, append([]string{}, o.Error.Traceback...)
	case Result:
		m["execution_count"] = countOrNull(o.Count)
		fallthrough
	case Display:
		m["data"], m["metadata"] = bundle(o.Data), object(o.Metadata)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(m)
	return b.Bytes(), err
}

func countOrNull(n int) any {
	if n > 0 {
		return n
	}
	return nil
}

// object returns valid JSON of an object, {} for anything else.
func object(text json.RawMessage) json.RawMessage {
	if v, err := jsonedit.Read(text); err == nil && v.Is(jsonedit.Object) {
		return text
	}
	return json.RawMessage("{}")
}

// bundle returns the data of a display as a notebook has it.
func bundle(data map[string]json.RawMessage) map[string]any {
	m := make(map[string]any, len(data))
	for mime, value := range data {
		m[mime] = bundled(mime, value)
	}
	return m
}

func bundled(mime string, value json.RawMessage) any {
	v, err := jsonedit.Read(value)
	switch {
	case err != nil:
		return string(value)
	case isJSON(mime):
		return value
	case !isText(v):
		return string(value) // nbformat allows only text here
	case strings.HasPrefix(mime, "text/"), mime == "application/javascript", mime == "image/svg+xml":
		return lines(multiline(v))
	}
	return multiline(v)
}

// isJSON reports whether nbformat allows any JSON value for a MIME type.
func isJSON(mime string) bool {
	return mime == "application/json" || strings.HasPrefix(mime, "application/") && strings.HasSuffix(mime, "+json")
}

// Outputs returns the outputs of a cell. Those with an unknown type are left out.
func (c *Cell) Outputs() []Output {
	v := c.json.Get("outputs")
	if !v.Is(jsonedit.Array) {
		return nil
	}
	var outputs []Output
	for _, item := range v.Items {
		if o, ok := readOutput(item); ok {
			outputs = append(outputs, o)
		}
	}
	return outputs
}

func readOutput(v *jsonedit.Value) (Output, bool) {
	o := Output{Type: OutputType(v.Get("output_type").Text())}
	switch o.Type {
	case Stream:
		o.Stream, o.Text = kernel.Stream(v.Get("name").Text()), multiline(v.Get("text"))
	case Failure:
		o.Error = &kernel.Error{Name: v.Get("ename").Text(), Value: v.Get("evalue").Text()}
		if traceback := v.Get("traceback"); traceback.Is(jsonedit.Array) {
			for _, frame := range traceback.Items {
				o.Error.Traceback = append(o.Error.Traceback, frame.Text())
			}
		}
	case Result:
		n, _ := v.Get("execution_count").Int()
		o.Count = int(n)
		fallthrough
	case Display:
		o.Metadata, o.Data = v.Get("metadata").Raw(), map[string]json.RawMessage{}
		if data := v.Get("data"); data.Is(jsonedit.Object) {
			for _, m := range data.Members {
				o.Data[m.Key] = m.Value.Raw()
			}
		}
	default:
		return o, false
	}
	return o, true
}
