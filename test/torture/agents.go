package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"pawl"
	"pawl/test/torture/scripted"
)

// deathsEach is how many agents die in one story before one comes to its end.
const deathsEach = 6

// A drama is one project on which agents work, one after the other, each until it dies; and what is known of their calls
// from the ledger outside.
type drama struct {
	*story
	author   *scripted.Author
	number   int
	sessions []*scripted.Session
	known    map[int]*known // by the number of the call
	ids      map[pawl.OperationID]*known
	lines    int             // of the ledger that were read
	told     int             // events of the journal that were read
	heard    strings.Builder // what was compared
	counts   *counts
}

// agents has agents die until there were enough deaths, prints the table, and fails where a verdict was wrong, an operation
// in doubt was not reported or one was invented, or too many verdicts said nothing.
func (t *torture) agents() error {
	var (
		mu    sync.Mutex
		dead  atomic.Int64
		total = newCounts()
	)
	do := func(i int) error {
		if int(dead.Load()) >= t.deaths {
			return nil
		}
		c, err := t.drama(i)
		if t.number >= 0 {
			fmt.Fprint(t.out, c.heard.String())
		}
		mu.Lock()
		defer mu.Unlock()
		total.add(c.counts)
		dead.Add(int64(c.counts.deaths))
		return err
	}
	var err error
	if t.number >= 0 {
		err = do(t.number)
	} else {
		err = t.each(t.deaths, do)
	}
	total.print(t.out)
	return errors.Join(err, total.fault())
}

// drama carries one story out: agents die, the next one of any dialect is told what is in doubt, and goes on.
func (t *torture) drama(i int) (*drama, error) {
	s := &story{torture: t, dir: filepath.Join(t.dir, fmt.Sprintf("agents-%d", i)), folder: "project", point: fmt.Sprintf("case %d", i)}
	c := &drama{story: s, number: i, known: map[int]*known{}, ids: map[pawl.OperationID]*known{}, counts: newCounts()}
	dice := t.rand("agents", i)
	c.author = &scripted.Author{Dice: dice, Root: s.project(), Git: chance(dice, 60)}
	if err := c.stage(); err != nil {
		return c, err
	}
	defer c.killAll()
	for range deathsEach {
		if err := c.act(true); err != nil {
			return c, err
		}
	}
	if err := c.act(false); err != nil {
		return c, err
	}
	return c, c.epilogue()
}

// stage makes the folders.
func (c *drama) stage() error {
	for _, folder := range []string{c.project(), c.outside()} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return err
		}
	}
	if err := c.author.Furnish(); err != nil {
		return err
	}
	return c.init()
}

// act has one agent live and, if it is to, die. Before and after its start all that is in doubt is compared with the truth.
func (c *drama) act(dies bool) error {
	if err := c.compare("before a session"); err != nil {
		return err
	}
	script, err := c.write(dies)
	if err != nil {
		return err
	}
	if _, err := c.judgements(); err != nil { // what was told to one whose hook was cut off
		return err
	}
	p, err := c.start(script)
	if err != nil {
		return err
	}
	defer p.end()
	if err := c.welcomed(p, script); err != nil {
		return err
	}
	p.goOn()
	if err := p.ended(c); err != nil {
		return err
	}
	if err := c.quiet(); err != nil {
		return err
	}
	return c.learn(script)
}

// write has the author write the next session's script.
func (c *drama) write(dies bool) (*scripted.Session, error) {
	dice := c.author.Dice
	p := scripted.Plot{N: len(c.sessions) + 1, Dialect: scripted.Dialects[dice.IntN(len(scripted.Dialects))], Source: "startup", Dies: dies}
	p.ID = fmt.Sprintf("s%d-%d", c.number, p.N)
	if last := len(c.sessions) - 1; last >= 0 && chance(dice, 25) { // the same conversation goes on
		before := c.sessions[last]
		p.ID, p.Source = before.ID, "resume"
		p.Dialect = scripted.Find(before.Dialect)
	}
	for _, k := range c.inDoubt() {
		p.Busy = append(p.Busy, k.Call)
		if k.truth == scripted.Nothing || k.truth == scripted.Something {
			p.Again = append(p.Again, k.Call)
		}
	}
	script, err := c.author.Session(p)
	if err != nil {
		return nil, err
	}
	script.Pawl, script.Ledger, script.Environ = c.torture.pawl, c.outside("ledger"), c.environment()
	script.Told = c.outside(fmt.Sprintf("told-%d", p.N))
	c.sessions = append(c.sessions, script)
	script.Calls(func(call *scripted.Call) { c.known[call.N] = &known{Call: call, session: p.N} })
	data, err := json.MarshalIndent(script, "", " ")
	if err != nil {
		return nil, err
	}
	return script, os.WriteFile(c.outside(fmt.Sprintf("script-%d.json", p.N)), data, 0o600)
}

// player is the process of an agent.
type player struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	said strings.Builder
	done bool
}

// start starts the agent, in a process group of its own.
func (c *drama) start(s *scripted.Session) (*player, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &player{cmd: exec.Command(self, scripted.Verb, c.outside(fmt.Sprintf("script-%d.json", s.N)))}
	p.cmd.Dir, p.cmd.Env, p.cmd.Stderr = c.project(), c.environment(), &p.said
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	return p, p.cmd.Start()
}

// goOn lets the agent go on after its start.
func (p *player) goOn() { fmt.Fprintln(p.in) }

// ended waits for the agent's end, and kills everything when it asks for that.
func (p *player) ended(c *drama) error {
	line, _ := p.out.ReadString('\n')
	if strings.TrimSpace(line) == scripted.AskToDie {
		c.strikeDown()
	}
	err := p.cmd.Wait()
	p.done = true
	status, _ := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if err != nil && !(status.Signaled() && status.Signal() == syscall.SIGKILL) {
		return c.wrong("the agent itself failed: %v: %s", err, p.said.String())
	}
	if err != nil {
		c.counts.deaths++
		c.tally.kills.Add(1)
	}
	return nil
}

// end ends what is left of the agent where its story broke off.
func (p *player) end() {
	if !p.done {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	}
}

// strikeDown kills every process of the story in one blow: all are stopped before the first dies.
func (c *drama) strikeDown() {
	all := c.processes()
	for _, sig := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL} {
		for _, p := range all {
			_ = syscall.Kill(p.pid, sig)
		}
	}
}

// killAll kills whatever the story has left, those that take checkpoints among them.
func (c *drama) killAll() { c.strikeDown() }

// quiet waits until no hook is at work any more: those of an agent that was killed alone go on.
func (c *drama) quiet() error {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if !slices.ContainsFunc(c.processes(), func(p proc) bool { return slices.Contains(p.args, "hook") }) {
			return nil
		}
	}
	return c.wrong("a hook does not end")
}

// welcomed compares what the agent was told at its start with the truth, while what its predecessors left may still run,
// and once more when that has ended.
func (c *drama) welcomed(p *player, s *scripted.Session) error {
	before, err := c.witness()
	if err != nil {
		return err
	}
	started, err := c.awaitStart(p)
	if err != nil {
		return err
	}
	if !started { // it goes on all the same, but waits for what still runs, as the brief would have told it
		return c.calm()
	}
	after, err := c.witness()
	if err != nil {
		return err
	}
	if err := c.judged(s, before, after); err != nil {
		return err
	}
	if len(after.alive) == 0 {
		return nil
	}
	if err := c.calm(); err != nil {
		return err
	}
	return c.compare("when all had ended")
}

// awaitStart waits until the hook of the agent's start has returned. It is false where it was cut off, or the agent died.
func (c *drama) awaitStart(p *player) (bool, error) {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		lines, err := c.ledgerLines()
		if err != nil {
			return false, err
		}
		for _, l := range lines {
			if l.Session == len(c.sessions) && l.What == scripted.Started {
				return l.Well, nil
			}
		}
		if gone(p.cmd.Process.Pid) {
			return false, nil
		}
	}
	return false, c.wrong("the agent does not start")
}

// gone reports whether a process of ours has ended, and waits to be waited for.
func gone(pid int) bool {
	stat := readProc(pid, "stat")
	return stat == "" || strings.Contains(stat, ") Z ")
}

// calm waits until nothing runs that a call has started.
func (c *drama) calm() error {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if len(c.survivors()) == 0 {
			return nil
		}
	}
	return c.wrong("what a call has started does not end")
}

// survivors returns the processes of calls, by the numbers of these.
func (c *drama) survivors() map[int][]int {
	found := map[int][]int{}
	for _, p := range c.processes() {
		call, err := strconv.Atoi(variables(fmt.Sprintf("/proc/%d/environ", p.pid))[scripted.CallVar])
		if err == nil {
			found[call] = append(found[call], p.pid)
		}
	}
	return found
}

// epilogue has one more session come and go that makes no calls: then nothing may be in doubt, and all must be sound.
func (c *drama) epilogue() error {
	if err := c.compare("before the last session"); err != nil {
		return err
	}
	for range 2 { // what the hook of one was cut off in, the next one is told
		script, err := c.last()
		if err != nil {
			return err
		}
		p, err := c.start(script)
		if err != nil {
			return err
		}
		defer p.end()
		p.goOn()
		if err := errors.Join(p.ended(c), c.quiet(), c.learn(script)); err != nil {
			return err
		}
	}
	left, err := c.reported()
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return c.wrong("the last session was told and has ended its turn, and in doubt are still %v", left)
	}
	if err := errors.Join(c.sound(), c.verify()); err != nil {
		return err
	}
	c.killAll()
	if err := c.alone(nil); err != nil {
		return err
	}
	return c.remove()
}

// last is the script of a session that only comes and goes.
func (c *drama) last() (*scripted.Session, error) {
	s := &scripted.Session{
		N: len(c.sessions) + 1, Dialect: scripted.Dialects[c.author.Dice.IntN(len(scripted.Dialects))].Name, Source: "startup", Root: c.project(),
		Pawl: c.torture.pawl, Ledger: c.outside("ledger"), Environ: c.environment(), Turns: []scripted.Turn{{Prompt: "Is all well?"}},
	}
	s.ID, s.Told = fmt.Sprintf("s%d-%d", c.number, s.N), c.outside(fmt.Sprintf("told-%d", s.N))
	c.sessions = append(c.sessions, s)
	data, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return nil, err
	}
	return s, os.WriteFile(c.outside(fmt.Sprintf("script-%d.json", s.N)), data, 0o600)
}

// sound checks that there is one run, but for those whose making was cut off, and that hooks had nothing to complain of but
// what we did to them.
func (c *drama) sound() error {
	runs, err := filepath.Glob(c.project(pawlFolder, "runs", "*", "journal.jsonl"))
	if err != nil {
		return err
	}
	runs = slices.DeleteFunc(runs, func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && info.Size() == 0
	})
	if len(runs) != 1 {
		return c.wrong("there are %d runs: %v", len(runs), runs)
	}
	log, err := os.ReadFile(c.project(pawlFolder, "hook.log"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for line := range strings.Lines(string(log)) {
		if !strings.Contains(line, "read the payload") && !strings.Contains(line, "broken pipe") {
			return c.wrong("a hook complains: %s", line)
		}
	}
	return err
}

// inDoubt returns the calls that are in doubt, or may be, in the order in which they were made.
func (c *drama) inDoubt() []*known {
	var all []*known
	for _, k := range c.known {
		if k.status() == yes || k.status() == maybe {
			all = append(all, k)
		}
	}
	slices.SortFunc(all, func(a, b *known) int { return cmp.Compare(a.N, b.N) })
	return all
}
