package main

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// traced are the system calls that change files or make them durable, as arguments of strace. Of those that platter does not
// understand it says so, if they touch the story.
const traced = "?open,openat,?openat2,?creat,write,pwrite64,writev,pwritev,?pwritev2,fsync,fdatasync,syncfs,sync,sync_file_range," +
	"?rename,?renameat,renameat2,?unlink,unlinkat,?rmdir,ftruncate,truncate,fallocate,?mkdir,mkdirat,?symlink,symlinkat," +
	"?link,linkat,copy_file_range,sendfile,splice"

// straceArgs are what a recording needs: all threads and processes, the path of each descriptor, and every byte.
func straceArgs(log string) []string {
	return []string{"-f", "-qq", "-y", "-s", "4194304", "-e", "signal=none", "-e", "trace=" + traced, "-o", log}
}

// call is a system call that has returned.
type call struct {
	name       string
	args       []string // as strace writes them
	result     int64
	start, end int   // lines of the trace: it was made before it began to be written there, and had returned at the end
	node       *node // what its first argument, a descriptor, stood for when it was made
}

// opening is a call that has not returned yet.
type opening struct {
	text  string
	start int
	node  *node
}

var (
	linePattern    = regexp.MustCompile(`^(\d+) +(.*)$`)
	resumedPattern = regexp.MustCompile(`^<\.\.\. \w+ resumed>(.*)$`)
	callPattern    = regexp.MustCompile(`^(\w+)\((.*)\)\s+= (-?\d+|\?)`)
	cutPattern     = regexp.MustCompile(`^(\w+)\((.*?)\)?(?:\s+= \?.*)?$`) // a call whose process died in it
)

const unfinished = " <unfinished ...>"

// replay reads a trace onto a platter, from line number first on, and returns the number of its last line.
func replay(p *platter, trace string, first int) (last int, err error) {
	open := map[string]opening{} // by process
	last = first
	for line := range strings.Lines(trace) {
		last++
		m := linePattern.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			return last, fmt.Errorf("trace line %d: %.80q", last, line)
		}
		pid, text := m[1], m[2]
		o := opening{text: text, start: last}
		if r := resumedPattern.FindStringSubmatch(text); r != nil {
			o = open[pid]
			o.text += r[1]
		} else {
			o.node = p.described(text)
		}
		var c *call
		if before, cut := strings.CutSuffix(text, unfinished); cut {
			o.text = before
		} else if c = returned(o, last); c == nil && !strings.Contains(o.text, "= ?") {
			return last, fmt.Errorf("trace line %d: no call: %.200q", last, o.text)
		}
		open[pid] = o
		if c == nil {
			continue
		}
		delete(open, pid)
		if c.result < 0 {
			continue
		}
		if err := p.apply(c); err != nil {
			return last, fmt.Errorf("trace line %d: %.200q: %w", last, o.text, err)
		}
	}
	return last, p.cutOff(slices.Collect(maps.Values(open)), last)
}

// returned reads a call that has returned; nil where it has not.
func returned(o opening, end int) *call {
	m := callPattern.FindStringSubmatch(o.text)
	if m == nil {
		return nil
	}
	result, err := strconv.ParseInt(m[3], 10, 64)
	if err != nil {
		return nil
	}
	return &call{name: m[1], args: arguments(m[2]), result: result, start: o.start, end: end, node: o.node}
}

// cutOff applies those of the calls in which a process died that were carried out all the same, as the folder shows.
func (p *platter) cutOff(open []opening, end int) error {
	slices.SortFunc(open, func(a, b opening) int { return a.start - b.start })
	for _, o := range open {
		m := cutPattern.FindStringSubmatch(o.text)
		if m == nil {
			return fmt.Errorf("no call: %.200q", o.text)
		}
		c := &call{name: m[1], args: arguments(strings.TrimSuffix(m[2], ", ")), start: o.start, end: end, node: o.node}
		happened, err := p.happened(c)
		if err == nil && happened {
			err = p.apply(c)
		}
		if err != nil {
			return fmt.Errorf("%.200q: %w", o.text, err)
		}
	}
	return nil
}

// happened finds out from the folder whether a call was carried out whose process died in it.
func (p *platter) happened(c *call) (bool, error) {
	switch c.name {
	case "write", "pwrite64":
		data, err := unquote(c.args[1])
		if err != nil || c.node == nil {
			return false, err
		}
		c.result = int64(len(data))
		path, _ := descriptor(c.args[0])
		info, err := os.Stat(path)
		return err == nil && info.Size() > int64(len(c.node.content)), nil
	case "rename", "renameat", "renameat2", "unlink", "unlinkat", "rmdir":
		path, _, err := p.path(c, 0)
		_, gone := os.Lstat(path)
		return gone != nil, err
	case "open", "openat", "openat2", "mkdir", "mkdirat":
		path, _, err := p.path(c, 0)
		_, gone := os.Lstat(path)
		return gone == nil, err
	}
	return false, nil
}

// described returns the node of the descriptor that a call's first argument is.
func (p *platter) described(text string) *node {
	_, args, ok := strings.Cut(text, "(")
	if !ok || args == "" || args[0] < '0' || args[0] > '9' {
		return nil
	}
	path, ok := descriptor(arguments(args)[0])
	if !ok {
		return nil
	}
	_, _, n := p.find(path)
	return n
}

// arguments splits at the commas between arguments, not at those in strings, paths and structures.
func arguments(text string) []string {
	var args []string
	depth, from, quoted := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case strings.IndexByte("<[{(", c) >= 0:
			depth++
		case strings.IndexByte(">]})", c) >= 0:
			depth--
		case c == ',' && depth == 0:
			args = append(args, strings.TrimSpace(text[from:i]))
			from = i + 1
		}
	}
	return append(args, strings.TrimSpace(text[from:]))
}

// descriptor returns the path that strace writes behind a descriptor, 3</path>. A file that has no name any more has none.
func descriptor(arg string) (path string, ok bool) {
	_, rest, _ := strings.Cut(arg, "<")
	path, rest, ok = strings.Cut(rest, ">")
	if !ok || strings.HasPrefix(rest, "(deleted)") || strings.HasSuffix(path, " (deleted)") || !strings.HasPrefix(path, "/") {
		return "", false
	}
	return path, true
}

// unquote returns the bytes of a string argument.
func unquote(arg string) ([]byte, error) {
	if len(arg) < 2 || arg[0] != '"' || arg[len(arg)-1] != '"' {
		return nil, fmt.Errorf("not a whole string: %.40q", arg)
	}
	arg = arg[1 : len(arg)-1]
	out := make([]byte, 0, len(arg))
	for i := 0; i < len(arg); i++ {
		if arg[i] != '\\' {
			out = append(out, arg[i])
			continue
		}
		i++
		if at := strings.IndexByte(`ntvfr"\`, arg[i]); at >= 0 {
			out = append(out, "\n\t\v\f\r\"\\"[at])
			continue
		}
		digits := 0 // up to three octal ones
		for digits < 3 && i+digits < len(arg) && arg[i+digits] >= '0' && arg[i+digits] <= '7' {
			digits++
		}
		b, err := strconv.ParseUint(arg[i:i+digits], 8, 8)
		if err != nil {
			return nil, fmt.Errorf("escape in %.40q: %w", arg[i:], err)
		}
		out = append(out, byte(b))
		i += digits - 1
	}
	return out, nil
}
