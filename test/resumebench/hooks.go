package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// hookSettings are the hooks in one of Claude Code's settings files.
type hookSettings struct {
	Hooks map[string][]struct {
		Matcher string
		Hooks   []hookCommand
	}
}

// hookCommand is one hook. With arguments it is started directly, otherwise by a shell.
type hookCommand struct {
	Type    string
	Command string
	Args    *[]string
	Timeout float64 // seconds
}

// hookLimit is the time limit of a hook that names none.
const hookLimit = 60 * time.Second

// hooks are the hooks that a tool has installed in a project or its home, and how to run them.
type hooks struct {
	settings []hookSettings
	project  string
	environ  []string
}

// readHooks reads the settings files that Claude Code reads.
func readHooks(project, home string, environ []string) (*hooks, error) {
	h := &hooks{project: project, environ: append(environ, "CLAUDE_PROJECT_DIR="+project)}
	for _, path := range []string{
		filepath.Join(home, ".claude", "settings.json"), filepath.Join(project, ".claude", "settings.json"), filepath.Join(project, ".claude", "settings.local.json"),
	} {
		data, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		var s hookSettings
		if err == nil {
			err = json.Unmarshal(data, &s)
		}
		if err != nil {
			return nil, fmt.Errorf("read hooks: %s: %w", path, err)
		}
		h.settings = append(h.settings, s)
	}
	return h, nil
}

// run sends an event to each hook that matches it, and returns the context that they add. It ignores their decisions about calls:
// the script decides. A hook that fails adds nothing, as with the real client.
func (h *hooks) run(ctx context.Context, payload map[string]any) (string, error) {
	data, err := json.Marshal(payload)
	if err != nil {
		return "", err
	}
	name, _ := payload["hook_event_name"].(string)
	about, _ := payload["tool_name"].(string)
	if source, ok := payload["source"].(string); ok && about == "" {
		about = source
	}
	cwd, _ := payload["cwd"].(string)
	var added []string
	for _, command := range h.wanting(name, about) {
		if text := contextIn(name, h.call(ctx, command, cwd, data)); text != "" {
			added = append(added, text)
		}
	}
	return strings.Join(added, "\n\n"), nil
}

// wanting returns the hooks of an event whose matcher matches.
func (h *hooks) wanting(name, about string) []hookCommand {
	var all []hookCommand
	for _, s := range h.settings {
		for _, group := range s.Hooks[name] {
			if matches(group.Matcher, about) {
				all = append(all, group.Hooks...)
			}
		}
	}
	return all
}

// matches reports whether a matcher, an expression of JavaScript, fits. Go has no lookahead: a matcher that consists of a negative one is negated.
func matches(matcher, about string) bool {
	if matcher == "" || matcher == "*" {
		return true
	}
	if inner, ok := strings.CutPrefix(matcher, "^(?!"); ok && strings.HasSuffix(inner, ")") {
		pattern, err := regexp.Compile("^(?:" + strings.TrimSuffix(inner, ")") + ")")
		return err == nil && !pattern.MatchString(about)
	}
	pattern, err := regexp.Compile("^(?:" + matcher + ")$")
	return err == nil && pattern.MatchString(about)
}

// call runs one hook, and returns what it printed; nothing if it failed.
func (h *hooks) call(ctx context.Context, c hookCommand, cwd string, payload []byte) []byte {
	limit := hookLimit
	if c.Timeout > 0 {
		limit = time.Duration(c.Timeout * float64(time.Second))
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", c.Command)
	if c.Args != nil {
		cmd = exec.CommandContext(ctx, c.Command, *c.Args...)
	}
	var out bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout = cwd, h.environ, bytes.NewReader(payload), &out
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return nil
	}
	return out.Bytes()
}

// contextIn returns what Claude Code adds to the conversation for what a hook printed: a JSON answer's additionalContext, or,
// at the start of a session and at a prompt, any other text as it is.
func contextIn(name string, printed []byte) string {
	var answer struct {
		HookSpecificOutput struct{ AdditionalContext string }
	}
	if json.Unmarshal(printed, &answer) == nil {
		return answer.HookSpecificOutput.AdditionalContext
	}
	if name == "SessionStart" || name == "UserPromptSubmit" {
		return strings.TrimSpace(string(printed))
	}
	return ""
}
