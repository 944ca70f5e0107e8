package mcp

import (
	"cmp"
	"context"
	"strings"
	"unicode"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pawl"
	"pawl/internal/brief"
)

// author returns the calling agent: the name that its client reports, and its session if hooks have recorded one.
func (s *Server) author(ctx context.Context, req *sdk.CallToolRequest) pawl.Author {
	by := pawl.Author{Kind: pawl.ByAgent, Name: s.redact.Text(nameOf(req.ClientInfo())), Session: s.session}
	if id := req.Session.ID(); id != "" {
		by.Session = "mcp-" + id
	}
	if p, err := s.project(); err == nil {
		by.Session = cmp.Or(s.caller(ctx, p).session.Native(), by.Session)
	}
	return by
}

// maxName is the maximum size of a client's name in bytes.
const maxName = 64

// nameOf returns a client's name on one line.
func nameOf(client *sdk.Implementation) string {
	if client == nil {
		return "agent"
	}
	name := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, client.Name)
	if name = strings.TrimSpace(clip(name, maxName)); name == "" {
		return "agent"
	}
	return name
}

// audienceOf returns the brief audience of a client. An unknown client gets the smallest limits.
func audienceOf(client *sdk.Implementation) brief.Audience {
	name := strings.ToLower(nameOf(client))
	for _, a := range []brief.Audience{brief.Claude, brief.Codex, brief.Gemini, brief.OpenCode, brief.Copilot} {
		if strings.Contains(name, string(a)) {
			return a
		}
	}
	return brief.Claude
}

// clip truncates a text to a number of bytes and marks the cut.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	const mark = " […]"
	return strings.ToValidUTF8(text[:most-len(mark)], "") + mark
}
