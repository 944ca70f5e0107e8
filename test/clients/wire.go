package main

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// wire is a protocol in which agents ask models.
type wire interface {
	// tools returns the names of the tools that a request offers.
	tools(body []byte) ([]string, error)
	// answer writes what the model says in answer to r.
	answer(out http.ResponseWriter, r *http.Request, said turn)
}

// object is a JSON object that we write.
type object = map[string]any

// stream writes server-sent events.
type stream struct{ out http.ResponseWriter }

func newStream(out http.ResponseWriter) stream {
	out.Header().Set("Content-Type", "text/event-stream")
	return stream{out}
}

// data sends an event without a name. An agent that was killed does not hear it, and need not.
func (s stream) data(payload any) { s.event("", payload) }

func (s stream) event(name string, payload any) {
	if name != "" {
		fmt.Fprintf(s.out, "event: %s\n", name)
	}
	fmt.Fprintf(s.out, "data: %s\n\n", inJSON(payload))
	if flusher, ok := s.out.(http.Flusher); ok {
		flusher.Flush()
	}
}

// answerJSON sends one object.
func answerJSON(out http.ResponseWriter, payload any) {
	out.Header().Set("Content-Type", "application/json")
	out.Write(inJSON(payload))
}

func inJSON(payload any) []byte {
	data, err := json.Marshal(payload)
	if err != nil {
		panic(err) // all payloads are of objects, texts and numbers
	}
	return data
}
