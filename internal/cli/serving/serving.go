// Package serving has the commands of `pawl serve`: the server, the link that opens its page, its tokens and its projects.
package serving

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli/helptext"
	"pawl/internal/cli/layout"
	"pawl/internal/cli/scheduling"
	"pawl/internal/cli/signals"
	"pawl/internal/httpaccess"
	"pawl/internal/project"
	"pawl/internal/tokens"
)

// Commands are what the commands need.
type Commands struct {
	Out, Err io.Writer
	Serve    func(ctx context.Context, s httpaccess.Service, out, log io.Writer) error // runs the server
	Login    func() string                                                             // name of the user
	Folder   func() (string, error)                                                    // the current one
}

// Root returns the command `pawl serve`, with its subcommands.
func (x Commands) Root() *cobra.Command {
	var s httpaccess.Service
	var unit scheduling.Serve
	c := &cobra.Command{
		Use:     "serve",
		Short:   "Resume interrupted runs in all of your projects, and serve their state over HTTP",
		Long:    helptext.Serve,
		Example: "  pawl serve\n  pawl serve --listen 127.0.0.1:7778\n  pawl serve open\n  pawl serve --install",

		Annotations: map[string]string{helptext.Alone: "yes"},
		RunE: func(c *cobra.Command, _ []string) error {
			if unit.Given() {
				unit.Service = s
				if unit.Install && unit.Postgres != "" {
					if _, err := readDSN(unit.Postgres); err != nil {
						return err
					}
				}
				return unit.Do(c.Context(), x.Out)
			}
			if err := s.ReadToken("serve"); err != nil {
				return err
			}
			if unit.Postgres != "" {
				if err := useDatabase(c.Context(), unit.Postgres); err != nil {
					return err
				}
				s.Private = unit.Postgres
			}
			soft, _, release := signals.Contexts(c.Context())
			defer release()
			return x.Serve(soft, s, layout.Unfiltered(x.Out), x.Err)
		},
	}
	c.Flags().StringVar(&s.Address, "listen", "", "serve HTTP at `ADDRESS`; any but a loopback address needs --tls-cert or --behind-proxy (default: a free port of 127.0.0.1)")
	c.Flags().StringVar(&s.TokenFile, "token-file", "", "read the token that clients must send from `FILE` (default: a file in your state folder, which serve creates)")
	c.Flags().StringVar(&s.Cert, "tls-cert", "", "serve HTTPS with the certificate in `FILE`, under the names that it has")
	c.Flags().StringVar(&s.Key, "tls-key", "", "the certificate's private key is in `FILE`")
	c.Flags().StringVar(&s.Proxy, "behind-proxy", "", "a proxy with HTTPS serves the server at `URL`, and passes the Host header on")
	c.Flags().StringVar(&unit.Postgres, "postgres", "", "use the Postgres database whose DSN is in `FILE` for runs that are stored in one, and create its schema")
	c.Flags().BoolVar(&unit.Install, "install", false, "install and start a service of your systemd that runs pawl serve; it listens at "+scheduling.DefaultAddress+" unless --listen is given")
	c.Flags().BoolVar(&unit.Uninstall, "uninstall", false, "stop and remove that service")
	token := &cobra.Command{Use: "token", Short: "Manage the tokens of the server's clients"}
	token.AddCommand(x.create(), x.list(), x.revoke())
	c.AddCommand(x.open(), token, x.add(), x.remove())
	return c
}

// now is the current time. Rights and times of tokens are computed from it.
func now() time.Time { return time.Now() }

func (x Commands) open() *cobra.Command {
	var rights, address string
	c := &cobra.Command{
		Use:     "open",
		Short:   "Print a link that logs a browser in, once, within two minutes",
		Long:    "Print a link that logs a browser in, once, within two minutes\n\nThe session lasts twelve hours. pawl serve token list shows it, pawl serve token revoke ends it.",
		Example: "  pawl serve open\n  pawl serve open --rights read",
		Args:    none,
		RunE: func(*cobra.Command, []string) error {
			granted, err := parseRights(rights)
			if err != nil {
				return err
			}
			store, err := tokens.Open()
			if err != nil {
				return err
			}
			running, err := store.Servers()
			if err != nil {
				return err
			}
			for _, server := range running {
				if address != "" && server.URL != "http://"+address && server.URL != "https://"+address {
					continue
				}
				code, err := store.Link(cmp.Or(x.Login(), "person"), granted, now())
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(x.Out, "%s/login#%s\n", server.URL, code)
				return err
			}
			return &pawl.Error{Kind: pawl.KindNothing, Err: errors.New("no server is running" + at(address)), Hint: "pawl serve"}
		},
	}
	c.Flags().StringVar(&rights, "rights", tokens.List(tokens.Rights), "what the browser may do: `LIST` of "+tokens.List(tokens.Rights))
	c.Flags().StringVar(&address, "listen", "", "of the server at `ADDRESS` (default: the one that was started last)")
	return c
}

func at(address string) string {
	if address == "" {
		return ""
	}
	return " at " + address
}

func (x Commands) create() *cobra.Command {
	var rights, expires string
	var asJSON bool
	c := &cobra.Command{
		Use:     "create NAME",
		Short:   "Create a token for a client, and print it once",
		Long:    "Create a token for a client, and print it once\n\n" + helptext.Rights,
		Example: "  pawl serve token create dashboard --rights read --expires 90d",
		Args:    named("NAME"),
		RunE: func(_ *cobra.Command, args []string) error {
			granted, err := parseRights(rights)
			if err != nil {
				return err
			}
			lasts, err := ParseLasting(expires)
			if err != nil {
				return usage("pawl serve token create --help", "%v", err)
			}
			store, err := tokens.Open()
			if err != nil {
				return err
			}
			token, secret, err := store.Create(args[0], granted, lasts, now())
			if err != nil {
				return err
			}
			if asJSON {
				token.SHA256 = ""
				return x.print(struct {
					tokens.Token
					Secret string `json:"secret"`
				}{token, secret})
			}
			fmt.Fprintf(x.Err, "pawl: token %s: %s, until %s; it is not shown again\n", token.Name, tokens.List(token.Rights), layout.UTCWithZone(token.Expires))
			_, err = fmt.Fprintln(x.Out, secret)
			return err
		},
	}
	c.Flags().StringVar(&rights, "rights", tokens.List(tokens.Default), "what the client may do: `LIST` of "+tokens.List(tokens.Rights))
	c.Flags().StringVar(&expires, "expires", "30d", "how long the token lasts: `TIME`, such as 12h or 30d")
	c.Flags().BoolVar(&asJSON, "json", false, "output JSON")
	return c
}

func (x Commands) list() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "List the tokens, and the sessions of browsers", Args: none,
		RunE: func(*cobra.Command, []string) error {
			store, err := tokens.Open()
			if err != nil {
				return err
			}
			all, err := store.List(now())
			if err != nil {
				return err
			}
			if asJSON {
				return x.print(all)
			}
			rows := make([][]string, 0, len(all))
			for _, t := range all {
				rows = append(rows, []string{t.ID, t.Name, string(t.Kind), tokens.List(t.Rights), layout.UTC(t.Created), layout.UTC(t.Expires)})
			}
			return layout.Table(x.Out, []string{"ID", "NAME", "KIND", "RIGHTS", "CREATED (UTC)", "EXPIRES (UTC)"}, rows)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "output JSON")
	return c
}

func (x Commands) revoke() *cobra.Command {
	return &cobra.Command{
		Use: "revoke NAME", Short: "Revoke a token and the sessions with its name, or one session by its id", Args: named("NAME"),
		RunE: func(_ *cobra.Command, args []string) error {
			store, err := tokens.Open()
			if err != nil {
				return err
			}
			ended, err := store.Revoke(args[0], now())
			if err == nil {
				fmt.Fprintf(x.Out, "revoked %s\n", layout.Count(ended, "token"))
			}
			return err
		},
	}
}

func (x Commands) add() *cobra.Command {
	return x.served("add", "Have the server serve a project of yours", true)
}

func (x Commands) remove() *cobra.Command {
	return x.served("remove", "Have the server leave a project alone; the project itself does not change", false)
}

// served builds a command that changes whether projects are served.
func (x Commands) served(verb, short string, served bool) *cobra.Command {
	return &cobra.Command{
		Use: verb + " [FOLDER…]", Short: short,
		Long: short + "\n\nThe server serves every project that you trust. The default for FOLDER is the current folder.",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"."}
			}
			for _, folder := range args {
				if err := x.setServed(folder, served); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func (x Commands) setServed(folder string, served bool) error {
	if !filepath.IsAbs(folder) {
		here, err := x.Folder()
		if err != nil {
			return err
		}
		folder = filepath.Join(here, folder)
	}
	p, err := project.Find(folder)
	if err == nil {
		err = p.Trusted()
	}
	if err != nil {
		return err
	}
	for _, notice := range p.Register("", now()) {
		fmt.Fprintf(x.Err, "pawl: note: %s\n", notice)
	}
	if err := project.SetServed(p.ID, served, now()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(x.Out, "%s is %s\n", p.Root, map[bool]string{true: "served", false: "not served"}[served])
	return err
}

func (x Commands) print(v any) error {
	enc := json.NewEncoder(x.Out)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

func parseRights(list string) ([]tokens.Right, error) {
	rights, err := tokens.ParseRights(list)
	if err != nil {
		return nil, usage("pawl serve token create --help", "%v", err)
	}
	return rights, nil
}

// maxLasting is how long a token can last.
const maxLasting = 366 * 24 * time.Hour

// ParseLasting reads how long a token lasts: days, such as 30d, or a duration, such as 12h.
func ParseLasting(text string) (time.Duration, error) {
	lasts, err := time.ParseDuration(text)
	if days, isDays := strings.CutSuffix(text, "d"); isDays {
		n, daysErr := strconv.Atoi(days)
		lasts, err = time.Duration(min(n, 1000))*24*time.Hour, daysErr
	}
	if err != nil || lasts <= 0 || lasts > maxLasting {
		return 0, fmt.Errorf("invalid time %q: use a form such as 12h or 30d, at most 366d", text)
	}
	return lasts, nil
}

// none accepts no arguments.
func none(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes no arguments", c.Name())
	}
	return nil
}

// named accepts one argument.
func named(argument string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("%s needs one %s", c.Name(), argument)
		}
		return nil
	}
}

func usage(hint, format string, args ...any) error {
	return &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf(format, args...), Hint: hint}
}
