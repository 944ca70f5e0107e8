package cli

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"pawl/internal/cli/layout"
	"pawl/internal/cli/signals"
	"pawl/internal/disk"
	"pawl/internal/httpaccess"
	"pawl/internal/userdir"
)

// Daemon configures the daemon of all projects.
type Daemon struct {
	IO
	Version   string
	Listen    string // loopback host:port; empty: a free port of 127.0.0.1
	TokenFile string // has Token
	Token     string // that clients must send
}

func (a *app) serveCommand() *cobra.Command {
	var d Daemon
	c := &cobra.Command{
		Use:   "serve",
		Short: "Resume interrupted runs in all of your projects, and serve their state over HTTP",
		Long: "Resume interrupted runs in all of your projects, and serve their state over HTTP\n\nserve looks at every project that you have used, at its start and then every 15 seconds. It resumes a run in the background if the\n" +
			"run's engine died, if an engine left running attempts behind, or if you answered what the run waited for. It leaves alone what you\n" +
			"paused or stopped, what waits for you, and projects that you do not trust. Once it listens, it prints its address and the file with\n" +
			"its token. Ctrl-C or SIGTERM ends serve; the runs continue.",
		Example: "  pawl serve\n  pawl serve --listen 127.0.0.1:7778",
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.serve(c.Context(), d)
		},
	}
	c.Flags().StringVar(&d.Listen, "listen", "", "serve HTTP at `ADDRESS`, a loopback address (default: a free port of 127.0.0.1)")
	c.Flags().StringVar(&d.TokenFile, "token-file", "", "read the token that clients must send from `FILE` (default: a file in your state folder, which serve creates)")
	return c
}

func (a *app) serve(ctx context.Context, d Daemon) (err error) {
	if d.TokenFile == "" {
		d.TokenFile, err = serverToken()
	}
	if err == nil {
		d.Token, err = httpaccess.ReadToken(d.TokenFile)
	}
	if err != nil {
		return err
	}
	d.IO, d.Version = IO{In: a.In, Out: layout.Unfiltered(a.Out), Err: a.Err}, a.version
	soft, _, release := signals.Contexts(ctx)
	defer release()
	return a.parts.Serve(soft, d)
}

// serverToken returns the file of the server's token in the user's state folder. It creates the file if there is none.
func serverToken() (string, error) {
	path, err := userdir.State("serve", "token")
	if err != nil {
		return "", err
	}
	_, missing := disk.Lstat(path)
	if !errors.Is(missing, fs.ErrNotExist) {
		return path, missing
	}
	return path, cmp.Or(disk.MakeFolders(filepath.Dir(path)), disk.Put(path, []byte(disk.RandomHex(32)+"\n")))
}
