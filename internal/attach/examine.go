package attach

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/version"
)

// Examine reports for each agent that is attached here, or seems to be, whether its hooks will run. It changes nothing.
func Examine(setup Setup, now time.Time) []pawl.Finding {
	var findings []pawl.Finding
	for _, a := range agents {
		var scopes []Scope
		for _, scope := range []Scope{Project, User} {
			if scope == Project && setup.Root == "" {
				continue
			}
			e := &examination{agent: a, scope: scope, setup: setup}
			if e.check() {
				scopes = append(scopes, scope)
				if scope == User || setup.Main == nil || !a.hooksInMain() {
					findings = append(findings, e.findings...)
				}
			}
		}
		if setup.Main != nil {
			findings = append(findings, examineWorktree(a, setup, slices.Contains(scopes, Project), slices.Contains(scopes, User))...)
		}
		if len(scopes) > 1 {
			findings = append(findings, pawl.Finding{
				Level: pawl.Warn,
				What:  a.name + " is attached with both scopes: every hook runs twice",
				Hint:  "pawl detach " + a.name + " --scope user",
			})
		}
	}
	return append(findings, hookLog(setup, now)...)
}

// examination is the check of one agent in one scope.
type examination struct {
	agent    agent
	scope    Scope
	setup    Setup
	findings []pawl.Finding

	elsewhere bool // the setup is that of another folder than the user's

	hooksIn  string // the file of its hooks, or its plugin
	programs []string
	commands []string // as users type them
	trusts   []trust
}

func (e *examination) report(level pawl.Level, where, hint, format string, args ...any) {
	f := pawl.Finding{Level: level, What: e.agent.name + ": " + fmt.Sprintf(format, args...), Hint: hint}
	switch {
	case where != "" && e.elsewhere:
		f.Where = where
	case where != "":
		f.Where = e.setup.shown(where)
	}
	e.findings = append(e.findings, f)
}

// attachCommand is the command that attaches the agent attachCommand.
func (e *examination) attachCommand() string {
	if e.elsewhere {
		return e.setup.command("attach", e.agent)
	}
	return fmt.Sprintf("pawl attach %s --scope %s", e.agent.name, e.scope)
}

// check checks the agent, and reports whether there is any trace of pawl.
func (e *examination) check() bool {
	_, recorded, err := readRecord(e.setup.recordFile(e.scope, e.agent.name))
	if err != nil {
		e.report(pawl.Bad, "", pawl.HintOf(err), "%v", err)
	}
	trace := recorded != nil || err != nil
	if _, old := e.setup.oldRecord(e.agent); e.scope == Project && old {
		trace = true
	}
	for _, t := range e.agent.targets(e.setup, e.scope) {
		trace = e.file(t) || trace
	}
	if !trace {
		return false
	}
	e.program()
	if e.hooksIn != "" {
		e.disabled()
		e.trusted()
	}
	if len(e.findings) == 0 {
		e.findings = []pawl.Finding{{Level: pawl.OK, What: fmt.Sprintf("%s is attached, scope %s", e.agent.name, e.scope), Evidence: strings.Join(append(e.programs, e.commands...), ", ")}}
	}
	return true
}

// file checks one of the agent's files, and reports whether it has entries of pawl.
func (e *examination) file(t target) bool {
	file, err := readSettings(t.path)
	var seen presence
	if err == nil {
		seen, err = t.inspect(file.data)
	}
	name, _ := t.command()
	if name != "" && err == nil && !seen.any {
		return false // a command that was not installed, or one of somebody else
	}
	if name != "" && seen.complete {
		e.commands = append(e.commands, name)
	}
	switch {
	case err != nil && pawl.KindOf(err) == pawl.KindUsage:
		e.report(pawl.Bad, "", e.attachCommand(), "%v", err)
	case err != nil:
		e.report(pawl.Bad, "", fmt.Sprintf("fix %s, then: %s", e.setup.shown(t.path), e.attachCommand()), "%v", located(e.setup.shown(t.path), err))
	case file.data == nil:
		e.report(pawl.Bad, t.path, e.attachCommand(), "the file is missing")
	case !seen.any:
		e.report(pawl.Bad, t.path, e.attachCommand(), "it has no entry of pawl")
	case len(seen.missing) > 0:
		e.report(pawl.Bad, t.path, e.attachCommand(), "missing: %s", strings.Join(seen.missing, ", "))
	case !seen.complete && !slices.ContainsFunc(seen.programs, func(program string) bool { return program != e.setup.hookProgram() }):
		e.report(pawl.Warn, t.path, e.attachCommand(), "its entries differ from those that this version of pawl writes")
	}
	if len(seen.programs) > 0 {
		e.hooksIn = file.path
	}
	for _, program := range seen.programs {
		if !slices.Contains(e.programs, program) {
			e.programs = append(e.programs, program)
		}
	}
	e.trusts = append(e.trusts, seen.trusts...)
	return seen.any
}

// program checks the programs that the hooks start.
func (e *examination) program() {
	for _, path := range e.programs {
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			e.report(pawl.Bad, e.hooksIn, e.attachCommand(), "its hooks start %s, which does not exist", path)
		case err != nil:
			e.report(pawl.Bad, e.hooksIn, e.attachCommand(), "its hooks start %s: %v", path, err)
		case !info.Mode().IsRegular() || info.Mode()&0o111 == 0:
			e.report(pawl.Bad, e.hooksIn, e.attachCommand(), "its hooks start %s, which is not executable", path)
		case !e.isUs(info):
			e.report(pawl.Warn, e.hooksIn, e.attachCommand(), "its hooks start %s, %s than this one, %s", path, compared(path), e.setup.Pawl)
		}
	}
}

func (e *examination) isUs(info fs.FileInfo) bool {
	for _, path := range []string{e.setup.Pawl, e.setup.hookProgram()} {
		if us, err := os.Stat(path); err == nil && os.SameFile(us, info) {
			return true
		}
	}
	return false
}

// compared describes another pawl by its build time, if both programs have one.
func compared(path string) string {
	other, err := version.ReadFile(path)
	us, ok := debug.ReadBuildInfo()
	if err != nil || !ok || other.Main.Path != us.Main.Path {
		return "another program"
	}
	then, now := builtFrom(other), builtFrom(us)
	switch {
	case then == "" || now == "" || then == now:
		return "another pawl"
	case then < now:
		return "an older pawl"
	}
	return "a newer pawl"
}

// builtFrom is the time of the commit that a program was built from.
func builtFrom(info *debug.BuildInfo) string {
	for _, s := range info.Settings {
		if s.Key == "vcs.time" {
			return s.Value
		}
	}
	return ""
}

// fresh is the age up to which errors in the hooks' log are reported.
const fresh = 7 * 24 * time.Hour

// hookLog reports recent errors of hooks.
func hookLog(setup Setup, now time.Time) []pawl.Finding {
	if setup.Root == "" {
		return nil
	}
	path := filepath.Join(setup.Root, ".pawl", "hook.log")
	info, err := os.Stat(path)
	if err != nil || info.Size() == 0 || now.Sub(info.ModTime()) > fresh {
		return nil
	}
	return []pawl.Finding{{
		Level:    pawl.Warn,
		What:     "hooks reported errors, last " + now.Sub(info.ModTime()).Round(time.Second).String() + " ago",
		Where:    setup.shown(path),
		Evidence: lastLine(path, info.Size()),
		Hint:     "tail '" + path + "'",
	}}
}

// lastLine returns the end of a file, up to 400 bytes of its last line.
func lastLine(path string, size int64) string {
	file, err := disk.Open(path)
	if err != nil {
		return err.Error()
	}
	defer file.Close()
	tail := make([]byte, min(size, 400))
	if _, err := file.ReadAt(tail, size-int64(len(tail))); err != nil {
		return err.Error()
	}
	text := strings.TrimSpace(string(tail))
	return strings.ToValidUTF8(text[strings.LastIndexByte(text, '\n')+1:], "?")
}
