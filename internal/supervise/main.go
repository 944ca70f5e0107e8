package supervise

import (
	"crypto/ed25519"
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
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/outputs"
	"pawl/internal/supervise/process"
	"pawl/internal/watchdog"
)

// Defaults for durations that the job does not set.
const (
	defaultBeat          = 5 * time.Minute
	defaultInterruptWait = 5 * time.Second
	defaultTerminateWait = 3 * time.Second
	defaultCheckTimeout  = 10 * time.Minute
)

// supervisor runs one job.
type supervisor struct {
	dir     string
	key     ed25519.PrivateKey // signs the exit record
	job     pawl.Job
	planned []string // the variables of the job, without those of this process
	begun   pawl.Begun
	tree    tree
	environ []string       // the environment that the job's variables are added to
	sigterm chan os.Signal // SIGTERM: check abort.json now
	events  *tail
	beatDue time.Time

	begunFile disk.File // begun.json
	begunSize int64     // its size

	link *link // to the pool of the engine; nil for a supervisor of one attempt

	lockSeen   time.Time // when the engine's lock was last looked at
	attendedAt time.Time // when an engine last worked on the run

	started time.Time     // with the monotonic reading
	asleep  time.Duration // the system's time asleep at the start
	exit    pawl.Exit
	record  []byte // exit.json as written

	delivered *pawl.Exit // of a job that a worker carries out: how it ended there
}

// Main runs a supervisor with the arguments of its command: the folder of an attempt, or SlotFlag and the folder above attempts. It expects
// the attempt's lock, or the link to a pool, as descriptor 3. When it returns, the exit records are durable or journaled, and no process of a child is left;
// the caller must then exit. An error means that nothing was started, or that the attempt's folder no longer exists.
func Main(args []string) error {
	runtime.LockOSThread() // never unlocked: the child dies with the thread that started it (golang/go#27505)
	runtime.GOMAXPROCS(2)  // with one, the runtime wakes another thread during each longer system call
	caught := catchSignals()
	if len(args) == 2 && args[0] == SlotFlag {
		return serveSlot(caught)
	}
	dir := args[len(args)-1]
	if err := checkLock(dir); err != nil {
		return fmt.Errorf("supervise %s: %w", dir, err)
	}
	key, err := readKey()
	if err != nil {
		return fmt.Errorf("supervise %s: %w", dir, err)
	}
	job, err := readRecord[pawl.Job](filepath.Join(dir, pawl.JobFile))
	if err == nil && job == nil {
		err = errors.New("missing or truncated job.json")
	}
	if err != nil {
		return fmt.Errorf("supervise %s: %w", dir, err)
	}
	return newSupervisor(dir, key, os.Environ(), caught).supervise(job)
}

func newSupervisor(dir string, key ed25519.PrivateKey, environ []string, caught signals) *supervisor {
	now := time.Now()
	s := &supervisor{dir: dir, key: key, environ: environ, started: now, attendedAt: now, asleep: process.Asleep(), sigterm: caught.terminate}
	s.tree.children, s.tree.before = caught.children, childrenTime()
	return s
}

// supervise executes the job and writes the exit record.
func (s *supervisor) supervise(job *pawl.Job) error {
	if err := s.begin(job); err != nil {
		return fmt.Errorf("supervise %s: %w", s.dir, err)
	}
	if !s.job.PIDNamespace { // with one, the child cannot name this process, and the system denies the maps that it needs
		protectMemory()
	}
	s.tree.open()
	s.work()
	s.tree.remove() // before the exit record: afterwards pawl no longer looks for the group
	return s.finish()
}

// checkLock verifies that descriptor 3 is the attempt's lock, and keeps it from being inherited.
func checkLock(dir string) error {
	syscall.CloseOnExec(lockFD)
	var ours unix.Stat_t
	if err := unix.Fstat(lockFD, &ours); err != nil {
		return errors.New("descriptor 3 is not the attempt's lock: only pawl itself starts supervisors")
	}
	lock, err := disk.Open(filepath.Join(dir, pawl.LockFile))
	if err != nil {
		return err
	}
	defer lock.Close()
	if !disk.IsOpenAs(lock, ours) {
		return errors.New("descriptor 3 is not the attempt's lock: only pawl itself starts supervisors")
	}
	return unix.Flock(lockFD, unix.LOCK_EX|unix.LOCK_NB)
}

// signals are the signals that a supervisor reacts to.
type signals struct{ terminate, children chan os.Signal }

// catchSignals catches the signals that would end the supervisor. It does not ignore them, because a child inherits
// ignored signals. SIGCHLD is caught when it is needed; see tree.hear.
func catchSignals() signals {
	caught := signals{terminate: make(chan os.Signal, 1), children: make(chan os.Signal, 1)}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGHUP)
	signal.Notify(caught.terminate, syscall.SIGTERM)
	return caught
}

// ownIdentity is that of this process.
var ownIdentity = sync.OnceValues(func() (pawl.Process, error) { return process.Identify(os.Getpid()) })

// begin chooses the scope of the child's processes and writes begun.json.
func (s *supervisor) begin(job *pawl.Job) error {
	s.planned = job.Env
	s.job = withDefaults(*job, s.environ)
	s.tree.namespace = s.job.PIDNamespace
	s.events = &tail{path: filepath.Join(s.dir, pawl.EventsFile)}
	self, err := ownIdentity()
	if err != nil {
		return err
	}
	s.begun = pawl.Begun{Token: s.job.Token, Supervisor: self, Started: time.Now().UTC()}
	s.begun.Scope, s.begun.Cgroup = s.tree.prepareScope(cgroupName(s.job.Token))
	s.exit = pawl.Exit{Token: s.job.Token, Reason: pawl.ReasonExited, Started: s.begun.Started, Accept: pawl.AcceptOf(&pawl.Step{Accept: job.Checks, Shell: job.Shell})}
	if err := s.writeBegun(); err != nil {
		return errors.Join(err, disk.Remove(filepath.Join(s.dir, pawl.BegunFile))) // complete perhaps, but not durable
	}
	return nil
}

func withDefaults(job pawl.Job, environ []string) pawl.Job {
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
	job.Env = overlay(overlay(environ, job.Env), []string{tokenVariable(job.Token)})
	return job
}

// overlay returns env with the variables of more added or replaced.
func overlay(env, more []string) []string {
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

// tokenVar is the variable that marks the processes of an attempt.
const tokenVar = "PAWL_TOKEN"

func tokenVariable(token pawl.Token) string { return tokenVar + "=" + string(token) }

// GroupPrefix begins the name of an attempt's control group; the attempt's token follows.
const GroupPrefix = "pawl-"

func cgroupName(token pawl.Token) string { return GroupPrefix + string(token) }

// writeBegun makes begun.json durable, unless an engine is there: its journal has the boot of the system. It writes in place: a torn record
// means that nothing was started.
func (s *supervisor) writeBegun() error {
	record, err := disk.Create(filepath.Join(s.dir, pawl.BegunFile))
	if err != nil {
		return err
	}
	s.begunFile = record
	if err := s.appendBegun(); err != nil || s.job.Passing || s.link.attached() {
		return err
	}
	if err := s.begunFile.Sync(); err != nil {
		return err
	}
	return disk.SyncFolder(s.dir)
}

// recordChild appends a record with the child's identity to begun.json, without sync, and ignores errors: after a
// restart of the system only the first record matters.
func (s *supervisor) recordChild() {
	child, err := process.Identify(s.tree.leader)
	if err != nil {
		return
	}
	s.begun.Child = child
	s.begun.Scope, s.begun.Cgroup = s.tree.scope()
	s.appendBegun()
}

// appendBegun appends the current record to begun.json.
func (s *supervisor) appendBegun() error {
	data, err := json.Marshal(s.begun)
	if err != nil {
		return err
	}
	n, err := s.begunFile.WriteAt(append(data, '\n'), s.begunSize)
	s.begunSize += int64(n)
	return err
}

// work runs the command and, if it succeeds, the checks.
func (s *supervisor) work() {
	if s.job.Away != nil {
		if s.runCourier() && s.exit.Reason == pawl.ReasonExited && s.exit.Exit != nil && *s.exit.Exit == 0 && s.reportedDone() {
			s.runChecks()
		}
		return
	}
	ended := ending{code: new(int)}
	if len(s.job.Command) > 0 || s.job.Script != "" {
		ended = s.runTask(s.command())
	}
	s.followMove()
	s.exit.Exit, s.exit.Signal = ended.code, ended.signal
	if ended.cause != nil {
		s.exit.Reason, s.exit.Why = ended.cause.Reason, ended.cause.Why
		return
	}
	if ended.code != nil && *ended.code == 0 && s.reportedDone() {
		s.runChecks()
	}
}

func (s *supervisor) command() task {
	if s.job.Away != nil { // the worker executes the script, with the limits
		return task{command: s.job.Command, out: filepath.Join(s.dir, pawl.OutFile), err: filepath.Join(s.dir, pawl.ErrFile), started: s.recordChild}
	}
	return task{
		command: s.job.Command, script: s.job.Script, file: pawl.ScriptFile,
		out: filepath.Join(s.dir, pawl.OutFile),
		err: filepath.Join(s.dir, pawl.ErrFile),
		limits: watchdog.Limits{
			Timeout: time.Duration(s.job.Timeout), Grace: time.Duration(s.job.Grace), Stall: time.Duration(s.job.Stall),
		},
		started: s.recordChild,
	}
}

// followMove updates the paths if the project was moved while the child ran. It finds the new path through the
// descriptor of the lock.
func (s *supervisor) followMove() {
	if _, err := disk.Lstat(s.dir); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	lock, err := process.PathOf(lockFD)
	if err != nil {
		return
	}
	below, err := filepath.Rel(s.job.Root, s.dir)
	root, moved := strings.CutSuffix(filepath.Dir(lock), string(filepath.Separator)+below)
	if _, gone := disk.Lstat(filepath.Join(root, below)); err != nil || !moved || gone != nil {
		return
	}
	if dir, err := filepath.Rel(s.job.Root, s.job.Dir); err == nil {
		s.job.Dir = filepath.Join(root, dir)
	}
	s.dir, s.job.Root = filepath.Join(root, below), root
	s.events.path = filepath.Join(s.dir, pawl.EventsFile)
}

// reportedDone reports whether the result file says that the step is done. A missing or unreadable file counts as done.
func (s *supervisor) reportedDone() bool {
	file, err := disk.Open(filepath.Join(s.dir, pawl.ResultFile))
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

// maxResult is the number of bytes read of a result file; the engine rejects longer ones.
const maxResult = 1 << 20

// syncResults makes durable what the exit record vouches for: the result file and, after success, the outputs.
// Otherwise a power failure could keep the record and lose the work. It skips outputs that are missing or outside the
// project; the engine judges those.
func (s *supervisor) syncResults() error {
	if s.job.Passing {
		return nil
	}
	err := ignoreMissing(outputs.Sync(s.dir, []string{pawl.ResultFile}))
	if s.exit.Exit != nil && *s.exit.Exit == 0 && s.exit.Reason == pawl.ReasonExited && pawl.Passed(s.exit.Checks) {
		err = errors.Join(err, ignoreMissing(outputs.Sync(s.job.Root, s.job.Outputs)))
	}
	return err
}

func ignoreMissing(err error) error {
	var missing *outputs.MissingError
	var escape *outputs.EscapeError
	if errors.As(err, &missing) || errors.As(err, &escape) {
		return nil
	}
	return err
}

// finish writes the exit record. It retries until that succeeds, since a full disk may be temporary.
func (s *supervisor) finish() error {
	s.exit.Ended = time.Now().UTC()
	s.exit.Seconds = time.Since(s.started).Seconds()
	s.exit.Slept = (process.Asleep() - s.asleep).Seconds()
	s.exit.CPUSeconds = s.tree.reaped().Seconds()
	if d := s.delivered; d != nil {
		s.exit.Seconds, s.exit.CPUSeconds = d.Seconds, d.CPUSeconds
		s.exit.Killed, s.exit.Leftovers = s.exit.Killed+d.Killed, append(s.exit.Leftovers, d.Leftovers...)
	}
	for {
		err := s.writeRecord()
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return err
		}
		time.Sleep(time.Second)
	}
}

// writeRecord writes the exit record. If an engine is there, which syncs the outputs and journals the end, it does not sync, and the record
// counts until the system restarts.
func (s *supervisor) writeRecord() error {
	if boot := s.begun.Supervisor.BootID; boot != "" && s.link.attached() {
		s.exit.Boot = boot
		err := s.writeExit(disk.PutNew)
		if err != nil { // the project was moved, the disk was full, or the step wrote a file with this name
			s.followMove()
			err = s.writeExit(disk.Put)
		}
		return err
	}
	s.followMove()
	if s.job.Passing {
		return s.writeExit(disk.Put)
	}
	return s.harden()
}

// harden makes the exit record and what it vouches for durable.
func (s *supervisor) harden() error {
	if err := s.syncResults(); err != nil {
		s.exit.Reason, s.exit.Why = pawl.ReasonError, err.Error()
	}
	boot := s.exit.Boot
	s.exit.Boot = ""
	err := s.writeExit(disk.Replace)
	if err != nil {
		s.exit.Boot = boot
	}
	return err
}

func (s *supervisor) writeExit(write func(path string, data []byte) error) error {
	data, err := json.Marshal(s.exit)
	if err != nil {
		return err
	}
	s.record = Seal{private: s.key}.Sign(data)
	return write(filepath.Join(s.dir, pawl.ExitFile), s.record)
}

// abort returns the request to end the attempt, if there is one.
func (s *supervisor) abort() *pawl.Abort {
	s.followMove()
	path := filepath.Join(s.dir, pawl.AbortFile)
	if _, err := disk.Lstat(path); err != nil {
		return nil
	}
	abort, err := readRecord[pawl.Abort](path)
	if abort == nil {
		return &pawl.Abort{Reason: pawl.ReasonAbort, Why: fmt.Sprintf("%s is unreadable: %v", pawl.AbortFile, err)}
	}
	return abort
}

// beat writes the heartbeat when it is due, the first one at the first tick. After an error it tries again in a second.
func (s *supervisor) beat(w *monitor) {
	if time.Now().Before(s.beatDue) {
		return
	}
	beat := pawl.Beat{
		Token: s.job.Token, Time: time.Now().UTC(), Uptime: process.Uptime().Seconds(),
		Slept: (process.Asleep() - s.asleep).Seconds(), OutputBytes: w.written(), Progress: w.progressed,
	}
	cpu, members, _ := s.tree.usage()
	beat.CPUSeconds, beat.Processes = cpu.Seconds(), members
	s.beatDue = time.Now().Add(time.Duration(s.job.Beat))
	data, err := json.Marshal(beat)
	if err == nil {
		err = disk.Put(filepath.Join(s.dir, pawl.BeatFile), data)
	}
	if err != nil {
		s.beatDue = time.Now().Add(time.Second)
	}
}
