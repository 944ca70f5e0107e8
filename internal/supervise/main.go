package supervise

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/outputs"
	"pawl/internal/supervise/process"
	"pawl/internal/watchdog"
)

// How long things take where the job does not say.
const (
	defaultBeat          = 5 * time.Minute
	defaultInterruptWait = 5 * time.Second
	defaultTerminateWait = 3 * time.Second
	defaultCheckTimeout  = 10 * time.Minute
)

// supervisor carries out one job.
type supervisor struct {
	dir     string
	job     pawl.Job
	begun   pawl.Begun
	tree    tree
	asked   chan os.Signal // SIGTERM: look at abort.json at once
	events  *tail
	beatDue time.Time

	record   disk.File // begun.json
	recorded int64     // its size

	started time.Time     // with its monotonic reading
	asleep  time.Duration // the system's time asleep at the start
	exit    pawl.Exit
}

// Main is the supervisor's process. It expects the attempt's lock as descriptor 3, does the job in dir, and returns when
// the exit record is durable and nothing of the child is left; the process must end then. An error means that nothing
// was started, or that the attempt's folder is gone.
func Main(dir string) error {
	runtime.LockOSThread() // never unlocked: the child dies with the thread that started it (golang/go#27505)
	if err := takeLock(dir); err != nil {
		return fmt.Errorf("supervise %s: %w", dir, err)
	}
	s := &supervisor{dir: dir, started: time.Now(), asleep: process.Asleep()}
	s.listen()
	if err := s.begin(); err != nil {
		return fmt.Errorf("supervise %s: %w", dir, err)
	}
	s.tree.open()
	s.work()
	s.tree.remove() // before the exit record: behind that nobody looks for it
	if err := s.keep(); err != nil {
		s.exit.Reason, s.exit.Why = pawl.ReasonError, err.Error()
	}
	return s.finish()
}

// takeLock makes sure that descriptor 3 is the attempt's lock, and that no child gets it.
func takeLock(dir string) error {
	syscall.CloseOnExec(lockFD)
	var ours, named unix.Stat_t
	if err := unix.Fstat(lockFD, &ours); err != nil {
		return errors.New("without a lock: only an engine starts supervisors")
	}
	if err := unix.Stat(filepath.Join(dir, pawl.LockFile), &named); err != nil {
		return err
	}
	if ours.Ino != named.Ino || ours.Dev != named.Dev {
		return errors.New("without a lock: only an engine starts supervisors")
	}
	return unix.Flock(lockFD, unix.LOCK_EX|unix.LOCK_NB)
}

// listen takes up the signals that would end us. They are caught and not ignored, since a child inherits what is ignored.
func (s *supervisor) listen() {
	unheeded := make(chan os.Signal, 1)
	signal.Notify(unheeded, syscall.SIGINT, syscall.SIGHUP)
	s.asked = make(chan os.Signal, 1)
	signal.Notify(s.asked, syscall.SIGTERM)
	s.tree.children = make(chan os.Signal, 1)
	signal.Notify(s.tree.children, syscall.SIGCHLD)
}

// begin reads the job, prepares the scope of its processes and makes begun.json durable.
func (s *supervisor) begin() error {
	job, err := readRecord[pawl.Job](filepath.Join(s.dir, pawl.JobFile))
	if err != nil {
		return err
	}
	if job == nil {
		return errors.New("no job")
	}
	s.job = withDefaults(*job)
	s.tree.namespace = s.job.PIDNamespace
	s.events = &tail{path: filepath.Join(s.dir, pawl.EventsFile)}
	self, err := process.Identify(os.Getpid())
	if err != nil {
		return err
	}
	s.begun = pawl.Begun{Token: s.job.Token, Supervisor: self, Started: time.Now().UTC()}
	s.begun.Scope, s.begun.Cgroup = s.tree.enclose(cgroupName(s.job.Token))
	s.exit = pawl.Exit{Token: s.job.Token, Reason: pawl.ReasonExited, Started: s.begun.Started}
	if err := s.writeBegun(); err != nil {
		return errors.Join(err, disk.Remove(filepath.Join(s.dir, pawl.BegunFile))) // it may be there whole, but not durable
	}
	return nil
}

func withDefaults(job pawl.Job) pawl.Job {
	set := func(d *pawl.Duration, value time.Duration) {
		if *d == 0 {
			*d = pawl.Duration(value)
		}
	}
	set(&job.Beat, defaultBeat)
	set(&job.InterruptWait, defaultInterruptWait)
	set(&job.TerminateWait, defaultTerminateWait)
	if job.OutputCap == 0 {
		job.OutputCap = pawl.DefaultOutputCap
	}
	job.Env = overlaid(overlaid(os.Environ(), job.Env), []string{tokenVariable(job.Token)})
	return job
}

// overlaid returns an environment with the variables of more added to it, or in place of those that it has.
func overlaid(env, more []string) []string {
	set := make(map[string]bool, len(more))
	for _, v := range more {
		name, _, _ := strings.Cut(v, "=")
		set[name] = true
	}
	env = slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return set[name]
	})
	return append(env, more...)
}

// tokenVar is the variable by which the processes of an attempt are found again.
const tokenVar = "PAWL_TOKEN"

func tokenVariable(token pawl.Token) string { return tokenVar + "=" + string(token) }

func cgroupName(token pawl.Token) string { return "pawl-" + string(token) }

// writeBegun makes begun.json durable, name and content. It is written in place: a torn one means not begun.
func (s *supervisor) writeBegun() error {
	record, err := disk.Create(filepath.Join(s.dir, pawl.BegunFile))
	if err != nil {
		return err
	}
	s.record = record
	if err := s.addBegun(); err != nil {
		return err
	}
	if err := s.record.Sync(); err != nil {
		return err
	}
	return disk.SyncFolder(s.dir)
}

// nameChild adds the record with the child's identity to begun.json. It need not be durable, and does no harm when it
// cannot be written: what matters after a restart of the system is that the attempt has begun.
func (s *supervisor) nameChild() {
	child, err := process.Identify(s.tree.leader)
	if err != nil {
		return
	}
	s.begun.Child = child
	s.begun.Scope, s.begun.Cgroup = s.tree.scope()
	s.addBegun()
}

// addBegun writes what is known of the beginning behind what stands in begun.json.
func (s *supervisor) addBegun() error {
	data, err := json.Marshal(s.begun)
	if err != nil {
		return err
	}
	n, err := s.record.WriteAt(append(data, '\n'), s.recorded)
	s.recorded += int64(n)
	return err
}

// work runs the command and, after a good end, the checks.
func (s *supervisor) work() {
	ended := ending{code: new(int)}
	if len(s.job.Command) > 0 {
		ended = s.carryOut(s.command())
	}
	s.follow()
	s.exit.Exit, s.exit.Signal = ended.code, ended.signal
	if ended.cause != nil {
		s.exit.Reason, s.exit.Why = ended.cause.Reason, ended.cause.Why
		return
	}
	if ended.code != nil && *ended.code == 0 && s.saysDone() {
		s.runChecks()
	}
}

func (s *supervisor) command() task {
	return task{
		command: s.job.Command,
		out:     filepath.Join(s.dir, pawl.OutFile),
		err:     filepath.Join(s.dir, pawl.ErrFile),
		limits: watchdog.Limits{
			Timeout: time.Duration(s.job.Timeout), Grace: time.Duration(s.job.Grace), Stall: time.Duration(s.job.Stall),
		},
		started: s.nameChild,
	}
}

// follow finds the attempt's folder where the project is now: it may have been moved while the child ran. Our descriptor
// of the lock knows.
func (s *supervisor) follow() {
	if _, err := os.Lstat(s.dir); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	lock, err := nameOf(lockFD)
	if err != nil {
		return
	}
	below, err := filepath.Rel(s.job.Root, s.dir)
	root, moved := strings.CutSuffix(filepath.Dir(lock), string(filepath.Separator)+below)
	if _, gone := os.Lstat(filepath.Join(root, below)); err != nil || !moved || gone != nil {
		return
	}
	if dir, err := filepath.Rel(s.job.Root, s.job.Dir); err == nil {
		s.job.Dir = filepath.Join(root, dir)
	}
	s.dir, s.job.Root = filepath.Join(root, below), root
	s.events.path = filepath.Join(s.dir, pawl.EventsFile)
}

// saysDone reports whether the step says that it is done, or nothing that can be read.
func (s *supervisor) saysDone() bool {
	file, err := disk.OpenRegular(filepath.Join(s.dir, pawl.ResultFile))
	if err != nil {
		return true
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxResult))
	if err != nil {
		return true
	}
	result, err := pawl.ParseResult(data)
	return err != nil || result.Status == pawl.ResultDone
}

// maxResult is how much of a result file is read, in bytes; the engine refuses a longer one.
const maxResult = 1 << 20

// keep makes durable what the exit record stands for: the step's result and, after a good end, its outputs. Else a power
// cut could leave the record and take the work. What is not there, or leads out of the project, is the engine's to judge.
func (s *supervisor) keep() error {
	err := unlessMissing(outputs.Sync(s.dir, []string{pawl.ResultFile}))
	if s.exit.Exit != nil && *s.exit.Exit == 0 && s.exit.Reason == pawl.ReasonExited && pawl.Passed(s.exit.Checks) {
		err = errors.Join(err, unlessMissing(outputs.Sync(s.job.Root, s.job.Outputs)))
	}
	return err
}

func unlessMissing(err error) error {
	var missing *outputs.MissingError
	var escape *outputs.EscapeError
	if errors.As(err, &missing) || errors.As(err, &escape) {
		return nil
	}
	return err
}

// finish writes the exit record, and does not give up while that could still succeed: the disk may be full for a while.
func (s *supervisor) finish() error {
	s.exit.Ended = time.Now().UTC()
	s.exit.Seconds = time.Since(s.started).Seconds()
	s.exit.Slept = (process.Asleep() - s.asleep).Seconds()
	s.exit.CPUSeconds = s.tree.reaped().Seconds()
	data, err := json.Marshal(s.exit)
	if err != nil {
		return err
	}
	for {
		s.follow()
		err := disk.Replace(filepath.Join(s.dir, pawl.ExitFile), data)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return err
		}
		time.Sleep(time.Second)
	}
}

// abort returns the request to end the attempt, if there is one.
func (s *supervisor) abort() *pawl.Abort {
	s.follow()
	path := filepath.Join(s.dir, pawl.AbortFile)
	if _, err := os.Stat(path); err != nil {
		return nil
	}
	abort, err := readRecord[pawl.Abort](path)
	if abort == nil {
		return &pawl.Abort{Reason: pawl.ReasonAbort, Why: fmt.Sprintf("%s cannot be read: %v", pawl.AbortFile, err)}
	}
	return abort
}

// beat writes the sign of life when it is due. Where that fails it is due again in a second.
func (s *supervisor) beat(w *watch) {
	if time.Now().Before(s.beatDue) {
		return
	}
	beat := pawl.Beat{
		Token: s.job.Token, Time: time.Now().UTC(), Uptime: process.Uptime().Seconds(),
		Slept: (process.Asleep() - s.asleep).Seconds(), OutputBytes: w.written(), Progress: w.progressed,
	}
	if !s.beatDue.IsZero() { // the first one comes at once: nothing to count yet
		cpu, members, _ := s.tree.usage()
		beat.CPUSeconds, beat.Processes = cpu.Seconds(), members
	}
	s.beatDue = time.Now().Add(time.Duration(s.job.Beat))
	data, err := json.Marshal(beat)
	if err == nil {
		err = disk.Put(filepath.Join(s.dir, pawl.BeatFile), data)
	}
	if err != nil {
		s.beatDue = time.Now().Add(time.Second)
	}
}
