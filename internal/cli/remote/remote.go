// Package remote has the commands that work on a project of a server, by its HTTP API: `pawl --server URL status`.
//
// A command keeps its flags and its output; only what it reads and does is the server's. The table verbs has the commands.
package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli/hints"
	"pawl/internal/disk"
	"pawl/internal/httpaccess"
	"pawl/internal/project"
	"pawl/internal/server/client"
	"pawl/internal/shellwords"
	"pawl/internal/tokens"
	"pawl/internal/userdir"
)

// Variable is the environment variable with the URL of the server.
const Variable = "PAWL_SERVER"

// tokenVariable is the environment variable with the file that has the token.
const tokenVariable = "PAWL_SERVER_TOKEN_FILE"

// Flags are the flags that name the server and a project.
type Flags struct{ URL, Project string }

// Add adds the flags to a command and those below it.
func (f *Flags) Add(c *cobra.Command) {
	c.PersistentFlags().StringVar(&f.URL, "server", "", "use a project of the pawl serve at `URL` (default: $"+Variable+")")
	c.PersistentFlags().StringVar(&f.Project, "server-project", "", "with --server: the `PROJECT`, by its id or by the end of its path there (default: that of the current folder, else the only one)")
}

// Command is a command line that a server is to do.
type Command struct {
	Flags
	Out, Err    io.Writer
	Folder      string // the current one
	JSON        bool
	Interactive bool // a person sees the output and can type
	Getenv      func(string) string
}

// local are commands that have nothing to do with a project: the variable does not redirect them.
var local = []string{"version", "schema", "completion", "help", "serve", "mcp", "hook", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd}

// Redirect has a command do its work on a server, if the flag or the variable names one. redirected is false without one.
func (x Command) Redirect(c *cobra.Command) (redirected bool, err error) {
	given := x.URL != ""
	if !given {
		x.URL = x.Getenv(Variable)
	}
	name := strings.TrimPrefix(c.CommandPath(), "pawl ")
	first, _, _ := strings.Cut(name, " ")
	if x.URL == "" || !given && (slices.Contains(local, first) || c.Parent() == nil) {
		return false, nil
	}
	verb, known := verbs[name]
	if !known {
		return false, x.refuse(given, "pawl "+name, fmt.Sprintf("pawl %s does not work with a server; use it on the machine of the project", name))
	}
	if !onlyHas(c, slices.Concat(verb.flags, general)) {
		return false, x.refuse(given, "pawl "+name, fmt.Sprintf("with a server, pawl %s has only these flags: --%s", name, strings.Join(verb.flags, ", --")))
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		s, err := x.connect(c)
		if err != nil {
			return err
		}
		return verb.do(c.Context(), s, args)
	}
	return true, nil
}

// general are flags of all commands.
var general = []string{"directory", "color", "server", "server-project", "help"}

// onlyHas reports whether a command line has no other flags than these.
func onlyHas(c *cobra.Command, names []string) bool {
	given := 0
	for _, name := range names {
		if c.Flags().Changed(name) {
			given++
		}
	}
	return given == c.Flags().NFlag()
}

// refuse returns the error that a command works only where the project is.
func (x Command) refuse(given bool, command, why string) error {
	if !given {
		command = "env -u " + Variable + " " + command
	}
	return usage(command, "%s", why)
}

// session is a command that uses a project of a server.
type session struct {
	Command
	*client.Client
	command *cobra.Command
	project client.Project
}

// connect finds the token and the project.
func (x Command) connect(c *cobra.Command) (*session, error) {
	token, err := x.token()
	if err != nil {
		return nil, err
	}
	to, err := client.New(x.URL, token)
	if err != nil {
		return nil, err
	}
	s := &session{Command: x, Client: to, command: c}
	if c.Name() == "runs" && s.flag("all") == "true" {
		return s, nil
	}
	s.project, err = s.find(c.Context())
	return s, err
}

// token returns the token for the server: that of the file that the environment names, that of the file of the server's name in the
// user's settings, or, of a server of this user on this machine, the server's own.
func (x Command) token() (string, error) {
	if err := client.CheckURL(x.URL); err != nil {
		return "", err
	}
	if path := x.Getenv(tokenVariable); path != "" {
		return httpaccess.ReadToken(path)
	}
	u, err := url.Parse(x.URL)
	if err != nil {
		return "", err
	}
	path, err := userdir.ConfigOf(x.Getenv, "servers", u.Host)
	if err != nil {
		return "", err
	}
	if _, err := disk.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return httpaccess.ReadToken(path)
	}
	store, err := tokens.Open()
	if err != nil {
		return "", err
	}
	running, err := store.Servers()
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(running, func(s tokens.Server) bool { return s.URL == strings.TrimRight(x.URL, "/") }) {
		return httpaccess.ReadToken(filepath.Join(store.Folder, "token"))
	}
	hint := fmt.Sprintf("(umask 077; mkdir -p %s; cat > %s)", shellwords.Word(filepath.Dir(path)), shellwords.Word(path))
	return "", usage(hint, "no token for %s: write the one that pawl serve token create prints on its machine to %s", u.Host, path)
}

// find returns the project that the command is about.
func (s *session) find(ctx context.Context) (client.Project, error) {
	all, err := s.Projects(ctx)
	if err != nil {
		return client.Project{}, err
	}
	matches := func(p client.Project) bool { return true }
	here, hereErr := project.FindOrMain(s.Folder)
	switch name := s.Flags.Project; {
	case name != "":
		matches = func(p client.Project) bool {
			return p.ID == name || p.Path == name || strings.HasSuffix(p.Path, "/"+name)
		}
	case hereErr == nil:
		matches = func(p client.Project) bool { return p.ID == here.ID }
	}
	found := slices.DeleteFunc(slices.Clone(all), func(p client.Project) bool { return !matches(p) })
	if len(found) == 1 {
		return s.Client.Project(ctx, found[0].ID)
	}
	var paths []string
	for _, p := range all {
		paths = append(paths, p.Path)
	}
	what := fmt.Sprintf("the server does not serve the project of this folder, %s", s.Folder)
	if s.Flags.Project != "" || len(found) > 1 {
		what = fmt.Sprintf("%d projects of the server match %q", len(found), s.Flags.Project)
	}
	return client.Project{}, usage("pawl runs --all --server "+shellwords.Word(s.URL), "%s; name one with --server-project: %s", what, strings.Join(paths, ", "))
}

// run returns the run that a name stands for: an id, a unique beginning of one, latest, or, empty, the current run.
func (s *session) run(ctx context.Context, name string) (client.Run, error) {
	if name == "" {
		if s.project.Run == "" {
			return client.Run{}, &pawl.Error{Kind: pawl.KindNothing, Err: errors.New("no runs yet")}
		}
		return client.Run{Project: s.project.ID, ID: s.project.Run}, nil
	}
	all, err := s.Runs(ctx, s.project.ID)
	if err != nil {
		return client.Run{}, err
	}
	var found []pawl.RunID
	for i, r := range all {
		if string(r.Run) == name || name == "latest" && i == 0 {
			return client.Run{Project: s.project.ID, ID: r.Run}, nil
		}
		if strings.HasPrefix(string(r.Run), name) {
			found = append(found, r.Run)
		}
	}
	switch len(found) {
	case 0:
		return client.Run{}, pawl.ErrNoRun
	case 1:
		return client.Run{Project: s.project.ID, ID: found[0]}, nil
	}
	return client.Run{}, usage("pawl runs", "%q matches %d runs", name, len(found))
}

// current returns the current run, which a name may also name: the server acts on no other one.
func (s *session) current(ctx context.Context, name string) (client.Run, error) {
	run, err := s.run(ctx, name)
	if err == nil && run.ID != s.project.Run {
		err = usage("", "run %s is not the current run of the project, %s: with a server, only that can be changed", run.ID, s.project.Run)
	}
	return run, err
}

// onRun names a run in commands, unless it is the current one.
func (s *session) onRun(run client.Run) func(command string) string {
	return func(command string) string {
		if run.ID == s.project.Run {
			return command
		}
		return hints.WithRun(command, run.ID)
	}
}

// flag returns the value of a flag; "" if the command has none of this name.
func (s *session) flag(name string) string {
	if f := s.command.Flags().Lookup(name); f != nil {
		return f.Value.String()
	}
	return ""
}

func (s *session) print(v any) error {
	enc := json.NewEncoder(s.Out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

func usage(hint, format string, args ...any) error {
	return &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf(format, args...), Hint: hint}
}

// at returns the argument at i, or "".
func at(args []string, i int) string {
	if i < len(args) {
		return args[i]
	}
	return ""
}
