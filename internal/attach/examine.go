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
	"pawl/internal/version"
)

// Examine reports for each agent that is attached here, or seems to be, whether its hooks will run. It changes nothing.
func Examine(place Place, now time.Time) []pawl.Finding {
	var findings []pawl.Finding
	for _, a := range agents {
		var scopes []Scope
		for _, scope := range []Scope{Project, User} {
			if scope == Project && place.Root == "" {
				continue
			}
			e := &examination{agent: a, scope: scope, place: place}
			if e.look() {
				scopes = append(scopes, scope)
				findings = append(findings, e.findings...)
			}
		}
		if len(scopes) > 1 {
			findings = append(findings, pawl.Finding{
				Level: pawl.Warn,
				What:  a.name + " is attached with both scopes: every hook runs twice",
				Hint:  "pawl detach " + a.name + " --scope user",
			})
		}
	}
	return append(findings, hookLog(place, now)...)
}

// examination is the check of one agent in one scope.
type examination struct {
	agent    agent
	scope    Scope
	place    Place
	findings []pawl.Finding

	hooksIn  string // the file of its hooks, or its plugin
	programs []string
	trusts   []trust
}

func (e *examination) say(level pawl.Level, where, hint, format string, args ...any) {
	f := pawl.Finding{Level: level, What: e.agent.name + ": " + fmt.Sprintf(format, args...), Hint: hint}
	if where != "" {
		f.Where = e.place.shown(where)
	}
	e.findings = append(e.findings, f)
}

// again is the command that attaches the agent again.
func (e *examination) again() string {
	return fmt.Sprintf("pawl attach %s --scope %s", e.agent.name, e.scope)
}

// look checks the agent, and reports whether there is any trace of pawl.
func (e *examination) look() bool {
	_, recorded, err := readRecord(filepath.Join(e.place.folder(e.scope), e.agent.name+".json"))
	if err != nil {
		e.say(pawl.Bad, "", pawl.HintOf(err), "%v", err)
	}
	trace := recorded != nil || err != nil
	for _, t := range e.agent.targets(e.place, e.scope) {
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
		e.findings = []pawl.Finding{{Level: pawl.OK, What: fmt.Sprintf("%s is attached, scope %s", e.agent.name, e.scope), Evidence: strings.Join(e.programs, ", ")}}
	}
	return true
}

// file checks one of the agent's files, and reports whether it has entries of pawl.
func (e *examination) file(t target) bool {
	file, err := readSettings(t.path)
	var seen sight
	if err == nil {
		seen, err = t.look(file.data)
	}
	switch {
	case err != nil && pawl.KindOf(err) == pawl.KindUsage:
		e.say(pawl.Bad, "", e.again(), "%v", err)
	case err != nil:
		e.say(pawl.Bad, "", fmt.Sprintf("fix %s, then: %s", e.place.shown(t.path), e.again()), "%v", located(e.place.shown(t.path), err))
	case file.data == nil:
		e.say(pawl.Bad, t.path, e.again(), "the file is missing")
	case !seen.any:
		e.say(pawl.Bad, t.path, e.again(), "it has no entry of pawl")
	case len(seen.missing) > 0:
		e.say(pawl.Bad, t.path, e.again(), "missing: %s", strings.Join(seen.missing, ", "))
	case !seen.complete && !slices.ContainsFunc(seen.programs, func(program string) bool { return program != e.place.hookProgram() }):
		e.say(pawl.Warn, t.path, e.again(), "its entries differ from those that this version of pawl writes")
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
			e.say(pawl.Bad, e.hooksIn, e.again(), "its hooks start %s, which does not exist", path)
		case err != nil:
			e.say(pawl.Bad, e.hooksIn, e.again(), "its hooks start %s: %v", path, err)
		case !info.Mode().IsRegular() || info.Mode()&0o111 == 0:
			e.say(pawl.Bad, e.hooksIn, e.again(), "its hooks start %s, which is not executable", path)
		case !e.isUs(info):
			e.say(pawl.Warn, e.hooksIn, e.again(), "its hooks start %s, %s than this one, %s", path, compared(path), e.place.Pawl)
		}
	}
}

func (e *examination) isUs(info fs.FileInfo) bool {
	for _, path := range []string{e.place.Pawl, e.place.hookProgram()} {
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
func hookLog(place Place, now time.Time) []pawl.Finding {
	if place.Root == "" {
		return nil
	}
	path := filepath.Join(place.Root, ".pawl", "hook.log")
	info, err := os.Stat(path)
	if err != nil || info.Size() == 0 || now.Sub(info.ModTime()) > fresh {
		return nil
	}
	return []pawl.Finding{{
		Level:    pawl.Warn,
		What:     "hooks reported errors, last " + now.Sub(info.ModTime()).Round(time.Second).String() + " ago",
		Where:    place.shown(path),
		Evidence: lastLine(path, info.Size()),
		Hint:     "tail '" + path + "'",
	}}
}

// lastLine returns the end of a file, up to 400 bytes of its last line.
func lastLine(path string, size int64) string {
	file, err := os.Open(path)
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
