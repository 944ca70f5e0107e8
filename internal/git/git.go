// Package git runs git for questions about a repository that may have arrived with a clone or an archive. It is the only
// package that starts git.
//
// git finds the repository itself, so that it refuses one of another user (safe.directory). No setting or attribute of
// the repository can start a program: hooks, filters, external diffs, signature checks, pagers, credential helpers and
// transports are off. The program is one that the user installed, never a file of the project.
package git

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// overrides are settings that replace those of the repository, so that no command starts another program.
var overrides = []string{
	"core.fsmonitor=false", "core.hooksPath=/dev/null", "core.pager=cat", "core.editor=false", "core.askPass=false",
	"core.sshCommand=false", "core.gitProxy=false", "core.alternateRefsCommand=false", "core.untrackedCache=false",
	"credential.helper=", "diff.external=", "diff.trustExitCode=false", "interactive.diffFilter=",
	"gpg.program=false", "gpg.openpgp.program=false", "gpg.x509.program=false", "gpg.ssh.program=false", "log.showSignature=false",
	"protocol.allow=never", "protocol.ext.allow=never", "protocol.file.allow=never", "submodule.recurse=false",
	"gc.auto=0", "maintenance.auto=false", "blame.ignoreRevsFile=",
}

// keptVariables are the variables of the user's environment that git gets, of those whose names begin with GIT_. The
// others name a repository, programs or settings: a git hook sets them for its own repository.
var keptVariables = []string{"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CEILING_DIRECTORIES"}

// questions are the commands that only read, and neither compare nor show the content of files: filters and text
// conversions, which no setting turns off, would start for that. For blame, see Blame.
var questions = []string{
	"blame", "config", "diff-index", "diff-tree", "for-each-ref", "log", "ls-files", "ls-tree", "merge-base", "rev-parse", "symbolic-ref",
}

// Command returns a git command in a folder, with the environment env. It takes no locks and never prompts. It fails if git cannot read
// the settings there in time.
func Command(ctx context.Context, folder string, env []string, args ...string) (*exec.Cmd, error) {
	cmd, err := command(ctx, folder, env, args...)
	if err == nil {
		err = readable(folder, env)
	}
	if err != nil {
		return nil, err
	}
	return cmd, nil
}

// settingsLimit is how long git may take to read its settings. It usually takes milliseconds.
const settingsLimit = 3 * time.Second

var (
	unreadable = map[string]bool{} // by folder; guarded by reading
	reading    sync.Mutex
)

// readable returns an error if git does not end reading the settings in a folder: a settings file of the repository, or one that it
// includes, can be a pipe, and git waits for its other end for ever. It asks once for each folder.
func readable(folder string, env []string) error {
	reading.Lock()
	defer reading.Unlock()
	hangs, known := unreadable[folder]
	if !known {
		program, all, err := commandLine(folder, []string{"config", "--get", "core.bare"})
		if err != nil {
			return err
		}
		hangs, _ = runFor(settingsLimit, prepared(exec.Command(program, all...), folder, env)) // it fails for what is not set
		unreadable[folder] = hangs
	}
	return hanging(folder, hangs)
}

// hanging returns an error if git hangs in a folder.
func hanging(folder string, hangs bool) error {
	if !hangs {
		return nil
	}
	return fmt.Errorf("git has not read its settings in %s after %s; is one of the files a pipe?", folder, settingsLimit)
}

// runFor runs a command for a limited time. late reports whether it killed the command after that time.
func runFor(limit time.Duration, cmd *exec.Cmd) (late bool, err error) {
	if err := cmd.Start(); err != nil {
		return false, err
	}
	alarm := time.AfterFunc(limit, func() { _ = cmd.Process.Kill() }) // Wait reports it
	err = cmd.Wait()
	return !alarm.Stop(), err
}

func command(ctx context.Context, folder string, env []string, args ...string) (*exec.Cmd, error) {
	program, all, err := commandLine(folder, args)
	if err != nil {
		return nil, err
	}
	return prepared(exec.CommandContext(ctx, program, all...), folder, env), nil
}

// commandLine returns the program and the arguments of a git command, if it only asks.
func commandLine(folder string, args []string) (program string, all []string, err error) {
	command := slices.IndexFunc(args, func(arg string) bool { return !strings.HasPrefix(arg, "-") })
	if command < 0 || !slices.Contains(questions, args[command]) {
		return "", nil, fmt.Errorf("git %q may change the repository: pawl runs only commands that read", args)
	}
	if program, err = Program(folder); err != nil {
		return "", nil, err
	}
	all = []string{"--no-optional-locks", "--no-pager"}
	for _, setting := range overrides {
		all = append(all, "-c", setting)
	}
	return program, append(all, args...), nil
}

// prepared sets the folder and the environment of a git command.
func prepared(cmd *exec.Cmd, folder string, env []string) *exec.Cmd {
	cmd.Dir = folder
	cmd.Env = append(slices.DeleteFunc(slices.Clone(env), isUnwanted),
		"GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_ATTR_NOSYSTEM=1", "LC_ALL=C")
	return cmd
}

func isUnwanted(variable string) bool {
	name, _, _ := strings.Cut(variable, "=")
	return strings.HasPrefix(name, "GIT_") && !slices.Contains(keptVariables, name) || name == "LC_ALL"
}

// Output runs git in a folder and returns its output.
func Output(ctx context.Context, folder string, args ...string) ([]byte, error) {
	cmd, err := Command(ctx, folder, os.Environ(), args...)
	if err != nil {
		return nil, err
	}
	return cmd.Output()
}

// Program returns the absolute path of git. It ignores relative folders in PATH and programs in the given folder, which
// the project may contain.
func Program(folder string) (string, error) {
	folder, err := realPath(folder)
	if err != nil {
		return "", fmt.Errorf("find git: %w", err)
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		path, err := exec.LookPath(filepath.Join(dir, "git"))
		if err != nil || isBelow(path, folder) {
			continue
		}
		if target, err := filepath.EvalSymlinks(path); err == nil && !isBelow(target, folder) {
			return path, nil
		}
	}
	return "", fmt.Errorf("find git outside of %s: %w", folder, exec.ErrNotFound)
}

func realPath(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}

// isBelow reports whether a program lies in a folder. The user's home folder and the file system's root contain the
// user's own programs.
func isBelow(path, folder string) bool {
	if home, err := os.UserHomeDir(); err == nil && within(home, folder) {
		return false
	}
	return within(path, folder)
}

func within(path, folder string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}
