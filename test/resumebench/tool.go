package main

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

//go:embed tools
var toolFiles embed.FS

// A tool is under test: a command line of the shell that is run with the word setup or text at its end.
type tool struct {
	name    string
	command string
	path    string // a folder for the search path
}

// toolLimit is how long a tool's command may take.
const toolLimit = 3 * time.Minute

// run runs the tool's command in the project, and returns what it prints.
func (t tool) run(s *stage, verb string) (string, error) {
	ctx, cancel := context.WithTimeout(s.ctx, toolLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", t.command+" "+verb)
	cmd.Dir, cmd.WaitDelay = s.project(), time.Second
	cmd.Env = append(s.environ, "RESUMEBENCH_SESSION="+s.last, "RESUMEBENCH_TRANSCRIPT="+transcriptPath(s.home(), s.project(), s.last))
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w: %s%s", t.command, verb, err, out.String(), complaint.String())
	}
	return out.String(), nil
}

// ownTools are the built-in tools, in the order of the table.
var ownTools = []string{"none", "transcript", "pawl"}

// unpackTools writes the commands of the tools that come with the bench into a folder.
func unpackTools(dir string) error {
	files, err := toolFiles.ReadDir("tools")
	if err != nil {
		return err
	}
	for _, f := range files {
		data, err := toolFiles.ReadFile("tools/" + f.Name())
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, f.Name()), data, 0o700); err != nil {
			return err
		}
	}
	return nil
}

// parseTool reads NAME=COMMAND. A NAME alone is a built-in tool, whose command is in a folder.
func parseTool(text, dir, path string) (tool, error) {
	name, command, given := strings.Cut(text, "=")
	t := tool{name: name, command: command, path: path}
	if !given {
		t.command = filepath.Join(dir, name)
		if _, err := os.Stat(t.command); err != nil {
			return t, fmt.Errorf("unknown tool %q; pass -tool NAME=COMMAND", name)
		}
	}
	return t, nil
}
