// Package headlesstest plays unattended coding agents for tests: it accepts their arguments, prints their messages, stores
// sessions as they do, and fails as they do. A script controls it.
//
// The folder in FAKE_AGENT contains the file script, with a line for each start of any agent; the last line applies to all
// later starts. A line is a list of actions separated by "; ":
//
//	say TEXT            words to people
//	run COMMAND         a tool call that runs a shell command
//	todo DONE/ALL TEXT  its task list
//	want TEXT           a tool call that is denied
//	cost USD TOKENS     what the model takes for it
//	finish TEXT         a good end
//	fail TEXT           a bad one
//	limit SECONDS       its account is at its usage limit for this long; 0: unknown duration
//	full                its context is full
//	broke               it has cost what it may cost
//	die                 it is killed
//	hang                hang until a signal; creates the file hangs
//	noise               lines that are not messages, broken ones, unknown ones, and one of 10 MB
//	forget              all its sessions are gone
//
// Each start appends a line to starts.jsonl with the agent, the session and the prompt.
package headlesstest

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"pawl"
	"pawl/internal/agents"
)

// Plays reports whether Main plays an agent with this program name.
func Plays(program string) bool {
	name := pawl.AgentName(filepath.Base(program))
	return dialects[name] != nil
}

// Install puts agents into a folder as links to the test program, which calls Main for a name that it Plays.
func Install(folder, program string) error {
	for name := range dialects {
		if err := os.Symlink(program, filepath.Join(folder, string(name))); err != nil {
			return err
		}
	}
	return nil
}

// Start is a line of starts.jsonl.
type Start struct {
	Agent   pawl.AgentName `json:"agent"`
	Session string         `json:"session"`
	Resume  bool           `json:"resume"`
	Args    []string       `json:"args"`
	Prompt  string         `json:"prompt"`
	Step    string         `json:"step"`    // of PAWL_STEP
	Briefed bool           `json:"briefed"` // its prompt has the brief, according to its environment
}

// fake is one start of an agent.
type fake struct {
	Start
	dir     string
	out     io.Writer
	err     io.Writer
	used    pawl.Usage // in this process
	session savedSession
	tools   int
	dialect dialect
}

// savedSession is a session as its agent stores it.
type savedSession struct {
	Used pawl.Usage `json:"used"`
}

// Main plays the agent with the program's name and returns the exit code.
func Main(args []string) int {
	name := pawl.AgentName(filepath.Base(args[0]))
	f := &fake{dir: os.Getenv("FAKE_AGENT"), out: os.Stdout, err: os.Stderr, dialect: dialects[name](args[1:])}
	prompt, err := io.ReadAll(os.Stdin)
	if err != nil || f.dir == "" {
		fmt.Fprintln(os.Stderr, "a fake agent without a script:", err)
		return 99
	}
	session, resume := f.dialect.asked()
	f.Start = Start{Agent: name, Session: session, Resume: resume, Args: args[1:], Prompt: string(prompt), Step: os.Getenv("PAWL_STEP")}
	f.Start.Briefed = os.Getenv(agents.BriefedVar) != ""
	return f.play()
}

func (f *fake) play() int {
	number := f.log()
	if f.Resume && !f.load() {
		return f.dialect.gone(f)
	}
	if f.Session == "" {
		f.Session = f.dialect.id()
	}
	f.save()
	f.dialect.begin(f)
	for _, deed := range f.script(number) {
		if code, over := f.do(deed); over {
			return code
		}
	}
	return f.dialect.finish(f, "")
}

// log appends the start and returns the number of earlier starts.
func (f *fake) log() int {
	path := filepath.Join(f.dir, "starts.jsonl")
	before, _ := os.ReadFile(path)
	data, err := json.Marshal(f.Start)
	must(err)
	log, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	must(err)
	defer log.Close()
	_, err = log.Write(append(data, '\n'))
	must(err)
	return strings.Count(string(before), "\n")
}

func (f *fake) script(number int) []string {
	data, err := os.ReadFile(filepath.Join(f.dir, "script"))
	must(err)
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return strings.Split(lines[min(number, len(lines)-1)], "; ")
}

// do runs one action, and returns the exit code if the action ends the agent.
func (f *fake) do(deed string) (code int, over bool) {
	word, rest, _ := strings.Cut(strings.TrimSpace(deed), " ")
	switch word {
	case "say":
		f.dialect.say(f, rest)
	case "run":
		f.run(rest)
	case "todo":
		count, text, _ := strings.Cut(rest, " ")
		done, all, _ := strings.Cut(count, "/")
		f.dialect.todo(f, number(done), number(all), text)
	case "want":
		f.tools++
		f.dialect.refused(f, f.call(), rest)
	case "cost":
		f.cost(rest)
	case "noise":
		f.noise()
	case "forget":
		must(os.RemoveAll(filepath.Join(f.dir, "sessions")))
	case "hang":
		return f.hang(), true
	case "die":
		must(syscall.Kill(os.Getpid(), syscall.SIGKILL))
		select {}
	default:
		return f.end(word, rest), true
	}
	return 0, false
}

func (f *fake) end(word, rest string) int {
	switch word {
	case "finish":
		return f.dialect.finish(f, rest)
	case "limit":
		var reset time.Time
		if seconds := number(rest); seconds > 0 {
			reset = time.Now().Add(time.Duration(seconds) * time.Second)
		}
		return f.dialect.limit(f, reset)
	case "full":
		return f.dialect.full(f)
	case "broke":
		return f.dialect.broke(f)
	case "fail":
		return f.dialect.fail(f, rest)
	}
	fmt.Fprintf(f.err, "a fake agent knows no deed %q\n", word)
	return 99
}

// run runs a command in a shell, as the agent's tool does.
func (f *fake) run(command string) {
	f.tools++
	f.dialect.tool(f, f.call(), command)
	out, err := exec.Command("/bin/sh", "-c", command).CombinedOutput()
	f.dialect.result(f, f.call(), command, string(out), err == nil)
}

func (f *fake) call() string { return fmt.Sprintf("call_%d_%d", os.Getpid(), f.tools) }

func (f *fake) cost(text string) {
	usd, tokens, _ := strings.Cut(text, " ")
	dollars, err := strconv.ParseFloat(usd, 64)
	must(err)
	more := pawl.Usage{USD: dollars, Tokens: int64(number(tokens))}
	f.used, f.session.Used = f.used.Add(more), f.session.Used.Add(more)
	f.save()
	f.dialect.costs(f, more)
}

// noise prints lines that every reader must ignore.
func (f *fake) noise() {
	for _, line := range []string{
		"Warning: 256-color support not detected.", `{"type":"assistant","message":`, `{"type":42}`, `null`, `[]`, `{}`, `"text"`, "\x00\x01\xff",
		`{"type":"event.of.tomorrow","data":{"x":[1,2,{"y":null}]}}`, `{"type":"assistant","message":"no object"}`, `{"type":"result","usage":[]}`[:24],
		`{"type":"tomorrow","padding":"` + strings.Repeat("x", 10<<20) + `"}`, strings.Repeat("y", 17<<20),
	} {
		fmt.Fprintln(f.out, line)
	}
	fmt.Fprintln(f.err, "DeprecationWarning: the `punycode` module is deprecated")
}

// hang waits for a signal, and exits as the agent does.
func (f *fake) hang() int {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	name := filepath.Join(f.dir, "hangs")
	must(os.WriteFile(name+".new", []byte(strconv.Itoa(os.Getpid())), 0o600))
	must(os.Rename(name+".new", name)) // a waiting reader finds it complete
	if <-signals == os.Interrupt && f.Agent == pawl.ClaudeCode {
		return 0
	}
	return 1
}

func (f *fake) path() string {
	return filepath.Join(f.dir, "sessions", string(f.Agent)+"-"+f.Session)
}

func (f *fake) load() bool {
	data, err := os.ReadFile(f.path())
	return err == nil && json.Unmarshal(data, &f.session) == nil
}

func (f *fake) save() {
	must(os.MkdirAll(filepath.Dir(f.path()), 0o700))
	data, err := json.Marshal(f.session)
	must(err)
	must(os.WriteFile(f.path(), data, 0o600))
}

// print prints a message.
func (f *fake) print(message map[string]any) {
	data, err := json.Marshal(message)
	must(err)
	fmt.Fprintf(f.out, "%s\n", data)
}

func number(text string) int {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	must(err)
	return n
}

func uuid() string {
	var b [16]byte
	rand.Read(b[:])
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// must exits if there is an error.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
