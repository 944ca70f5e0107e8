package jupyter_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pawl/internal/kernel"
	"pawl/internal/kernel/kerneltest"
)

// TestR runs the kernel of R. It does not answer on the control channel, and prints at the end of an expression.
func TestR(t *testing.T) {
	t.Parallel()
	k := start(t, kernel.Spec{Name: "ir", Project: t.TempDir()})
	if info := k.Info(); info.Language != "r" || info.Interpreter.Path != "" {
		t.Errorf("%+v", info)
	}
	if e := k.Run("a", `x <- 1:3; cat("out\n"); message("err"); x`, kernel.OK); e.Count != 1 {
		t.Errorf("%+v", e)
	}
	if got := k.Output("a"); !strings.Contains(got, "out") || !strings.Contains(got, "err") {
		t.Errorf("output %q", got)
	}
	if e := k.Run("b", `stop("bad")`, kernel.Failed); e.Error == nil || !strings.Contains(e.Error.Value, "bad") {
		t.Errorf("%+v", e)
	}
	k.Run("c", `stopifnot(sum(x) == 6)`, kernel.OK)
	file := filepath.Join(t.TempDir(), "go")
	c := k.Begin("d", fmt.Sprintf(`file.create(%q); Sys.sleep(1000)`, file))
	kerneltest.Retry(t, func() bool { _, err := os.Stat(file); return err == nil })
	if err := k.Interrupt(t.Context()); err != nil {
		t.Fatal(err)
	}
	e := k.End(c)
	if e.Status != kernel.Interrupted {
		t.Errorf("%+v", e)
	}
	k.Run("e", `stopifnot(sum(x) == 6)`, kernel.OK)
	k.Run("input", `x <- readline("name? ")`, kernel.Interrupted)
	if !strings.Contains(k.Output("input"), "nobody can answer") {
		t.Errorf("output %q", k.Output("input"))
	}
	k.Run("after", `stopifnot(sum(x) == 6)`, kernel.OK)
	if stacks, err := k.Stacks(t.Context()); stacks != "" || err != nil {
		t.Error(stacks, err)
	}
	e = k.Run("f", `system("kill -9 $PPID")`, kernel.Lost)
	if e.Death == nil || e.Death.Signal != "SIGKILL" {
		t.Errorf("%+v", e)
	}
}

// TestJavaScript runs tslab, which cannot use Unix sockets, and publishes errors as text.
func TestJavaScript(t *testing.T) {
	t.Parallel()
	program, dir := tslab(t)
	root := t.TempDir()
	install(t, root, "jslab", fmt.Sprintf(`{"argv": [%q, "kernel", "--config-path={connection_file}", "--js"], "display_name": "JavaScript", "language": "javascript"}`, program))
	k := start(t, kernel.Spec{Name: "jslab", Dir: dir, Environ: environ(t, "JUPYTER_PATH="+root), Silence: 2 * time.Second})
	k.Await("warning", func(m kernel.Message) bool { return strings.Contains(m.Text, "other users of this machine can read") })
	if got := k.Info().Language; got != "javascript" {
		t.Errorf("language %q", got)
	}
	k.Run("a", `const x = 20; console.log("out"); x + 1`, kernel.OK)
	k.AwaitOutput("a", "21") // a value is text
	k.Run("b", `throw new Error("bad")`, kernel.Failed)
	if got := k.Output("b"); !strings.Contains(got, "bad") {
		t.Errorf("output %q", got)
	}
	k.Run("c", `if (x !== 20) throw new Error()`, kernel.OK)
	e := k.Run("d", `process.exit(3)`, kernel.Lost)
	if e.Death == nil || e.Death.Exit == nil || *e.Death.Exit != 3 {
		t.Errorf("%+v", e)
	}
}

// tslab returns the program of the JavaScript kernel, and the folder with its types of Node.
func tslab(t *testing.T) (program, dir string) {
	t.Helper()
	folder := os.Getenv("PAWL_TSLAB")
	if folder == "" {
		folder = filepath.Join("..", "..", "..", "bin", "_tslab")
	}
	dir, err := filepath.Abs(folder)
	if err != nil {
		t.Fatal(err)
	}
	program = filepath.Join(dir, "node_modules", ".bin", "tslab")
	if _, err := os.Stat(program); err != nil {
		t.Fatal(err, "; make test-kernels installs it")
	}
	return program, dir
}
