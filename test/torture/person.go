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
	"strings"
	"syscall"
	"time"

	"pawl"
)

// A stop is where pawl would not go on without a person, and what the person did about it.
type stop struct {
	kind string // recover, rerun, unsafe, gate, retry, mend, other, stuck
	work string // of a gate
	said string // the message
	did  string // the command
}

// A person types what pawl's own hints say, as somebody careful does who knows nothing else; files of their own that were
// damaged they put back. They type at most so many commands.
const mostTyped = 30

// goOn resumes the run and does what is asked, until it is completed or nothing helps any more.
func (c *trial) goOn() error {
	next := "pawl resume"
	if c.before.run == "" { // they saw that none was made
		next = "pawl run plan.yaml"
	}
	seen := map[string]int{}
	for range mostTyped {
		said, code := c.types(next)
		if ctxEnded(code) {
			return c.wrong("%s: still running after %s:\n%s", next, patience, said)
		}
		if strings.Contains(said, "panic:") {
			return c.wrong("%s: %s", next, said)
		}
		if (strings.HasPrefix(next, "pawl resume") || strings.HasPrefix(next, "pawl run ")) && c.completed(code) {
			c.ended = true
			return nil
		}
		if seen[next+complaint(said)]++; seen[next+complaint(said)] > 3 && code != codeHeld {
			break
		}
		if next = c.heeds(next, said, code); next == "" {
			break
		}
	}
	if len(c.stops) == 0 || c.stops[len(c.stops)-1].kind != "stuck" {
		c.stop("stuck", "", c.lastSaid, "")
	}
	return nil
}

// completed reports whether the run has come to its end, by the exit code of resume and by what status says.
func (c *trial) completed(code int) bool {
	if code != 0 && code != codeNothing {
		return false
	}
	said, code := c.pawl("status", "--json")
	var st status
	return code == 0 && json.Unmarshal([]byte(said), &st) == nil && st.Status == pawl.StatusCompleted
}

// codeHeld is the exit code if another pawl holds the project.
const codeHeld = 6

func ctxEnded(code int) bool { return code == -1 }

// types runs a line as a shell would, with pawl first in its PATH.
func (c *trial) types(line string) (said string, code int) {
	if strings.HasPrefix(line, "pawl resume") {
		c.tally.resumes.Add(1)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", line)
	cmd.Dir, cmd.Env = c.project(), c.environment()
	cmd.Env[0] = "PATH=" + c.torture.dir + ":" + os.Getenv("PATH")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	code = -1
	if cmd.ProcessState != nil && ctx.Err() == nil {
		code = cmd.ProcessState.ExitCode()
	}
	if err != nil && cmd.ProcessState == nil {
		out.WriteString(err.Error())
	}
	c.tell("$ %s\n%sexit %d\n", line, out.String(), code)
	c.lastSaid = complaint(out.String())
	if strings.HasSuffix(line, "--accept --json") {
		c.accepts(out.String())
	}
	return out.String(), code
}

// complaint returns the first line of the message with which pawl stopped.
func complaint(said string) string {
	for line := range strings.Lines(said) {
		text, ok := strings.CutPrefix(line, "pawl: ")
		if ok && !strings.HasPrefix(text, "hint: ") && !strings.HasPrefix(text, "note: ") {
			return strings.TrimSpace(strings.TrimPrefix(text, "error: "))
		}
	}
	return ""
}

// hint returns the last command that pawl hints at.
func hint(said string) string {
	found := ""
	for line := range strings.Lines(said) {
		if text, ok := strings.CutPrefix(line, "pawl: hint: "); ok {
			found = strings.TrimSpace(text)
		}
	}
	return found
}

func (c *trial) stop(kind, work, said, did string) {
	c.stops = append(c.stops, stop{kind: kind, work: work, said: said, did: did})
}

// heeds returns what is to be typed next; empty when nothing helps.
func (c *trial) heeds(typed, said string, code int) string {
	hinted := hint(said)
	switch {
	case code == codeAtGate && (strings.HasPrefix(typed, "pawl resume") || strings.HasPrefix(typed, "pawl run")):
		return c.answers()
	case code == codeHeld:
		time.Sleep(20 * time.Millisecond)
		return typed
	case c.mends(said):
		return typed
	case code == 0 && !strings.HasPrefix(typed, "pawl recover"), strings.HasSuffix(typed, " --accept --json"):
		return "pawl resume"
	case strings.HasPrefix(hinted, "pawl recover") && strings.HasSuffix(hinted, "--accept"):
		c.stop("recover", "", c.because, hinted)
		return hinted + " --json"
	case strings.Contains(said, "resuming would rerun finished steps"):
		c.stop("rerun", "", complaint(said), typed+" --yes")
		return typed + " --yes"
	case strings.HasSuffix(hinted, "--yes"):
		c.stop("unsafe", "", complaint(said), hinted)
	case strings.HasPrefix(hinted, "pawl recover"):
		c.because = complaint(said)
		return strings.ReplaceAll(hinted, "FILE", "plan.yaml")
	case hinted == "pawl runs" && typed == "pawl resume": // there is none: the last resort
		c.stop("anew", "", complaint(said), "pawl run plan.yaml")
		return "pawl run plan.yaml"
	case hinted != "" && hinted != typed && !strings.HasPrefix(hinted, "git "):
		c.stop("other", "", complaint(said), hinted)
	default:
		return ""
	}
	return hinted
}

// mends puts a file of the person's own back that was damaged, when pawl names it.
func (c *trial) mends(said string) bool {
	for _, name := range []string{"plan.yaml", filepath.Join(pawlFolder, "config.yaml")} {
		path := c.project(name)
		now, err := os.ReadFile(path)
		if err != nil || !strings.Contains(complaint(said), path+":") || string(now) == c.own[name] {
			continue
		}
		if err := os.WriteFile(path, []byte(c.own[name]), 0o600); err != nil {
			return false
		}
		c.atLast[name] = c.own[name]
		c.stop("mend", "", complaint(said), "put "+name+" back")
		return true
	}
	return false
}

// answers answers every open gate by the first command that pawl offers.
func (c *trial) answers() string {
	said, code := c.pawl("gates", "--json")
	var gates []struct {
		Step     pawl.StepID  `json:"step"`
		Item     pawl.ItemID  `json:"item"`
		Purpose  pawl.Purpose `json:"purpose"`
		Ask      string       `json:"ask"`
		Expect   string       `json:"expect"`
		Commands []string     `json:"commands"`
	}
	if err := json.Unmarshal([]byte(said), &gates); code != 0 || err != nil {
		c.stop("stuck", "", errors.Join(fmt.Errorf("gates: exit code %d: %s", code, said), err).Error(), "")
		return ""
	}
	for _, g := range gates {
		kind := "gate"
		switch {
		case g.Purpose == pawl.ForRepeat:
			kind = "repeat"
		case g.Purpose == pawl.ForPlan && strings.Contains(g.Expect, "rerun"): // the gate says what reruns
			kind = "rerun"
		}
		command := g.Commands[0]
		if strings.HasPrefix(command, "pawl approve ") {
			command += " --yes" // there is no terminal to ask on
		}
		c.stop(kind, pawl.AttemptRef{Step: g.Step, Item: g.Item}.Name(), g.Ask+" ("+g.Expect+")", command)
		c.types(command)
	}
	return "pawl resume"
}
