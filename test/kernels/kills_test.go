// Package kernels kills the parts of notebook runs.
package kernels

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pawl/test/cases"
	"pawl/test/stories/storytest"
)

func TestMain(m *testing.M) { os.Exit(storytest.Main(m)) }

// killedCells is the number of cells of a notebook that is killed.
const killedCells = 20

// victims are the processes of a run that are killed, by what their command lines contain.
var victims = []string{"kernel", "runner", "step", "supervisor", "engine", "all"}

// TestKilledAtEachMessage kills a part of a run, or all of it, when the session's log has a number of lines, and resumes the run. No
// finished cell is executed again, no output is lost, and each cell computes what it would have computed without the death. A notebook of
// 20 cells has some 150 lines; a share of the moments is tried, and all with PAWL_ALL_CASES=1.
func TestKilledAtEachMessage(t *testing.T) {
	for _, driver := range []string{"python", "jupyter"} {
		t.Run(driver, func(t *testing.T) {
			p := newKillProject(t, driver)
			for i, victim := range victims {
				var moments []int
				for line := 2; line < 8*killedCells; line += 1 + len(victims) {
					moments = append(moments, line+i)
				}
				for _, line := range cases.Some(moments, i+7, 1) {
					p.kill(t, victim, line)
				}
			}
		})
	}
}

// killProject is a project whose runs are killed.
type killProject struct {
	pawl, dir, home, driver string
	count                   int
}

func newKillProject(t *testing.T, driver string) *killProject {
	t.Helper()
	p := &killProject{pawl: storytest.Pawl(t), dir: t.TempDir(), home: t.TempDir(), driver: driver}
	t.Cleanup(func() {
		for _, process := range p.processes() {
			_ = syscall.Kill(process.pid, syscall.SIGKILL)
		}
	})
	p.run(t, "init")
	return p
}

func (p *killProject) command(args ...string) *exec.Cmd {
	c := exec.Command(p.pawl, args...)
	c.Dir = p.dir
	c.Env = append(os.Environ(), "HOME="+p.home, "XDG_STATE_HOME=", "XDG_CONFIG_HOME=")
	return c
}

func (p *killProject) run(t *testing.T, args ...string) {
	t.Helper()
	if out, err := p.command(args...).CombinedOutput(); err != nil {
		t.Fatalf("pawl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// kill runs a notebook, kills a part of it when the log has some lines, resumes it and checks what is there.
func (p *killProject) kill(t *testing.T, victim string, line int) {
	t.Helper()
	p.count++
	name := fmt.Sprintf("n%d", p.count)
	what := fmt.Sprintf("%s: %s killed at line %d", p.driver, victim, line)
	p.write(t, name)
	var out bytes.Buffer
	run := p.command("notebook", "run", name+".ipynb", "--driver", p.driver, "--python", python())
	run.Stdout, run.Stderr = &out, &out
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	err := p.killWhen(victim, name, line, ended)
	for tries := 0; err != nil && tries < 4; tries++ {
		resume := p.command("resume", "--yes")
		var text []byte
		text, err = resume.CombinedOutput()
		out.Write(text)
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s", what, err, out.Bytes())
	}
	p.check(t, what, name)
}

// killWhen kills the victim when the log has some lines, and returns how the run ended.
func (p *killProject) killWhen(victim, name string, line int, ended <-chan error) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			return err
		case <-tick.C:
		}
		if len(p.records(name)) < line {
			continue
		}
		for _, process := range p.processes() {
			if victim == process.part || victim == "all" {
				_ = syscall.Kill(process.pid, syscall.SIGKILL)
			}
		}
		return <-ended
	}
}

// process is a process of a project, and which part of a run it is.
type process struct {
	pid  int
	part string
}

// processes returns the processes with the project's home folder.
func (p *killProject) processes() (list []process) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		environ, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if !bytes.Contains(environ, []byte("HOME="+p.home+"\x00")) {
			continue
		}
		line, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		list = append(list, process{pid, partOf(string(line))})
	}
	return list
}

func partOf(line string) string {
	for _, part := range []struct{ text, part string }{
		{"kernel-runner", "runner"}, {"kernel-step", "step"}, {"supervise", "supervisor"}, {"notebook\x00run", "engine"}, {"\x00resume", "engine"},
		{"ipykernel", "kernel"}, {"bridge", "kernel"}, {"python", "kernel"},
	} {
		if strings.Contains(line, part.text) {
			return part.part
		}
	}
	return "other"
}

// write writes a notebook whose cells need the variables of the cells before, and append to a file when they begin and end.
func (p *killProject) write(t *testing.T, name string) {
	t.Helper()
	var cells []any
	for i := range killedCells {
		source := fmt.Sprintf("import time\nopen('%s.txt', 'a').write('b%d\\n')\nv%d = %d + (v%d if %d else 0)\nbig = list(range(%d))\ntime.sleep(0.005)\nprint('cell', %d, v%d, sum(big))\nv%d",
			name, i, i, i, max(0, i-1), i, 1000*i, i, i, i)
		cells = append(cells, map[string]any{"cell_type": "code", "id": fmt.Sprint("c", i), "metadata": struct{}{}, "execution_count": nil, "outputs": []any{}, "source": source})
	}
	data, err := json.Marshal(map[string]any{"cells": cells, "metadata": map[string]any{"kernelspec": map[string]string{"name": "python3", "display_name": "Python 3"}}, "nbformat": 4, "nbformat_minor": 5})
	if err == nil {
		err = os.WriteFile(filepath.Join(p.dir, name+".ipynb"), data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// record is a line of a session's log, as far as the checks need it.
type record struct {
	Begin *struct{ Cell, Key string }
	End   *struct{ Cell, Status, Saved string }
}

// records returns the lines of the log of a notebook's run.
func (p *killProject) records(name string) (list []record) {
	logs, _ := filepath.Glob(filepath.Join(p.dir, ".pawl", "runs", name+"-*", "kernels", "*", "messages.jsonl"))
	for _, path := range logs {
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		for line := range bytes.Lines(data) {
			var r record
			if json.Unmarshal(line, &r) == nil {
				list = append(list, r)
			}
		}
	}
	return list
}

// check checks a completed run.
func (p *killProject) check(t *testing.T, what, name string) {
	t.Helper()
	finished, keys, open := map[string]bool{}, map[string]string{}, ""
	for _, r := range p.records(name) {
		switch {
		case r.Begin != nil:
			keys[r.Begin.Cell], open = r.Begin.Key, r.Begin.Cell
			if finished[r.Begin.Key] {
				t.Errorf("%s: %s runs again, and it is finished", what, r.Begin.Cell)
			}
		case r.End != nil:
			open = ""
			if finished[keys[r.End.Cell]] = r.End.Status == "ok"; r.End.Status == "ok" && r.End.Saved == "" {
				t.Errorf("%s: %s is finished, and its variables are not saved", what, r.End.Cell)
			}
		}
	}
	if open != "" || len(finished) < killedCells {
		t.Errorf("%s: %d cells are finished; open: %q", what, len(finished), open)
	}
	var n struct {
		Cells []struct {
			Outputs []struct {
				Text []string
				Data map[string][]string
			}
		}
	}
	data, err := os.ReadFile(filepath.Join(p.dir, name+".ipynb"))
	if err == nil {
		err = json.Unmarshal(data, &n)
	}
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range n.Cells {
		v := i * (i + 1) / 2
		text, value := fmt.Sprintf("cell %d %d %d\n", i, v, 1000*i*(1000*i-1)/2), strconv.Itoa(v)
		if len(c.Outputs) != 2 || strings.Join(c.Outputs[0].Text, "") != text || strings.Join(c.Outputs[1].Data["text/plain"], "") != value {
			t.Errorf("%s: cell %d has the outputs %+v, want %q and %q", what, i, c.Outputs, text, value)
		}
	}
}

// python returns the interpreter that has ipykernel.
func python() string {
	if path := os.Getenv("PAWL_TEST_PYTHON"); path != "" {
		return path
	}
	return "/usr/bin/python3"
}
