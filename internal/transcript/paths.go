package transcript

import (
	"path/filepath"
	"slices"
	"strings"

	"pawl/internal/disk"
)

// Session says where the calls of a session may be recorded.
type Session struct {
	Agent string
	ID    string // the agent's own
	Sub   string // the subagent's id; empty: none
	Path  string // as a hook named it; may be empty
	Above string // that of the session that the subagent belongs to
}

// maxSubs is how many records of subagents are searched.
const maxSubs = 20

// Paths returns the records to search, the likeliest first. getenv is the environment.
func (s Session) Paths(getenv func(string) string) []string {
	var paths []string
	switch s.Agent {
	case "claude":
		paths = append(s.claudeSub(s.Path), s.claudeSub(s.Above)...)
		paths = append(paths, s.Path, s.Above)
	case "gemini": // its hooks do not say which calls are a subagent's
		paths = append([]string{s.Path}, s.geminiSubs()...)
	case "copilot": // its hooks rarely name the record, and subagents share it
		paths = []string{s.Path, s.Above, s.copilotPath(getenv)}
	default:
		paths = []string{s.Path, s.Above}
	}
	var unique []string
	for _, path := range paths {
		if path != "" && !slices.Contains(unique, path) {
			unique = append(unique, path)
		}
	}
	return unique
}

// claudeSub returns where a subagent's record is, next to that of its session.
func (s Session) claudeSub(path string) []string {
	folder, is := strings.CutSuffix(path, ".jsonl")
	if !is || !plain(s.Sub) {
		return nil
	}
	return []string{filepath.Join(folder, "subagents", "agent-"+s.Sub+".jsonl")}
}

// geminiSubs returns the records of a session's subagents.
func (s Session) geminiSubs() []string {
	if s.Path == "" || !plain(s.ID) {
		return nil
	}
	paths, _ := disk.Glob(filepath.Join(filepath.Dir(s.Path), s.ID), "*.jsonl") // without them there is less evidence
	return paths[:min(len(paths), maxSubs)]
}

// copilotPath returns where Copilot CLI keeps its record.
func (s Session) copilotPath(getenv func(string) string) string {
	home := getenv("COPILOT_HOME")
	if !filepath.IsAbs(home) {
		home = filepath.Join(getenv("HOME"), ".copilot")
	}
	if !filepath.IsAbs(home) || !plain(s.ID) {
		return ""
	}
	return filepath.Join(home, "session-state", s.ID, "events.jsonl")
}

// plain reports whether an id can be the name of a file.
func plain(id string) bool {
	return id != "" && id != "." && id != ".." && !strings.ContainsAny(id, "/\x00")
}
