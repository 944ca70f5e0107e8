// Command resumebench measures what a new session of a coding agent learns about the work of earlier ones.
//
// Scripted agents, which follow Claude Code's protocol of hooks and transcripts, really work in a fresh project and die,
// fail, are refused or finish. Then a tool provides the text for a new session, and a reader without knowledge of any tool
// compares it with the truth about each operation. README.md says how to plug in a tool; rules.go has all rules of the reader.
//
//	go run ./test/resumebench [-tool NAME[=COMMAND]]… [-scenarios REGEXP] [-json] [-v] [-texts FOLDER] [-pawl FILE]
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "resumebench:", err)
		stop()
		os.Exit(1)
	}
}

// run is the program. Its hidden verbs are the scripted agent, and what its own tools call.
func run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	if len(args) == 2 {
		switch args[0] {
		case agentVerb:
			return runAgent(ctx, args[1], in)
		case renderVerb:
			return renderFile(args[1], out)
		case clientVerb:
			return resumeClient(ctx, args[1], out)
		}
	}
	b, err := parse(args, out)
	if err != nil {
		return err
	}
	return errors.Join(b.measure(ctx), os.RemoveAll(b.dir))
}

// bench is what one call of the program measures.
type bench struct {
	out       io.Writer
	dir, self string
	tools     []tool
	scenarios []scenario
	json      bool
	verbose   bool
	texts     string // the folder for the texts; empty: they are not kept
}

// parse reads the arguments, makes a folder and, if needed, builds pawl in it.
func parse(args []string, out io.Writer) (*bench, error) {
	b := &bench{out: out}
	flags := flag.NewFlagSet("resumebench", flag.ContinueOnError)
	var names []string
	flags.Func("tool", "NAME=COMMAND, or one of none, transcript, claude, codex, gemini, entire, pawl; may be repeated", func(text string) error {
		names = append(names, text)
		return nil
	})
	only := flags.String("scenarios", "", "only those whose names match this regular expression")
	pawl := flags.String("pawl", "", "a pawl binary with pawl-hook next to it; default: built from this tree")
	flags.BoolVar(&b.json, "json", false, "print JSON")
	flags.BoolVar(&b.verbose, "v", false, "print each scenario, and each point that was lost")
	flags.StringVar(&b.texts, "texts", "", "write the texts that the reader got into this folder")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if len(names) == 0 {
		names = ownTools
	}
	if err := b.choose(*only); err != nil {
		return nil, err
	}
	var err error
	if b.self, err = os.Executable(); err != nil {
		return nil, err
	}
	if b.dir, err = os.MkdirTemp("", "resumebench-"); err != nil {
		return nil, err
	}
	if b.dir, err = filepath.EvalSymlinks(b.dir); err != nil {
		return nil, err
	}
	if err := b.furnish(names, *pawl); err != nil {
		return nil, errors.Join(err, os.RemoveAll(b.dir))
	}
	return b, nil
}

// choose selects the scenarios.
func (b *bench) choose(only string) error {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	all, err := readScenarios()
	if err != nil {
		return err
	}
	b.scenarios = slices.DeleteFunc(all, func(s scenario) bool { return !pattern.MatchString(s.Name) })
	if len(b.scenarios) == 0 {
		return fmt.Errorf("no scenario matches %q", only)
	}
	return nil
}

// furnish unpacks and chooses the tools.
func (b *bench) furnish(names []string, pawl string) error {
	folder, path := filepath.Join(b.dir, "tools"), filepath.Join(b.dir, "path")
	for _, dir := range []string{folder, path} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	if err := unpackTools(folder); err != nil {
		return err
	}
	if pawl != "" {
		absolute, err := filepath.Abs(pawl)
		if err != nil {
			return err
		}
		path = filepath.Dir(absolute)
	} else if slices.Contains(names, "pawl") {
		build := exec.Command("go", "build", "-o", path+string(filepath.Separator), "pawl/cmd/pawl", "pawl/cmd/pawl-hook")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build pawl: %w: %s", err, out)
		}
	}
	for _, name := range names {
		t, err := parseTool(name, folder, path)
		if err != nil {
			return err
		}
		b.tools = append(b.tools, t)
	}
	return nil
}

// measure runs all scenarios with all tools, and prints the result.
func (b *bench) measure(ctx context.Context) error {
	var all []result
	for _, t := range b.tools {
		r := result{Tool: t.name}
		for i, sc := range b.scenarios {
			s, err := b.trial(ctx, filepath.Join(b.dir, fmt.Sprintf("%s-%d", t.name, i)), t, sc)
			if err != nil {
				return fmt.Errorf("%s: %s: %w", t.name, sc.Name, err)
			}
			r.Scenarios = append(r.Scenarios, scored{sc.Name, s})
		}
		r.total()
		all = append(all, r)
	}
	if b.json {
		encoder := json.NewEncoder(b.out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(all)
	}
	b.print(all)
	return nil
}

// trial plays one scenario with one tool, and rates the text.
func (b *bench) trial(ctx context.Context, dir string, t tool, sc scenario) (_ score, err error) {
	s, err := newStage(ctx, dir, b.self, t, sc)
	if err != nil {
		return score{}, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	for n, one := range sc.Sessions {
		if err := s.play(n, one); err != nil {
			return score{}, err
		}
	}
	if sc.Outside != "" {
		if err := s.shell(sc.Outside); err != nil {
			return score{}, err
		}
	}
	for _, command := range sc.Check {
		if err := s.shell(command); err != nil {
			return score{}, fmt.Errorf("a check of the scenario failed: %w", err)
		}
	}
	text, took, err := s.text()
	if err != nil {
		return score{}, err
	}
	rated := rate(text, sc.Truth)
	rated.Millis = float64(took.Round(100*time.Microsecond)) / float64(time.Millisecond)
	return rated, b.keep(t, sc, text)
}

// keep saves a text, so that its score can be checked.
func (b *bench) keep(t tool, sc scenario, text string) error {
	if b.texts == "" {
		return nil
	}
	folder := filepath.Join(b.texts, t.name)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, sc.Name+".txt"), []byte(text+"\n"), 0o644)
}

// renderVerb prints a transcript as text.
const renderVerb = "render"

// renderFile prints a transcript as text.
func renderFile(path string, out io.Writer) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	messages, err := readTranscript(data)
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, render(messages, func(message, string) bool { return false }))
	return err
}
