package agentstest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Main runs an agent in the current folder. Its arguments are AGENT SESSION SCRIPT.
func Main(ctx context.Context, args []string, out io.Writer) error {
	if len(args) != 3 {
		return errors.New("usage: fake-agent AGENT SESSION SCRIPT")
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	script, err := os.ReadFile(args[2])
	if err != nil {
		return err
	}
	a, err := New(args[0], args[1], dir, out)
	if err != nil {
		return err
	}
	return a.Follow(ctx, string(script))
}

// Follow runs a script line by line:
//
//	start SOURCE            the session starts; SOURCE is startup, resume or clear
//	prompt TEXT             the user sends a prompt
//	run COMMAND             the shell tool
//	parallel N COMMAND      the same N times concurrently; # in COMMAND is replaced by the number
//	write FILE CONTENT      the tools for files; \n in CONTENT is a new line
//	edit FILE OLD => NEW
//	read FILE
//	tasks [x] A; [>] B; [ ] C    the task list: done, in progress, open
//	task created|completed ID TITLE   an entry of it, as Claude Code reports it
//	sub NAME start|stop|run COMMAND   a subagent and its actions
//	ask COMMAND             wait for the user's permission
//	refuse COMMAND          a tool call that the user refuses: it has no outcome
//	background COMMAND      the shell tool runs a command in the background, and returns
//	compact                 the context is compacted
//	wrong TEXT              a request to the model fails
//	stop TEXT               the turn ends with this message; if a hook prevents that, it continues until the next stop
//	end REASON              the session ends normally
//	at DIR                  the agent changes its working folder
//	wait FILE               wait until the file exists
//	hang                    wait forever
func (a *Agent) Follow(ctx context.Context, script string) error {
	for number, line := range strings.Split(script, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		verb, rest, _ := strings.Cut(line, " ")
		if err := a.follow(ctx, verb, strings.TrimSpace(rest)); err != nil {
			return fmt.Errorf("line %d: %s: %w", number+1, line, err)
		}
	}
	return nil
}

func (a *Agent) follow(ctx context.Context, verb, rest string) error {
	first, after, _ := strings.Cut(rest, " ")
	var err error
	switch verb {
	case "start":
		if a.Name == "copilot" && first == "startup" {
			first = "new"
		}
		_, err = a.tell(ctx, a.start, "", fields{"source": first})
	case "prompt":
		_, err = a.tell(ctx, a.prompt, "", fields{"prompt": rest})
	case "run":
		err = a.run(ctx, "", rest)
	case "parallel":
		err = a.atOnce(ctx, first, after)
	case "write":
		err = a.put(ctx, "", first, unescaped(after))
	case "edit":
		old, now, _ := strings.Cut(after, " => ")
		err = a.change(ctx, "", first, unescaped(old), unescaped(now))
	case "read":
		err = a.look(ctx, "", first)
	case "tasks":
		err = a.list(ctx, tasksOf(rest))
	case "task":
		err = a.task(ctx, first, after)
	case "sub":
		err = a.subagent(ctx, first, after)
	case "ask":
		u := a.shell(rest)
		_, err = a.tell(ctx, a.asks, "", fields{"tool_name": u.tool, "tool_input": u.input})
	case "refuse":
		err = a.refused(ctx, rest)
	case "background":
		err = a.background(ctx, rest)
	case "compact":
		if _, err = a.tell(ctx, a.compact, "", nil); err == nil {
			_, err = a.tell(ctx, a.compacted, "", nil)
		}
	case "wrong":
		_, err = a.tell(ctx, a.wrong, "", fields{"error": rest})
	case "stop":
		err = a.turnsEnd(ctx, rest)
	case "end":
		_, err = a.tell(ctx, a.end, "", fields{"reason": rest})
	case "at":
		a.Dir, err = filepath.Abs(rest)
	case "wait":
		err = a.wait(ctx, rest)
	case "hang":
		select {
		case <-ctx.Done(): // never, in a process of its own
		case <-time.After(time.Hour): // without a timer Go ends the process: "all goroutines are asleep"
		}
	default:
		err = errors.New("no such deed")
	}
	return err
}

func unescaped(text string) string { return strings.ReplaceAll(text, `\n`, "\n") }

// atOnce runs tools concurrently.
func (a *Agent) atOnce(ctx context.Context, many, command string) error {
	n, err := strconv.Atoi(many)
	if err != nil {
		return err
	}
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = a.run(ctx, "", strings.ReplaceAll(command, "#", strconv.Itoa(i+1))) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// tasksOf parses a task list.
func tasksOf(text string) []task {
	var list []task
	for entry := range strings.SplitSeq(text, ";") {
		mark, title, _ := strings.Cut(strings.TrimSpace(entry), "]")
		status := map[string]string{"[x": "completed", "[>": "in_progress", "[-": "cancelled"}[mark]
		if status == "" {
			status = "pending"
		}
		list = append(list, task{strings.TrimSpace(title), status})
	}
	return list
}

func (a *Agent) task(ctx context.Context, verb, rest string) error {
	id, title, _ := strings.Cut(rest, " ")
	_, err := a.tell(ctx, map[string]string{"created": "TaskCreated", "completed": "TaskCompleted"}[verb], "", fields{"task_id": id, "task_subject": title})
	return err
}

func (a *Agent) subagent(ctx context.Context, name, rest string) error {
	verb, command, _ := strings.Cut(rest, " ")
	var err error
	switch verb {
	case "start":
		_, err = a.tell(ctx, a.begins, name, nil)
	case "stop":
		_, err = a.tell(ctx, a.ends, name, nil)
	case "run":
		err = a.run(ctx, name, command)
	default:
		err = errors.New("no such deed of a subagent")
	}
	return err
}

// wait waits until a file exists.
func (a *Agent) wait(ctx context.Context, name string) error {
	for {
		if _, err := os.Lstat(a.path(name)); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}
