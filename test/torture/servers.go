package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"pawl/internal/postgres/postgrestest"
	"pawl/test/torture/observed"
	"pawl/test/torture/stored"
)

// Of the part servers: two servers with one user's projects, whose runs are in one database.
const (
	serverCount   = 2
	worksAtOnce   = 8                      // projects that have a run at the same time
	longestPause  = 400 * time.Millisecond // between two kills
	longestOutage = 800 * time.Millisecond // of a server or the database
	runEndsWithin = 10 * time.Minute       // a run of six steps, however often its engine dies
	helpAfter     = time.Minute            // without an event, before a person resumes a run
	serverEnds    = time.Minute            // after SIGTERM
	lookPause     = 50 * time.Millisecond  // between two looks at a project
)

// site is what the servers share.
type site struct {
	*story
	database *postgrestest.Server
	dsn      string
	quit     chan struct{} // closed in the end, or by the first failure
	quitting sync.Once
	all      sync.WaitGroup

	mu   sync.Mutex // guards what follows
	pids [serverCount]int

	deaths  atomic.Int64
	over    atomic.Int64 // runs that have ended
	engines atomic.Int64 // that died
	helped  atomic.Int64 // how often a person resumed a run
	notes   atomic.Int64 // that were acknowledged
}

// servers kills servers, engines and Postgres at random, alone and together, while projects have runs, and compares what the database
// has in the end with what steps did and people were told.
func (t *torture) servers() (err error) {
	w := &site{story: &story{torture: t, dir: filepath.Join(t.dir, "servers")}, quit: make(chan struct{})}
	if err := os.MkdirAll(w.outside(), 0o700); err != nil {
		return err
	}
	if w.database, err = postgrestest.Start("max_connections = 200"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.tidy(err)) }()
	if w.dsn, err = w.database.Database(context.Background()); err != nil {
		return err
	}
	if err := abreast(t.parallel, t.projects, w.prepare); err != nil {
		return err
	}
	for i := range serverCount {
		log, err := os.Create(w.outside(fmt.Sprintf("server-%d.log", i)))
		if err != nil {
			return err
		}
		defer log.Close()
		w.all.Go(func() { w.serve(i, log) })
	}
	killed := make(chan error, 1)
	go func() { killed <- w.failing(w.strikes()) }()
	err = abreast(worksAtOnce, t.projects, func(i int) error {
		defer w.over.Add(1)
		return w.failing(w.work(i))
	})
	if err = errors.Join(err, <-killed, w.endServers()); err == nil {
		err = abreast(t.parallel, t.projects, w.audit)
	}
	if err == nil {
		err = w.await(goneWithin, func() bool { return len(w.processes()) == 0 }, func() string { return fmt.Sprintf("processes are left: %v", w.processes()) })
	}
	fmt.Fprintf(t.out, "%d servers, %d projects, %d kills; engines killed: %d; %d notes acknowledged; resumed by hand %d times\n",
		serverCount, t.projects, w.deaths.Load(), w.engines.Load(), w.notes.Load(), w.helped.Load())
	return err
}

// failing ends the torture if err is a failure.
func (w *site) failing(err error) error {
	if err != nil {
		w.stop()
	}
	return err
}

func (w *site) stop() { w.quitting.Do(func() { close(w.quit) }) }

func (w *site) stopped() bool {
	select {
	case <-w.quit:
		return true
	default:
		return false
	}
}

// await waits until done returns true. If that takes too long, the error says what it waited for.
func (w *site) await(limit time.Duration, done func() bool, what func() string) error {
	for end := time.Now().Add(limit); !done(); {
		if time.Now().After(end) {
			return w.wrong("not within %s: %s", limit, what())
		}
		time.Sleep(lookPause)
	}
	return nil
}

// endServers ends the servers.
func (w *site) endServers() error {
	w.stop()
	w.end(syscall.SIGTERM, 0, 1)
	ended := make(chan struct{})
	go func() { w.all.Wait(); close(ended) }()
	select {
	case <-ended:
		return nil
	case <-time.After(serverEnds):
		return w.wrong("a server does not end within %s after SIGTERM", serverEnds)
	}
}

// tidy removes the database. After a failure, it ends what runs, and keeps the database.
func (w *site) tidy(failure error) error {
	if failure == nil {
		return w.database.Remove()
	}
	w.stop()
	w.killAll()
	return errors.Join(fmt.Errorf("the database is kept in %s", w.database.Folder), w.database.Stop())
}

// in returns one of the projects as a story.
func (w *site) in(i int) *story {
	return &story{torture: w.torture, dir: w.dir, folder: fmt.Sprintf("p%04d", i)}
}

// call runs a pawl command in a project. It may be killed.
func (w *site) call(p *story, args ...string) (said string, code int) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd, out := p.command(ctx, w.torture.pawl, []string{"PAWL_POSTGRES=" + w.dsn}, args...)
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		return err.Error(), -1
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// prepare makes a project whose runs start in the database.
func (w *site) prepare(i int) error {
	p := w.in(i)
	if err := os.MkdirAll(p.project(), 0o700); err != nil {
		return err
	}
	plan, err := plans.ReadFile("servers.yaml")
	if err != nil {
		return err
	}
	if err := os.WriteFile(p.project("plan.yaml"), plan, 0o600); err != nil {
		return err
	}
	for _, args := range [][]string{{"init"}, {"store", "move", "postgres"}} {
		if said, code := w.call(p, args...); code != 0 {
			return w.wrong("%v: exit code %d: %s", args, code, said)
		}
	}
	return nil
}

// serve runs one of the servers, and starts it again whenever it ends.
func (w *site) serve(i int, log *os.File) {
	dice := w.rand("outage", i)
	for {
		cmd, _ := w.command(context.Background(), w.torture.pawl, []string{"PAWL_POSTGRES=" + w.dsn}, "serve", "--listen", "127.0.0.1:0")
		cmd.Dir, cmd.Stdout, cmd.Stderr = w.dir, nil, log
		w.mu.Lock()
		select {
		case <-w.quit:
			w.mu.Unlock()
			return
		default:
		}
		err := cmd.Start()
		if err == nil {
			w.pids[i] = cmd.Process.Pid
		}
		w.mu.Unlock()
		if err == nil {
			_ = cmd.Wait() // it was killed, or fails at once, and is started again
		}
		w.mu.Lock()
		w.pids[i] = 0
		w.mu.Unlock()
		select {
		case <-w.quit:
			return
		case <-time.After(time.Duration(dice.IntN(int(longestOutage)))):
		}
	}
}

// end signals servers.
func (w *site) end(how syscall.Signal, which ...int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, i := range which {
		if w.pids[i] != 0 {
			_ = syscall.Kill(w.pids[i], how) // it may be dead
		}
	}
}

// strikes kills until there were enough kills. It is at most a few projects ahead of those whose runs have ended, so that the kills are
// spread over all projects, however fast the machine is.
func (w *site) strikes() error {
	dice := w.rand("servers", 0)
	for n := range w.strikeCount {
		if err := w.await(runEndsWithin, func() bool {
			return w.stopped() || n <= (int(w.over.Load())+2*worksAtOnce)*w.strikeCount/w.projects
		}, func() string { return fmt.Sprintf("more runs end; %d have", w.over.Load()) }); err != nil {
			return err
		}
		select {
		case <-w.quit:
			return nil
		case <-time.After(time.Duration(dice.IntN(int(longestPause)))):
		}
		if err := w.strikeOnce(dice); err != nil {
			return err
		}
		w.deaths.Store(int64(n + 1))
		w.tally.kills.Add(1)
	}
	return nil
}

// strikeOnce kills a server, both, engines, the database, or several of them.
func (w *site) strikeOnce(dice *rand.Rand) error {
	kinds := []string{"a server", "both servers", "an engine", "an engine", "all engines", "Postgres", "Postgres and both servers", "everything but steps"}
	kind := kinds[dice.IntN(len(kinds))]
	w.tally.suffered("kill " + kind)
	switch kind {
	case "a server":
		w.end(syscall.SIGKILL, dice.IntN(serverCount))
	case "both servers", "Postgres and both servers", "everything but steps":
		w.end(syscall.SIGKILL, 0, 1)
	}
	switch kind {
	case "an engine":
		w.killEngines(dice, 1)
	case "all engines", "everything but steps":
		w.killEngines(dice, worksAtOnce*4)
	}
	switch kind {
	case "Postgres", "Postgres and both servers", "everything but steps":
		if err := w.database.Kill(); err != nil {
			return err
		}
		time.Sleep(time.Duration(dice.IntN(int(longestOutage))))
		return w.database.Up()
	}
	return nil
}

// killEngines kills at most so many of the processes of pawl that are neither servers nor supervisors: engines, and commands of people.
func (w *site) killEngines(dice *rand.Rand, most int) {
	victims := slices.DeleteFunc(w.processes(), func(p proc) bool {
		return p.role != engine || len(p.args) < 2 || filepath.Base(p.args[0]) != "pawl" || p.args[1] == "serve"
	})
	dice.Shuffle(len(victims), func(i, j int) { victims[i], victims[j] = victims[j], victims[i] })
	for _, p := range victims[:min(most, len(victims))] {
		w.killEngine(p.pid)
	}
}

// killEngine kills a process unless it has become a supervisor meanwhile: then the step would have to run again.
func (w *site) killEngine(pid int) {
	if syscall.Kill(pid, syscall.SIGSTOP) != nil {
		return
	}
	how := syscall.SIGCONT
	if p := identify(pid, variables(fmt.Sprintf("/proc/%d/environ", pid))); p.role == engine && filepath.Base(p.args[0]) == "pawl" {
		how = syscall.SIGKILL
		w.engines.Add(1)
	}
	_ = syscall.Kill(pid, how) // it is stopped, so it is there
}

// work starts a run in a project, says something to it meanwhile, and waits for its end. The projects begin as the kills go on. It ends
// early if something has failed.
func (w *site) work(i int) error {
	p := w.in(i)
	due := (i - worksAtOnce) * w.strikeCount / w.projects
	err := w.await(runEndsWithin, func() bool { return w.stopped() || int(w.deaths.Load()) >= due }, func() string {
		return fmt.Sprintf("%d kills; there were %d", due, w.deaths.Load())
	})
	if err != nil || w.stopped() {
		return err
	}
	var said string
	var code int
	err = w.await(runEndsWithin, func() bool {
		if p.journal() == nil {
			said, code = w.call(p, "run", "--background", "plan.yaml")
		}
		return w.stopped() || p.journal() != nil
	}, func() string { return fmt.Sprintf("%s: a run begins: exit code %d: %s", p.folder, code, said) })
	if err != nil || w.stopped() {
		return err
	}
	if _, code := w.call(p, "learn", note(i)); code == 0 {
		w.notes.Add(1)
		if err := os.WriteFile(w.outside("acknowledged-"+p.folder), nil, 0o600); err != nil {
			return err
		}
	}
	size, since := 0, time.Now()
	return w.await(runEndsWithin, func() bool {
		now := p.journal()
		if len(now) != size {
			size, since = len(now), time.Now()
		}
		if time.Since(since) > helpAfter {
			w.helped.Add(1)
			fmt.Fprintf(w.out, "%s is resumed by hand; the servers said: %q\n", p.folder, observed.LastSaid(w.outside("server-*.log"), p.project()+": "))
			_, _ = w.call(p, "resume", "--background") // a server may be faster
			since = time.Now()
		}
		return w.stopped() || stored.Ended(now)
	}, func() string {
		w.stop() // or it may kill the command
		said, code := w.call(p, "status")
		return fmt.Sprintf("%s: the run ends: status: exit code %d: %s", p.folder, code, said)
	})
}

func note(i int) string { return fmt.Sprintf("note %d of the torture", i) }
