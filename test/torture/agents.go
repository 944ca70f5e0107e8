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

// deathsEach is how many agents die in one story before one ends normally.
const deathsEach = 6

// A drama is one project with a sequence of agents that die, and the state of their calls according to the ledger outside of the
// project.
type drama struct {
	*story
	author   *scripted.Author
	number   int
	sessions []*scripted.Session
	known    map[int]*known // by the number of the call
	ids      map[pawl.OperationID]*known
	turns    map[pawl.SessionID]*turns
	welcome  map[int]sure                        // whether a session got its brief
	hosts    map[int]int                         // the session during which another one came and went, by the number of the latter
	live     int                                 // the session that runs while another one comes and goes; 0: none
	idle     *player                             // its process waits for another session
	lines    int                                 // lines of the ledger that were read
	read     int                                 // events of the journal that were read
	intents  map[pawl.OperationID]pawl.Operation // that were journaled
	compared strings.Builder                     // the comparisons, for -case
	counts   *counts
}

// agents kills agents until there were enough deaths, and prints the table. It fails if a verdict was wrong, an operation in doubt was
// not reported or one was invented, or too many verdicts are unknown.
func (t *torture) agents() error {
	var (
		mu    sync.Mutex
		dead  atomic.Int64
		total = newCounts()
		began = time.Now()
	)
	do := func(i int) error {
		if int(dead.Load()) >= t.deaths || t.limit > 0 && time.Since(began) > t.limit {
			return nil
		}
		c, err := t.drama(i)
		if t.number >= 0 {
			fmt.Fprint(t.out, c.compared.String())
		}
		mu.Lock()
		defer mu.Unlock()
		if err != nil && c.overloaded() {
			total.dropped++
			return c.remove()
		}
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

// overloaded reports whether a hook took longer than its time limit, which docs/agents.md names. Its event is not journaled then, and what the
// agent knows of it is wrong.
func (c *drama) overloaded() bool {
	log, err := os.ReadFile(c.project(pawlFolder, "hook.log"))
	return err == nil && strings.Contains(string(log), ": timed out after ")
}

// drama plays one story: agents die, and the next one, of any dialect, gets the brief and continues.
func (t *torture) drama(i int) (*drama, error) {
	s := &story{torture: t, dir: filepath.Join(t.dir, fmt.Sprintf("agents-%d", i)), folder: "project", point: fmt.Sprintf("case %d", i)}
	c := &drama{story: s, number: i, known: map[int]*known{}, ids: map[pawl.OperationID]*known{}, intents: map[pawl.OperationID]pawl.Operation{}, counts: newCounts()}
	c.turns, c.welcome, c.hosts = map[pawl.SessionID]*turns{}, map[int]sure{}, map[int]int{}
	dice := t.rand("agents", i)
	c.author = &scripted.Author{Dice: dice, Root: s.project(), Git: chance(dice, 60)}
	bases := scripted.Bases(c.author.Root, c.author.Git)
	for _, i := range dice.Perm(len(bases))[:2] {
		c.author.Bases = append(c.author.Bases, bases[i])
	}
	if err := c.stage(); err != nil {
		return c, err
	}
	defer c.killAll()
	for c.counts.deaths < deathsEach && len(c.sessions) < 3*deathsEach {
		if err := c.act(chance(dice, 80), nil); err != nil {
			return c, err
		}
	}
	if err := c.act(false, nil); err != nil {
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

// act runs one agent and kills it if dies is set. Before and after its start it compares all calls in doubt with the truth. A guest comes
// and goes while its host is running.
func (c *drama) act(dies bool, host *scripted.Session) error {
	if err := c.compare("before a session"); err != nil {
		return err
	}
	script, err := c.write(dies, host)
	if err != nil {
		return err
	}
	if _, err := c.judgments(); err != nil { // those of a session whose hook was killed
		return err
	}
	p, err := c.start(script, host)
	if err != nil {
		return err
	}
	defer p.end(c)
	if err := c.welcomed(p, script); err != nil {
		return err
	}
	p.resume()
	if err := p.ended(c, script); err != nil {
		return err
	}
	if err := c.quiet(); err != nil {
		return err
	}
	if err := c.learn(); err != nil || c.idle != p || script.Dialect == "claude" {
		return err
	}
	c.underway(script.N, maybe) // its end was not reported, and its process is alive
	return nil
}

// guest runs another agent while one is running.
func (c *drama) guest(host *scripted.Session) error {
	if err := c.quiet(); err != nil { // of calls concurrent with the one that waits
		return err
	}
	if err := c.learn(); err != nil {
		return err
	}
	c.live = host.N
	c.underway(host.N, yes)
	defer func() { c.live = 0; c.underway(host.N, no) }()
	return c.act(chance(c.author.Dice, 50), host)
}

// write has the author write the next session's script.
func (c *drama) write(dies bool, host *scripted.Session) (*scripted.Session, error) {
	p := c.plot(dies, host)
	for _, k := range c.inDoubt() {
		p.Busy = append(p.Busy, k.Call)
		if (k.truth == scripted.Nothing || k.truth == scripted.Something) && !k.refused && host == nil {
			p.Again = append(p.Again, k.Call)
		}
	}
	if host != nil {
		c.hosts[p.N] = host.N
		host.Calls(func(call *scripted.Call) { p.Busy = append(p.Busy, call) })
	}
	script, err := c.author.Session(p)
	if err != nil {
		return nil, err
	}
	script.Hook, script.Ledger, script.Environ = c.torture.hook, c.outside("ledger"), c.environment()
	script.Told = c.outside(fmt.Sprintf("told-%d", p.N))
	script.Stays = !dies && host == nil && !p.Hosts && chance(c.author.Dice, 50) && script.Dialect != "gemini" // it gets its brief only at a prompt
	c.sessions = append(c.sessions, script)
	script.Calls(func(call *scripted.Call) { c.known[call.N] = &known{Call: call, session: p.N} })
	data, err := json.MarshalIndent(script, "", " ")
	if err != nil {
		return nil, err
	}
	return script, os.WriteFile(c.outside(fmt.Sprintf("script-%d.json", p.N)), data, 0o600)
}

// plot decides who the next session is, and where it works.
func (c *drama) plot(dies bool, host *scripted.Session) scripted.Plot {
	dice := c.author.Dice
	p := scripted.Plot{N: len(c.sessions) + 1, Dialect: scripted.Dialects[dice.IntN(len(scripted.Dialects))], Source: "startup", Dies: dies}
	p.ID = fmt.Sprintf("s%d-%d", c.number, p.N)
	p.Hosts = host == nil && chance(dice, 12)
	switch last := len(c.sessions) - 1; {
	case host != nil:
		for p.Dialect.Name == host.Dialect {
			p.Dialect = scripted.Dialects[dice.IntN(len(scripted.Dialects))]
		}
	case c.idle != nil: // another conversation of the same process
		p.Dialect, p.Dir = scripted.Find(c.sessions[last].Dialect), c.sessions[last].Dir
		if p.Dialect.Name == "claude" {
			p.Source = "clear"
		}
		return p
	case last >= 0 && chance(dice, 25) && c.hosts[last+1] == 0: // the same conversation continues
		before := c.sessions[last]
		p.ID, p.Source, p.Dialect = before.ID, "resume", scripted.Find(before.Dialect)
	}
	p.Dir = c.author.Root
	if i := dice.IntN(4); i < len(c.author.Bases) && (c.author.Inside(c.author.Bases[i]) || p.Dialect.Name == "claude") { // the others do not report their project then
		p.Dir = c.author.Bases[i]
	}
	return p
}

// player is the process of an agent.
type player struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	said strings.Builder
	done bool

	replaced []*scripted.Session // that this process replaced by another one
}

// over records that a process has ended: the open calls of its sessions are in doubt.
func (c *drama) over(p *player) {
	for _, s := range p.replaced {
		c.underway(s.N, no)
	}
}

// underway records whether a session may still be working on its calls without an outcome.
func (c *drama) underway(session int, how sure) {
	for _, k := range c.known {
		if k.session == session {
			k.underway = how
		}
		if k.session == session && how == yes && k.Session.Parent() != "" {
			k.underway = maybe // the subagent may have ended
		}
	}
}

// start starts the agent, in a process group of its own, or another session in a process that waits for one.
func (c *drama) start(s, host *scripted.Session) (*player, error) {
	if p := c.idle; p != nil && host == nil {
		c.idle = nil
		_, err := fmt.Fprintln(p.in, c.outside(fmt.Sprintf("script-%d.json", s.N)))
		return p, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &player{cmd: exec.Command(self, scripted.Verb, c.outside(fmt.Sprintf("script-%d.json", s.N)))}
	p.cmd.Dir, p.cmd.Env, p.cmd.Stderr = s.Dir, c.environment(), &p.said
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

// resume lets the agent continue after its start.
func (p *player) resume() { fmt.Fprintln(p.in) }

// ended waits for the agent's end, and kills everything when it asks for that.
func (p *player) ended(c *drama, s *scripted.Session) error {
	for {
		line, err := p.out.ReadString('\n')
		switch strings.TrimSpace(line) {
		case scripted.AskToDie:
			c.killEverything()
		case scripted.AskForGuest:
			if err := c.guest(s); err != nil {
				return err
			}
			p.resume()
			continue
		case scripted.AskForMore:
			c.idle = p
			p.replaced = append(p.replaced, s)
			return nil
		}
		if err != nil || line != "" {
			break
		}
	}
	err := p.cmd.Wait()
	p.done = true
	c.over(p)
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

// end kills the agent if its story failed.
func (p *player) end(c *drama) {
	if !p.done && c.idle != p {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	}
}

// killEverything kills every process of the story: it stops all of them before it kills the first.
func (c *drama) killEverything() {
	all := c.processes()
	for _, sig := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL} {
		for _, p := range all {
			_ = syscall.Kill(p.pid, sig)
		}
	}
}

// killAll kills all remaining processes of the story, including those that take checkpoints.
func (c *drama) killAll() {
	c.killEverything()
	if p := c.idle; p != nil {
		c.idle = nil
		p.end(c)
		c.over(p)
	}
}

// pollPause is the pause between two looks at the process table, which are slow.
const pollPause = 5 * time.Millisecond

// quiet waits until no hook is running: hooks survive an agent that was killed alone.
func (c *drama) quiet() error {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(pollPause) {
		if !slices.ContainsFunc(c.processes(), proc.isHook) {
			return nil
		}
	}
	return c.wrong("a hook does not end")
}

// isHook reports whether a process is a hook, or the shell that is about to become one.
func (p proc) isHook() bool {
	return slices.ContainsFunc(p.args, func(arg string) bool { return arg == "hook" || strings.Contains(arg, "' hook ") })
}

// welcomed compares the agent's brief with the truth, while processes of its predecessors may still run, and again when these have
// ended.
func (c *drama) welcomed(p *player, s *scripted.Session) error {
	before, err := c.witness()
	if err != nil {
		return err
	}
	started, err := c.awaitStart(p)
	if err != nil {
		return err
	}
	if !started { // it continues without a brief
		return errors.Join(c.quiet(), c.ended(before))
	}
	after, err := c.witness()
	if err != nil {
		return err
	}
	if err := c.judged(s, before, after); err != nil {
		return err
	}
	if len(after.alive)+len(after.left) > 0 && chance(c.author.Dice, 60) {
		c.stopServices()
	}
	return c.ended(before)
}

// ended waits until no process of a call is running. It compares again if there was one: later calls may change what that left.
func (c *drama) ended(before *witness) error {
	if err := c.calm(); err != nil || len(before.alive)+len(before.left) == 0 {
		return err
	}
	return c.compare("when all had ended")
}

// awaitStart waits until the start hook has returned. It returns false if the hook was killed, or the agent died.
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

// gone reports whether a process of ours has ended, including zombies.
func gone(pid int) bool {
	stat := readProc(pid, "stat")
	return stat == "" || strings.Contains(stat, ") Z ")
}

// calm waits until no process of a call is running.
func (c *drama) calm() error {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(pollPause) {
		left := c.survivors()
		for n := range left {
			if k := c.known[n]; k != nil && (k.Serves || k.session == c.live) {
				delete(left, n)
			}
		}
		if len(left) == 0 {
			return nil
		}
	}
	return c.wrong("a process of a call does not end")
}

// survivors returns the processes of calls, by call number.
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

// stopServices kills the processes of calls that do not end by themselves.
func (c *drama) stopServices() {
	for n, pids := range c.survivors() {
		if k := c.known[n]; k == nil || !k.Serves {
			continue
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// epilogue runs one more session without calls. Afterwards nothing may be in doubt, and all checks must pass.
func (c *drama) epilogue() error {
	if err := c.compare("before the last session"); err != nil {
		return err
	}
	c.stopServices()
	for range 2 { // the first one's hook may have been killed
		script, err := c.last()
		if err != nil {
			return err
		}
		if c.idle != nil {
			c.idle.leave()
			c.over(c.idle)
			c.idle = nil
		}
		if _, err := c.judgments(); err != nil {
			return err
		}
		p, err := c.start(script, nil)
		if err != nil {
			return err
		}
		defer p.end(c)
		p.resume()
		if err := errors.Join(p.ended(c, script), c.quiet(), c.noteVerdicts(), c.learn()); err != nil {
			return err
		}
	}
	if err := c.settle(); err != nil {
		return err
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

// noteVerdicts records the verdicts at the start of a session, without a comparison with the truth.
func (c *drama) noteVerdicts() error {
	events, err := c.judgments()
	for _, e := range events {
		if k := c.ids[e.Operation]; k != nil {
			k.unsettled, k.touched = unsettled(e), e.Paths
		}
	}
	return err
}

// settle settles what is still in doubt, which may only be calls that need a check.
func (c *drama) settle() error {
	left, err := c.reported()
	if err != nil {
		return err
	}
	for _, r := range left {
		if k := c.ids[r.ID]; k != nil && !k.unsettled {
			return c.wrong("the last session got it in its brief and ended its turn, and it is still in doubt: %s", r)
		}
		if said, code := c.pawl("settle", fmt.Sprint(r.Seq)); code != 0 {
			return c.wrong("settle %d: exit code %d: %s", r.Seq, code, said)
		}
	}
	if left, err = c.reported(); err != nil || len(left) > 0 {
		return c.wrong("settled, and still in doubt: %v %v", left, err)
	}
	return nil
}

// leave ends a process that waits for another session.
func (p *player) leave() {
	p.in.Close()
	_ = p.cmd.Wait()
	p.done = true
}

// last returns the script of a session without calls.
func (c *drama) last() (*scripted.Session, error) {
	s := &scripted.Session{
		N: len(c.sessions) + 1, Dialect: scripted.Dialects[c.author.Dice.IntN(len(scripted.Dialects))].Name, Source: "startup", Root: c.project(), Dir: c.project(),
		Hook: c.torture.hook, Ledger: c.outside("ledger"), Environ: c.environment(), Turns: []scripted.Turn{{Prompt: "Is all well?"}},
	}
	s.ID, s.Told = fmt.Sprintf("s%d-%d", c.number, s.N), c.outside(fmt.Sprintf("told-%d", s.N))
	c.sessions = append(c.sessions, s)
	data, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return nil, err
	}
	return s, os.WriteFile(c.outside(fmt.Sprintf("script-%d.json", s.N)), data, 0o600)
}

// sound checks that there is one run, apart from those whose creation was interrupted, and that hooks logged no errors except those that
// the test caused.
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
