package jupyter_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"pawl/internal/kernel"
	"pawl/internal/kernel/jupyter"
	"pawl/internal/kernel/kerneltest"
)

func TestConformancePython(t *testing.T) {
	can := kerneltest.Everything()
	can.Order = false   // ipykernel reads the descriptors in a thread of its own
	can.Durable = false // what is printed waits for that thread
	can.Threads = false // before ipykernel 6.30 a thread prints for the cell that runs
	kerneltest.Run(t, kerneltest.Config{
		Driver:   jupyter.Driver{},
		Prepare:  func(_ testing.TB, spec *kernel.Spec) { spec.Python = kernel.Interpreter{Path: python(), Why: "test"} },
		Language: kerneltest.Python("from IPython.display import display, update_display, clear_output\n"),
		Can:      can,
	})
}

// TestConformanceR: R answers nothing on the control channel, and prints at the end of a cell.
func TestConformanceR(t *testing.T) {
	kerneltest.Run(t, kerneltest.Config{
		Driver:  jupyter.Driver{},
		Prepare: func(_ testing.TB, spec *kernel.Spec) { spec.Name = "ir" },
		Can:     kerneltest.Can{Local: true, Interrupts: true, Children: true},
		Language: kerneltest.Language{
			Name: "r", Pass: "invisible(1)", Numbered: "number",
			Both:  `cat("to stdout\n"); message("to stderr")`,
			Print: func(text string) string { return fmt.Sprintf(`cat(%s, "\n", sep="")`, quoted(text)) },
			Set:   func(name string, value int) string { return fmt.Sprintf("%s <- %d", name, value) },
			Value: func(name string) string { return name },
			Fail:  "blame <- function() stop('what went wrong')\nblame()",
			Input: `readline("a question")`,
			Lines: func(lines, length int) string {
				return fmt.Sprintf(`for (i in 0:%d) cat(sprintf("%%08d", i), strrep("x", %d), "\n", sep="")`, lines-1, length-9)
			},
			Many: func(n int) string {
				return fmt.Sprintf(`for (i in 0:%d) IRdisplay::display_text(as.character(i))`, n-1)
			},
			Rich:    `structure(1, class="rich"); repr_html.rich <- function(obj, ...) "<b>rich</b>"; repr_text.rich <- function(obj, ...) "rich"; IRdisplay::publish_mimebundle(list("text/html"="<b>rich</b>", "text/plain"="rich"))`,
			Loop:    `IRdisplay::display_text("running"); repeat 1`,
			Sleep:   `IRdisplay::display_text("running"); Sys.sleep(3600)`,
			Kill:    `tools::pskill(Sys.getpid(), 9)`,
			Exit:    `quit(status=3)`,
			Crash:   `tools::pskill(Sys.getpid(), 11)`,
			Exhaust: `mem.maxVSize(1e3); x <- numeric(1e9)`,
			Leave:   `cat(system("sleep 3600 >/dev/null & echo $!; setsid sleep 3600 >/dev/null & echo $!", intern=TRUE))`,
			WaitFor: func(path string) string {
				return fmt.Sprintf(`while (!file.exists(%s)) Sys.sleep(0.01); cat("found\n")`, quoted(path))
			},
			Environ: `e <- Sys.getenv(); e <- e[names(e) != "PWD"]; cat(paste0(names(e), "=", e, "\n"), sep=""); cat("PWD=", getwd(), "\n", sep="")`,
		},
	})
}

func quoted(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(data)
}
