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

// author is the agent that calls, by the name that its client gives itself, in its session, as far as hooks tell of it.
func (s *Server) author(ctx context.Context, req *sdk.CallToolRequest) pawl.Author {
	by := pawl.Author{Kind: pawl.ByAgent, Name: s.redact.Text(nameOf(req.ClientInfo())), Session: s.session}
	if id := req.Session.ID(); id != "" {
		by.Session = "mcp-" + id
	}
	if p, err := s.project(); err == nil {
		by.Session = cmp.Or(s.here(ctx, p).session.Native(), by.Session)
	}
	return by
}

// maxName is how much of a client's name is kept.
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

// audienceOf returns who reads what a client is told. Of one that is not known no more is assumed than of the others.
func audienceOf(client *sdk.Implementation) brief.Audience {
	name := strings.ToLower(nameOf(client))
	for _, a := range []brief.Audience{brief.Claude, brief.Codex, brief.Gemini, brief.OpenCode, brief.Copilot} {
		if strings.Contains(name, string(a)) {
			return a
		}
	}
	return brief.Claude
}

// clip cuts a text at a number of bytes, and says so.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	const mark = " […]"
	return strings.ToValidUTF8(text[:most-len(mark)], "") + mark
}
