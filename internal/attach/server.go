package attach

import (
	"fmt"

	"pawl/internal/textedit/jsonedit"
	"pawl/internal/textedit/tomledit"
)

// serverName is the name of the MCP server.
const serverName = "pawl"

// jsonServer is the MCP server in a JSON file, under the key in.
type jsonServer struct {
	in    string
	value any
	must  map[string]any // the required fields; the user may change others
}

func (s jsonServer) add(text []byte) ([]byte, error) {
	doc, err := s.read(text)
	if err != nil {
		return nil, err
	}
	if doc.Root.Get(s.in) == nil {
		if doc, err = doc.Add(doc.Root, s.in, struct{}{}); err != nil {
			return nil, err
		}
	}
	if there := doc.Root.Get(s.in, serverName); there == nil {
		doc, err = doc.Add(doc.Root.Get(s.in), serverName, s.value)
	} else if !s.complete(there) {
		doc, err = doc.Set(there, s.value)
	}
	return doc.Text, err
}

func (s jsonServer) remove(text, before []byte) ([]byte, error) {
	doc, err := s.read(text)
	if err != nil {
		return nil, err
	}
	was := readOriginal(before)
	for {
		in := doc.Root.Get(s.in)
		if in == nil || in.Index(serverName) < 0 {
			return doc.Text, nil
		}
		if doc, err = doc.Remove(in, in.Index(serverName), was.empty(s.in)); err != nil {
			return nil, err
		}
		if doc, err = was.prune(doc, s.in); err != nil {
			return nil, err
		}
	}
}

func (s jsonServer) inspect(text []byte) (presence, error) {
	doc, err := s.read(text)
	if err != nil {
		return presence{}, err
	}
	there := doc.Root.Get(s.in, serverName)
	if there == nil {
		return presence{missing: []string{"the MCP server"}}, nil
	}
	return presence{any: true, complete: s.complete(there)}, nil
}

// complete reports whether an entry has all required fields.
func (s jsonServer) complete(there *jsonedit.Value) bool {
	for key, want := range s.must {
		if v := there.Get(key); v == nil || !v.Holds(want) {
			return false
		}
	}
	return true
}

func (s jsonServer) read(text []byte) (jsonedit.Doc, error) {
	doc, err := jsonedit.ReadJSONC(text)
	if err != nil {
		return doc, err
	}
	if doc.Root.Kind != jsonedit.Object {
		return doc, doc.Root.Errorf("expected an object { … } of settings")
	}
	if in := doc.Root.Get(s.in); in != nil && in.Kind != jsonedit.Object {
		return doc, in.Errorf("%s: expected an object { … } of servers", s.in)
	}
	return doc, nil
}

// tomlServer is the MCP server in Codex's config.toml.
type tomlServer struct{ program string }

var tomlPath = []string{"mcp_servers", serverName}

func (s tomlServer) add(text []byte) ([]byte, error) {
	if seen, err := s.inspect(text); err != nil || seen.complete {
		return text, err
	}
	text, err := s.remove(text, nil)
	if err != nil {
		return nil, err
	}
	doc, err := tomledit.Read(text)
	if err != nil {
		return nil, err
	}
	doc, err = doc.Add(tomlPath, tomledit.Pair{Key: "command", Value: s.program}, tomledit.Pair{Key: "args", Value: mcpArgs})
	return doc.Text, err
}

func (s tomlServer) remove(text, _ []byte) ([]byte, error) {
	doc, err := tomledit.Read(text)
	if err != nil {
		return nil, err
	}
	doc, err = doc.Remove(tomlPath)
	return doc.Text, err
}

func (s tomlServer) inspect(text []byte) (presence, error) {
	doc, err := tomledit.Read(text)
	if err != nil {
		return presence{}, err
	}
	if doc.Get(tomlPath...) == nil {
		return presence{missing: []string{"the MCP server"}}, nil
	}
	same := doc.Get("mcp_servers", serverName, "command") == s.program &&
		fmt.Sprint(doc.Get("mcp_servers", serverName, "args")) == fmt.Sprint(mcpArgs)
	return presence{any: true, complete: same}, nil
}
