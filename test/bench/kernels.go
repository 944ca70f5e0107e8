package main

import (
	"bufio"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"pawl/internal/kernel"
	"pawl/internal/kernel/bridge"
	"pawl/internal/kernel/jupyter"
)

//go:embed nbclient.py
var nbclientProgram string

// kernelPython is the interpreter of kernels, which has ipykernel and nbclient.
func kernelPython() string { return cmp.Or(os.Getenv("PAWL_TEST_PYTHON"), "/usr/bin/python3") }

// kernels is the row "kernel": what a cell costs beside nbclient, how long a kernel takes to start, and whether output gets lost.
func (b *bench) kernels() (lines []line, err error) {
	reference, err := b.startNbclient()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, reference.stop()) }()
	for _, d := range []struct {
		what   string
		driver kernel.Driver
	}{{"Jupyter kernel", jupyter.Driver{}}, {"bridge", bridge.Driver{}}} {
		cells, err := b.cellCost(d.what, d.driver, reference)
		if err != nil {
			return nil, err
		}
		lines = append(lines, cells)
	}
	whole, err := b.notebooks()
	if err != nil {
		return nil, err
	}
	flood, err := b.flood(reference)
	if err != nil {
		return nil, err
	}
	lines = append(append(lines, whole...), flood)
	starts, err := b.kernelStarts()
	return append(lines, starts...), err
}

// cellCost measures cells that do nothing.
func (b *bench) cellCost(what string, d kernel.Driver, reference *nbclient) (l line, err error) {
	k, err := b.startKernel(d)
	if err != nil {
		return line{}, err
	}
	defer func() { err = errors.Join(err, k.stop()) }()
	const cells = 50
	m, err := inTurns(b.full(21, 5), cells, func() (time.Duration, error) {
		took, _, _, err := k.execute(cells, "pass")
		return took, err
	}, func() (time.Duration, error) {
		took, _, _, err := reference.execute(cells, "pass")
		return took, err
	})
	return m.line("a cell `pass`, "+what, "nbclient", goal{ratio: 1}), err
}

// notebooks measures whole commands that execute a notebook. pawl also logs each message, saves the variables after each cell, and loads
// them in another process.
func (b *bench) notebooks() (lines []line, err error) {
	p, err := b.project("notebooks")
	if err != nil {
		return nil, err
	}
	const cells = 100
	notebook := map[string]any{"metadata": map[string]any{"kernelspec": map[string]any{"name": "python3", "display_name": "Python 3"}}, "nbformat": 4, "nbformat_minor": 5}
	list := make([]any, cells)
	for i := range list {
		list[i] = map[string]any{"cell_type": "code", "id": fmt.Sprint("cell-", i), "metadata": map[string]any{}, "execution_count": nil, "outputs": []any{}, "source": "pass"}
	}
	notebook["cells"] = list
	data, err := json.Marshal(notebook)
	if err != nil {
		return nil, err
	}
	source := filepath.Join(p.Root, "source.ipynb")
	if err := os.WriteFile(source, data, 0o600); err != nil {
		return nil, err
	}
	const reference = "import nbclient, nbformat, sys\n" +
		"notebook = nbformat.read(sys.argv[1], 4)\nnbclient.NotebookClient(notebook, timeout=None).execute()\nnbformat.write(notebook, sys.argv[2])"
	runs := 0
	for _, d := range []struct {
		driver string
		goal   goal
	}{{"jupyter", goal{}}, {"python", goal{ratio: 1}}} {
		m, err := inTurns(b.full(7, 1), 1, timed(func() error {
			runs++
			out := fmt.Sprint("out-", runs, ".ipynb")
			return quiet(exec.Command(b.pawl, "-C", p.Root, "notebook", "run", "source.ipynb", out, "--driver", d.driver, "--python", kernelPython()))
		}), timed(func() error {
			return quiet(exec.Command(kernelPython(), "-c", reference, source, filepath.Join(p.Root, "reference.ipynb")))
		}))
		if err != nil {
			return nil, err
		}
		lines = append(lines, m.line("`pawl notebook run` of 100 cells `pass`, driver "+d.driver, "a program with nbclient", d.goal))
	}
	return lines, nil
}

// flood measures output that a slow reader would lose: 50 MiB of stdout and 20,000 displays. It fails if pawl loses any.
func (b *bench) flood(reference *nbclient) (l line, err error) {
	k, err := b.startKernel(jupyter.Driver{})
	if err != nil {
		return line{}, err
	}
	defer func() { err = errors.Join(err, k.stop()) }()
	const displays, bytes = 20_000, 50 << 20
	const code = "from IPython.display import display\nfor i in range(20000): display(i)\nfor i in range(50): print('x' * ((1 << 20) - 1))"
	lost := ""
	m, err := inTurns(b.full(3, 1), 1, func() (time.Duration, error) {
		took, shown, printed, err := k.execute(1, code)
		if err == nil && (shown != displays || printed != bytes) {
			err = fmt.Errorf("%d displays and %d bytes of stdout arrived", shown, printed)
		}
		return took, err
	}, func() (time.Duration, error) {
		took, shown, printed, err := reference.execute(1, code)
		if shown < displays || printed < bytes {
			lost = fmt.Sprintf(", which lost %d displays and %d bytes", displays-shown, bytes-printed)
		}
		return took, err
	})
	return m.line("20,000 displays and 50 MiB of stdout of a Jupyter kernel, nothing lost", "nbclient"+lost, goal{}), err
}

// kernelStarts measures the time until a kernel is ready.
func (b *bench) kernelStarts() (lines []line, err error) {
	for _, d := range []struct {
		what   string
		driver kernel.Driver
		goal   goal
	}{{"bridge", bridge.Driver{}, goal{ratio: 2.5}}, {"Jupyter kernel", jupyter.Driver{}, goal{}}} {
		m, err := inTurns(b.full(15, 3), 1, func() (time.Duration, error) {
			begun := time.Now()
			k, err := b.startKernel(d.driver)
			took := time.Since(begun)
			if err == nil {
				err = k.stop()
			}
			return took, err
		}, timed(func() error { return quiet(exec.Command(kernelPython(), "-c", "pass")) }))
		if err != nil {
			return nil, err
		}
		lines = append(lines, m.line("start of the "+d.what+", until it is ready", "`python3 -c pass`", d.goal))
	}
	return lines, nil
}

// benchKernel is a kernel and what it put out.
type benchKernel struct {
	b       *bench
	kernel  kernel.Kernel
	runtime string
	cells   int

	mu       sync.Mutex // guards the rest
	displays int
	bytes    int
}

func (b *bench) startKernel(d kernel.Driver) (*benchKernel, error) {
	runtime, err := os.MkdirTemp("/tmp", "pawl-b-") // the paths of sockets must be short
	if err != nil {
		return nil, err
	}
	k := &benchKernel{b: b, runtime: runtime}
	k.kernel, err = d.Start(b, kernel.Spec{
		Python: kernel.Interpreter{Path: kernelPython(), Why: "bench"}, Dir: b.dir, Runtime: filepath.Join(runtime, "r"), Log: filepath.Join(runtime, "log"),
		Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + runtime},
	}, k.emit)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(runtime))
	}
	return k, nil
}

func (k *benchKernel) emit(m kernel.Message) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch m.Kind {
	case kernel.KindDisplay:
		k.displays++
	case kernel.KindStream:
		if m.Stream == kernel.Stdout {
			k.bytes += len(m.Text)
		}
	}
}

// execute executes a cell a number of times, and counts what it put out.
func (k *benchKernel) execute(cells int, code string) (took time.Duration, displays, bytes int, err error) {
	k.mu.Lock()
	k.displays, k.bytes = 0, 0
	k.mu.Unlock()
	begun := time.Now()
	for range cells {
		k.cells++
		ending, err := k.kernel.Execute(k.b, kernel.Cell{ID: kernel.CellID(fmt.Sprint("cell-", k.cells)), Code: code})
		if err == nil && (ending.Status != kernel.OK || ending.Why != "") {
			err = fmt.Errorf("the cell ended as %+v", ending)
		}
		if err != nil {
			return 0, 0, 0, err
		}
	}
	took = time.Since(begun)
	k.mu.Lock()
	defer k.mu.Unlock()
	return took, k.displays, k.bytes, nil
}

func (k *benchKernel) stop() error {
	return errors.Join(k.kernel.Close(k.b), os.RemoveAll(k.runtime))
}

// nbclient is a running nbclient.py.
type nbclient struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers *bufio.Scanner
}

func (b *bench) startNbclient() (*nbclient, error) {
	n := &nbclient{cmd: exec.CommandContext(b, kernelPython(), "-c", nbclientProgram)}
	n.cmd.Dir, n.cmd.Stderr = b.dir, io.Discard
	n.cmd.Env = append(os.Environ(), "PYDEVD_DISABLE_FILE_VALIDATION=1")
	var err error
	if n.in, err = n.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := n.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	n.answers = bufio.NewScanner(out)
	if err := n.cmd.Start(); err != nil {
		return nil, err
	}
	if !n.answers.Scan() || n.answers.Text() != "ready" {
		return nil, errors.Join(errors.New("nbclient does not start; are python3-nbclient and python3-ipykernel installed?"), n.stop())
	}
	return n, nil
}

func (n *nbclient) execute(cells int, code string) (took time.Duration, displays, bytes int, err error) {
	quoted, err := json.Marshal(code)
	if err != nil {
		return 0, 0, 0, err
	}
	if _, err := fmt.Fprintf(n.in, "%d %s\n", cells, quoted); err != nil {
		return 0, 0, 0, err
	}
	var seconds float64
	if !n.answers.Scan() {
		return 0, 0, 0, errors.New("nbclient has ended")
	}
	_, err = fmt.Sscan(n.answers.Text(), &seconds, &displays, &bytes)
	return time.Duration(seconds * float64(time.Second)), displays, bytes, err
}

func (n *nbclient) stop() error {
	return errors.Join(n.in.Close(), n.cmd.Wait())
}
