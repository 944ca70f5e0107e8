// Package daemon is the command `pawl serve`.
package daemon

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"pawl/internal/cli/signals"
	"pawl/internal/disk"
	"pawl/internal/httpaccess"
	"pawl/internal/userdir"
)

// Options configure the daemon of all projects.
type Options struct {
	Out, Log  io.Writer
	Version   string
	Listen    string // loopback host:port; empty: a free port of 127.0.0.1
	TokenFile string // has Token
	Token     string // that clients must send
}

// Command returns the command. serve runs the daemon until its context ends.
func Command(o Options, serve func(context.Context, Options) error) *cobra.Command {
	c := &cobra.Command{
		Use:   "serve",
		Short: "Resume interrupted runs in all of your projects, and serve their state over HTTP",
		Long: "Resume interrupted runs in all of your projects, and serve their state over HTTP\n\nserve looks at every project that you have used, at its start and then every 15 seconds. It resumes a run in the background if the\n" +
			"run's engine died, if an engine left running attempts behind, or if you answered what the run waited for. It leaves alone what you\n" +
			"paused or stopped, what waits for you, and projects that you do not trust. Once it listens, it prints its address and the file with\n" +
			"its token. Ctrl-C or SIGTERM ends serve; the runs continue.",
		Example: "  pawl serve\n  pawl serve --listen 127.0.0.1:7778",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			if o.TokenFile == "" {
				o.TokenFile, err = ownToken()
			}
			if err == nil {
				o.Token, err = httpaccess.ReadToken(o.TokenFile)
			}
			if err != nil {
				return err
			}
			soft, _, release := signals.Contexts(c.Context())
			defer release()
			return serve(soft, o)
		},
	}
	c.Flags().StringVar(&o.Listen, "listen", "", "serve HTTP at `ADDRESS`, a loopback address (default: a free port of 127.0.0.1)")
	c.Flags().StringVar(&o.TokenFile, "token-file", "", "read the token that clients must send from `FILE` (default: a file in your state folder, which serve creates)")
	return c
}

// ownToken returns the file of the server's token in the user's state folder. It creates the file if there is none.
func ownToken() (string, error) {
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
