package interpreter

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"pawl"
	"pawl/internal/command"
)

//go:embed modules.py
var modulesProgram string

// ModulesLimit is how long an interpreter may take to say which modules it has: some are on slow network file systems.
const ModulesLimit = 20 * time.Second

// maxAnswer is the size of an interpreter's answer, in bytes. Whatever .pth files print comes before it.
const maxAnswer = 64 << 10

// answer is what modules.py prints in its last line.
type answer struct {
	Version string   `json:"version"`
	Missing []string `json:"missing"`
	Pip     bool     `json:"pip"`     // the interpreter has pip
	Managed bool     `json:"managed"` // a package manager of the system owns its modules
}

// Require fails if the interpreter is older than Python 3.8 or lacks one of the modules. Its error says how to install them. The
// interpreter sees the environment of the kernel, and no module in the current folder.
func (c Choice) Require(ctx context.Context, environ []string, as *pawl.Account, modules ...string) error {
	limited, cancel := context.WithTimeout(ctx, ModulesLimit)
	defer cancel()
	out, err := command.Run(limited, command.Command{
		Args: append([]string{c.Path, "-c", modulesProgram}, modules...),
		Dir:  "/", Environ: c.Environment(environ), RunAs: as, MaxOutput: maxAnswer, MaxError: 1000,
	})
	switch {
	case limited.Err() != nil && ctx.Err() == nil:
		return fmt.Errorf("%s (%s) did not answer within %s", c.Path, c.Why, ModulesLimit)
	case err != nil:
		return fmt.Errorf("%s (%s): %w", c.Path, c.Why, err)
	}
	said, err := parse(out)
	if err != nil {
		return fmt.Errorf("%s (%s) is no Python interpreter: %w", c.Path, c.Why, err)
	}
	return c.judge(said)
}

func parse(out string) (answer, error) {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var said answer
	err := json.Unmarshal([]byte(lines[len(lines)-1]), &said)
	return said, err
}

func (c Choice) judge(said answer) error {
	var major, minor int
	if n, _ := fmt.Sscanf(said.Version, "%d.%d", &major, &minor); n != 2 || major != 3 || minor < 8 {
		return fmt.Errorf(`%s (%s) is Python %s; pawl needs Python 3.8 or newer: set "python" to another interpreter`, c.Path, c.Why, said.Version)
	}
	if len(said.Missing) == 0 {
		return nil
	}
	names := strings.Join(said.Missing, " ")
	return missingError(fmt.Sprintf("%s (%s) has no module %s; install it with: %s", c.Path, c.Why, strings.ReplaceAll(names, " ", ", "), c.install(said, names)))
}

// ErrMissing is the error of an interpreter that lacks a module.
var ErrMissing = errors.New("missing module")

type missingError string

func (e missingError) Error() string        { return string(e) }
func (e missingError) Is(target error) bool { return target == ErrMissing }

// install returns the command that installs packages for the interpreter.
func (c Choice) install(said answer, names string) string {
	switch {
	case said.Managed && c.VirtualEnv == "":
		return "apt-get install python3-" + strings.ReplaceAll(strings.ReplaceAll(names, "_", "-"), " ", " python3-") +
			", or create a virtual environment: python3 -m venv .venv && .venv/bin/pip install " + names
	case said.Pip:
		return c.Path + " -m pip install " + names
	}
	return "uv pip install --python " + c.Path + " " + names
}
