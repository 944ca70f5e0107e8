package main

import (
	"encoding/json"
	"net/http"
	"strings"
)

// geminiWire is Google's generateContent, as Gemini CLI speaks it.
type geminiWire struct{}

func (geminiWire) tools(body []byte) ([]string, error) {
	var asked struct {
		Tools []struct {
			FunctionDeclarations []struct{ Name string }
		}
	}
	err := json.Unmarshal(body, &asked)
	var names []string
	for _, group := range asked.Tools {
		for _, f := range group.FunctionDeclarations {
			names = append(names, f.Name)
		}
	}
	return names, err
}

func (geminiWire) answer(out http.ResponseWriter, r *http.Request, said turn) {
	_, method, _ := strings.Cut(r.PathValue("action"), ":")
	switch method {
	case "streamGenerateContent":
		newStream(out).data(geminiReply(said))
	case "countTokens":
		answerJSON(out, object{"totalTokens": 100})
	default:
		answerJSON(out, geminiReply(said))
	}
}

func geminiReply(said turn) object {
	var parts []object
	if said.text != "" {
		parts = append(parts, object{"text": said.text})
	}
	for _, c := range said.calls {
		parts = append(parts, object{"functionCall": object{"name": c.tool, "args": c.args}})
	}
	return object{
		"candidates":    []object{{"index": 0, "finishReason": "STOP", "content": object{"role": "model", "parts": parts}}},
		"usageMetadata": object{"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110},
	}
}
