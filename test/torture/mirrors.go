package main

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"pawl"
	"pawl/internal/agents/headless/headlesstest"
	"pawl/test/torture/observed"
)

// The scenarios of the documents of the five systems: the files that they describe, and executors that keep their contracts. A
// scenario without plan.yaml is imported.
//
//go:embed mirrors/*.txtar mirrors/lib.sh
var scenarios embed.FS

// mirrorDeaths is how many kills one mirrored story suffers at most.
const mirrorDeaths = 12

// A scene is a scenario of a system.
type scene struct {
	system, name string
	archive      *txtar.Archive
	quiet        *claims       // of the undisturbed run
	out          outputFiles   // of the undisturbed run
	took         time.Duration // the undisturbed run, without its preparation
	lines        int           // of its journal
}

type outputFiles = map[string]string

// mirrored is a project whose work another system's files describe, too.
type mirrored struct {
	*story
	scene  *scene
	before *claims         // of what was done before pawl came
	faulty map[string]bool // the faults that the files had before
	typed  strings.Builder
}

// mirrors kills runs that mirror to the files of another system, at random times and journal lines, and checks after each death
// that the files claim nothing that is not there. The result must be that of an undisturbed run.
func (t *torture) mirrors() error {
	scenes, err := readScenes(t.system)
	if err != nil {
		return err
	}
	if err := t.installAgents(); err != nil {
		return err
	}
	counts := map[string]*atomic.Int64{}
	for system, of := range scenes {
		counts[system] = &atomic.Int64{}
		for _, s := range of {
			if err := t.measure(s); err != nil {
				return err
			}
		}
	}
	for _, system := range systemsOf(scenes) {
		of, dead := scenes[system], counts[system]
		if err := t.killMirrors(of, dead); err != nil {
			return err
		}
		fmt.Fprintf(t.out, "%-21s %d kills in %d scenarios, 0 faults\n", system, dead.Load(), len(of))
	}
	return nil
}

// killMirrors plays the scenes of one system in turn until there were enough deaths.
func (t *torture) killMirrors(of []*scene, dead *atomic.Int64) error {
	play := func(i int) error {
		if t.number < 0 && int(dead.Load()) >= t.engines {
			return nil
		}
		n, err := t.mirrorStory(i, of[i%len(of)])
		dead.Add(int64(n))
		return err
	}
	if t.number >= 0 {
		return play(t.number)
	}
	return t.each(max(t.engines, len(of)), play)
}

func systemsOf(scenes map[string][]*scene) []string {
	var names []string
	for _, name := range []string{"grid", "dotagent", "sitebuilder", "projectstate", "gyoshu"} {
		if len(scenes[name]) > 0 {
			names = append(names, name)
		}
	}
	return names
}

// readScenes returns the scenarios of a system, or of all, by system. Their files are named SYSTEM-NAME.txtar.
func readScenes(system string) (map[string][]*scene, error) {
	entries, err := fs.ReadDir(scenarios, "mirrors")
	if err != nil {
		return nil, err
	}
	scenes := map[string][]*scene{}
	for _, e := range entries {
		name, isScene := strings.CutSuffix(e.Name(), ".txtar")
		of, _, _ := strings.Cut(name, "-")
		if !isScene || system != "" && system != of {
			continue
		}
		data, err := fs.ReadFile(scenarios, "mirrors/"+e.Name())
		if err != nil {
			return nil, err
		}
		scenes[of] = append(scenes[of], &scene{system: of, name: name, archive: txtar.Parse(data)})
	}
	if len(scenes) == 0 {
		return nil, fmt.Errorf("no scenarios of %q", system)
	}
	return scenes, nil
}

// installAgents makes this program the agents that executors are.
func (t *torture) installAgents() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	folder := filepath.Join(t.dir, "agents")
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	return headlesstest.Install(folder, self)
}

// measure plays a scene undisturbed.
func (t *torture) measure(s *scene) error {
	m, err := t.newMirrored("undisturbed-"+s.name, s)
	if err != nil {
		return err
	}
	began := time.Now()
	if _, err := m.play(nil); err != nil {
		return err
	}
	s.took, s.lines = time.Since(began), m.journalLines()
	if s.quiet, err = m.claims(); err != nil {
		return err
	}
	if len(s.quiet.done) == len(m.before.done) {
		return m.wrong("the files of an undisturbed run claim nothing")
	}
	if s.out, err = observed.Files(m.project("out"), ""); err != nil {
		return err
	}
	return errors.Join(m.audit(), m.remove())
}

// mirrorStory plays a scene, kills it, and compares it with the undisturbed run.
func (t *torture) mirrorStory(i int, s *scene) (kills int, err error) {
	m, err := t.newMirrored(fmt.Sprintf("%s-%d", s.name, i), s)
	if err != nil {
		return 0, err
	}
	m.point = fmt.Sprintf("system %s -case %d", s.system, i)
	defer m.killAll()
	kills, err = m.play(t.rand("mirrors-"+s.system, i))
	if t.number >= 0 {
		fmt.Fprint(t.out, m.typed.String())
	}
	if err != nil {
		return kills, err
	}
	got, err := m.claims()
	if err != nil {
		return kills, err
	}
	if diff := got.difference(s.quiet); diff != "" {
		return kills, m.wrong("in the end the files claim something else than after an undisturbed run: %s", diff)
	}
	out, err := observed.Files(m.project("out"), "")
	if diff := observed.Difference(out, s.out); err == nil && diff != "" {
		return kills, m.wrong("outputs differ from an undisturbed run: %s", diff)
	}
	return kills, errors.Join(err, m.audit(), m.remove())
}

// newMirrored makes the folders of a scene, and has the work of another system imported.
func (t *torture) newMirrored(name string, of *scene) (*mirrored, error) {
	m := &mirrored{story: &story{torture: t, dir: filepath.Join(t.dir, name), folder: "project", killed: map[string]bool{}}, scene: of}
	if err := m.unpack(); err != nil {
		return nil, err
	}
	if m.has("outside/setup.sh") {
		if said, err := m.shell("../outside/setup.sh"); err != nil {
			return nil, fmt.Errorf("%s: %w: %s", name, err, said)
		}
	}
	var err error
	if m.before, err = m.claims(); err != nil {
		return nil, err
	}
	bad, err := m.faults()
	if m.faulty = map[string]bool{}; err != nil {
		return nil, err
	}
	for _, what := range bad {
		m.faulty[what] = true
	}
	if m.has("project/plan.yaml") {
		return m, m.init()
	}
	for _, args := range [][]string{{"init"}, append([]string{"import", of.system, "--yes"}, m.args("import")...), {"adopt", "--yes"}} {
		if said, code := m.types(args...); code != 0 {
			return nil, m.wrong("%v: exit code %d: %s", args, code, said)
		}
	}
	return m, nil
}

// unpack writes the files of the scene, and what all scenes share.
func (m *mirrored) unpack() error {
	lib, err := scenarios.ReadFile("mirrors/lib.sh")
	if err != nil {
		return err
	}
	all := append(slices.Clone(m.scene.archive.Files), txtar.File{Name: "outside/lib.sh", Data: lib},
		txtar.File{Name: "outside/agent/script", Data: []byte("run sh \"$TORTURE_OUTSIDE/work.sh\"; finish Done.\n")})
	for _, f := range all {
		path := filepath.Join(m.dir, filepath.FromSlash(f.Name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, f.Data, 0o600)); err != nil {
			return err
		}
	}
	return os.MkdirAll(m.project("out"), 0o700)
}

func (m *mirrored) has(name string) bool {
	_, err := os.Stat(filepath.Join(m.dir, filepath.FromSlash(name)))
	return err == nil
}

// args returns the words that the scene's comment has after a key: import (the arguments), mirror (the path), parts (what the files list as
// work of its own: gates, and tasks of a step).
func (m *mirrored) args(key string) []string {
	for line := range strings.Lines(string(m.scene.archive.Comment)) {
		if text, ok := strings.CutPrefix(line, "# "+key+": "); ok {
			return strings.Fields(text)
		}
	}
	return nil
}

// mirror returns SYSTEM, or SYSTEM=PATH for a scene whose files are elsewhere.
func (m *mirrored) mirror() string {
	if at := m.args("mirror"); len(at) > 0 {
		return m.scene.system + "=" + at[0]
	}
	return m.scene.system
}

func (m *mirrored) environment() []string {
	env := append(m.story.environment(), "FAKE_AGENT="+m.outside("agent"), "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C")
	env[0] = "PATH=" + filepath.Join(m.torture.dir, "agents") + ":" + filepath.Dir(m.torture.pawl) + ":" + os.Getenv("PATH")
	return env
}

// shell runs a script of the scene in the project.
func (m *mirrored) shell(script string) (string, error) {
	cmd := exec.Command("sh", script)
	cmd.Dir, cmd.Env = m.project(), m.environment()
	said, err := cmd.CombinedOutput()
	return string(said), err
}

// types runs a pawl command undisturbed.
func (m *mirrored) types(args ...string) (string, int) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	cmd, out := m.call(ctx, args...)
	err := cmd.Run()
	code := -1
	if cmd.ProcessState != nil && ctx.Err() == nil {
		code = cmd.ProcessState.ExitCode()
	} else if err != nil {
		fmt.Fprintln(out, err)
	}
	fmt.Fprintf(&m.typed, "$ pawl %s\n%sexit %d\n", strings.Join(args, " "), out, code)
	return out.String(), code
}

func (m *mirrored) call(ctx context.Context, args ...string) (*exec.Cmd, *bytes.Buffer) {
	cmd, out := m.command(ctx, m.torture.pawl, nil, args...)
	cmd.Env = m.environment()
	return cmd, out
}

// mostCalls is how many engines one story may need.
const mostCalls = 60

// play carries the run to its end, and kills it if there are dice. A person answers what pawl asks, by the first command that it
// offers.
func (m *mirrored) play(dice *rand.Rand) (kills int, err error) {
	start := []string{"resume", "--mirror", m.mirror()}
	if m.has("project/plan.yaml") {
		start = []string{"run", "--mirror", m.mirror(), "plan.yaml"}
	}
	for args, calls := start, 0; ; calls++ {
		if calls == mostCalls {
			return kills, m.wrong("the run does not end:\n%s", m.typed.String())
		}
		said, code, died := "", 0, 0
		if dice == nil || kills >= mirrorDeaths {
			said, code = m.types(args...)
		} else {
			said, code, died = m.dies(dice, args)
		}
		if kills += died; died > 0 {
			m.tally.suffered("kill of " + m.scene.system)
		}
		if err := m.checkAll(); err != nil {
			return kills, err
		}
		st, err := m.standing()
		if err != nil {
			return kills, err
		}
		if err := m.checkAll(); err != nil { // status has brought the files up to date
			return kills, err
		}
		args = []string{"resume", "--yes"}
		switch {
		case st == nil || m.lines(`"type":"run.mirrored"`) == 0: // it died before it had recorded the mirror: the person starts it again
			args = start
		case st.Status == pawl.StatusCompleted:
			return kills, nil
		case st.Status == pawl.StatusWaiting, st.Status == pawl.StatusFailed:
			if err := m.act(st); err != nil {
				return kills, err
			}
		case code != 0 && died == 0 && code != codeAtGate && code != codeHeld:
			return kills, m.wrong("%v: exit code %d: %s", args, code, said)
		}
		m.tally.resumes.Add(1)
	}
}

// standing is status once nobody works on the run: after a kill the system frees its lock a moment later.
func (m *mirrored) standing() (*status, error) {
	var st *status
	for end := time.Now().Add(dying); ; {
		said, code := m.types("status", "--json")
		if code == codeNothing {
			return nil, nil
		}
		st = &status{}
		if err := decodeJSON(said, st); code != 0 || err != nil {
			return nil, m.wrong("status: exit code %d, %v: %s", code, err, said)
		}
		if st.Status != pawl.StatusActive || time.Now().After(end) {
			return st, nil
		}
	}
}

// act does a person's part.
func (m *mirrored) act(st *status) error {
	said, code := m.types("gates", "--json")
	var gates []struct {
		Commands []string `json:"commands"`
	}
	if err := decodeJSON(said, &gates); code != 0 || err != nil {
		return m.wrong("gates: exit code %d, %v: %s", code, err, said)
	}
	var commands []string
	for _, g := range gates {
		commands = append(commands, g.Commands[0])
	}
	for _, step := range st.Steps {
		if step.Status == pawl.FailedForGood {
			if !m.hitStep(string(step.ID)) {
				return m.wrong("step %s failed, and nothing of it was killed:\n%s", step.ID, m.typed.String())
			}
			commands = append(commands, "pawl retry "+string(step.ID))
		}
	}
	for _, command := range commands {
		words := strings.Fields(strings.ReplaceAll(command, "'", ""))[1:]
		if words[0] == "approve" {
			words = append(words, "--yes")
		}
		if words[0] == "answer" {
			words = []string{"answer", words[1], strings.Join(words[2:], " ")}
		}
		if said, code := m.types(words...); code != 0 {
			return m.wrong("%v: exit code %d: %s", words, code, said)
		}
	}
	return m.unblock()
}

// unblock clears the blockers that the scene began with, as the person who has fixed their cause.
func (m *mirrored) unblock() error {
	said, _ := m.types("status", "--json")
	var st struct {
		Blockers []struct {
			ID int `json:"id"`
		} `json:"blockers"`
	}
	if err := decodeJSON(said, &st); err != nil {
		return m.wrong("status: %v: %s", err, said)
	}
	for _, b := range st.Blockers {
		if said, code := m.types("unblock", fmt.Sprint(b.ID), "-m", "it is fixed"); code != 0 {
			return m.wrong("unblock: exit code %d: %s", code, said)
		}
	}
	return nil
}

// hitStep reports whether a process of a step's attempts was killed.
func (m *mirrored) hitStep(step string) bool {
	h, err := m.history()
	if err != nil {
		return false
	}
	for token, work := range h.started {
		if work, _, _ := strings.Cut(work, "/"); work == step && m.killed[token] {
			return true
		}
	}
	return false
}

// dies runs an engine and kills it, alone or with what it started, at a random time or journal line.
func (m *mirrored) dies(dice *rand.Rand, args []string) (said string, code, kills int) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	cmd, out := m.call(ctx, args...)
	if err := cmd.Start(); err != nil {
		return err.Error(), -1, 0
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }() // its exit code says how it ended
	from, due := m.journalLines(), m.moment(dice)
	for began := time.Now(); !due(time.Since(began), m.journalLines()-from); {
		select {
		case <-ended:
			fmt.Fprintf(&m.typed, "$ pawl %s\n%sexit %d\n", strings.Join(args, " "), out, cmd.ProcessState.ExitCode())
			return out.String(), cmd.ProcessState.ExitCode(), 0
		case <-time.After(time.Millisecond):
		}
	}
	kills = m.strikeAll(dice)
	<-ended
	fmt.Fprintf(&m.typed, "$ pawl %s\n%skilled\n", strings.Join(args, " "), out)
	return out.String(), cmd.ProcessState.ExitCode(), min(kills, 1)
}

// moment returns a function that reports whether the moment to kill an engine has come.
func (m *mirrored) moment(dice *rand.Rand) func(passed time.Duration, lines int) bool {
	if dice.IntN(2) == 0 {
		at := time.Duration(dice.Int64N(int64(m.scene.took/2 + time.Millisecond)))
		return func(passed time.Duration, _ int) bool { return passed >= at }
	}
	line := dice.IntN(cmp.Or(m.scene.lines/2, 1))
	return func(passed time.Duration, lines int) bool { return lines >= line || passed >= m.scene.took }
}

// strikeAll kills the engine, and sometimes the supervisors too, or everything. All are stopped first, so that nobody sees another
// die.
func (m *mirrored) strikeAll(dice *rand.Rand) (kills int) {
	roles := [][]role{{engine}, {engine, supervisor}, {engine, supervisor, child}}[dice.IntN(3)]
	var victims []proc
	for _, p := range m.processes() {
		if slices.Contains(roles, p.role) && syscall.Kill(p.pid, syscall.SIGSTOP) == nil {
			victims = append(victims, p)
		}
	}
	for _, r := range roles {
		for _, p := range victims {
			if p.role == r {
				kills += m.kill(p)
			}
		}
	}
	return kills
}

// journalLines returns how many lines the journal of the story's run has.
func (m *mirrored) journalLines() int { return m.lines("\n") }

// lines counts the lines with a text in the journal of the story's run.
func (m *mirrored) lines(text string) int {
	paths, _ := filepath.Glob(m.project(pawlFolder, "runs", "*", "journal.jsonl")) // the pattern is right
	n := 0
	for _, path := range paths {
		data, _ := os.ReadFile(path) // being created
		n += bytes.Count(data, []byte(text))
	}
	return n
}

// checkAll checks the files at this moment: their system's validation finds no fault, what they call done was done, and each file and
// commit that they claim exists.
func (m *mirrored) checkAll() error {
	bad, err := m.faults()
	if err != nil {
		return err
	}
	for _, what := range bad {
		if !m.faulty[what] && !strings.Contains(what, "dotagent gives up after") { // killed attempts are tries of dotagent, too
			return m.wrong("verify --as %s: %s\n%s", m.scene.system, what, m.typed.String())
		}
	}
	now, err := m.claims()
	if err != nil {
		return err
	}
	did, err := m.effects()
	if err != nil {
		return err
	}
	for unit := range now.done {
		if !m.before.done[unit] && !hasEffect(did, unit) && !slices.Contains(m.args("parts"), unit) {
			return m.wrong("%s is called done, and nobody has done it:\n%s", unit, m.typed.String())
		}
	}
	return m.checkThere(now)
}

// faults returns the faults that the system's own validation finds in its files.
func (m *mirrored) faults() ([]string, error) {
	args := []string{"verify", "--as", m.scene.system, "--json"}
	if at := m.args("mirror"); len(at) > 0 {
		args = append(args, at[0])
	}
	said, code := m.types(args...)
	var found []pawl.Finding
	if err := decodeJSON(said, &found); err != nil { // an error may follow
		if said = complaint(said); code == codeNothing || strings.Contains(said, "no files") || code == codeUsage {
			return nil, nil // there are none yet
		}
		return nil, m.wrong("verify --as %s: exit code %d, %v: %s", m.scene.system, code, err, said)
	}
	var bad []string
	for _, f := range found {
		if f.Level == pawl.Bad {
			bad = append(bad, f.What)
		}
	}
	return bad, nil
}

// decodeJSON decodes the JSON in what a command printed, between notes and errors.
func decodeJSON(said string, into any) error {
	return json.NewDecoder(strings.NewReader(said[max(strings.IndexAny(said, "[{"), 0):])).Decode(into)
}

// codeUsage is the exit code for a file that is missing.
const codeUsage = 2

// checkThere checks that the claimed files and commits exist.
func (m *mirrored) checkThere(now *claims) error {
	for name := range now.files {
		if _, err := os.Lstat(m.project(filepath.FromSlash(name))); err != nil {
			return m.wrong("the file %s is claimed, and does not exist", name)
		}
	}
	for hash := range now.commits {
		cmd := exec.Command("git", "cat-file", "-e", hash+"^{commit}")
		cmd.Dir = m.project()
		if said, err := cmd.CombinedOutput(); err != nil {
			return m.wrong("the commit %s is claimed, and does not exist: %s", hash, said)
		}
	}
	return nil
}

// hasEffect reports whether a step, or an item of it, was done.
func hasEffect(did map[string][]string, step string) bool {
	for work := range did {
		if of, _, _ := strings.Cut(work, "/"); of == step {
			return true
		}
	}
	return false
}

// effects returns the tokens of the attempts that did some work, in order, by work: a step, or step/item.
func (m *mirrored) effects() (map[string][]string, error) {
	data, err := os.ReadFile(m.outside("ledger"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	did := map[string][]string{}
	for line := range strings.Lines(string(data)) {
		work, token, _ := strings.Cut(strings.TrimSpace(line), " ")
		did[work] = append(did[work], token)
	}
	return did, nil
}

// audit checks a finished story: each step was recorded as done once, by an attempt that did it, and ran no more afterwards.
func (m *mirrored) audit() error {
	h, err := m.history()
	if err != nil {
		return err
	}
	if len(h.faults) > 0 {
		return m.wrong("%s", strings.Join(h.faults, "; "))
	}
	did, err := m.effects()
	if err != nil {
		return err
	}
	for work, tokens := range did {
		d, finished := h.done[work]
		if i := slices.Index(tokens, d.token); !finished || i != len(tokens)-1 {
			return m.wrong("%s was done by the attempts %v, and the journal says %q (finished: %v):\n%s", work, tokens, d.token, finished, m.typed.String())
		}
	}
	return errors.Join(m.verify(), m.alone(h.tokens()))
}
