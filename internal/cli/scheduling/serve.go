package scheduling

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"pawl"
	"pawl/internal/httpaccess"
	"pawl/internal/schedule"
)

// Serve installs or removes the service of pawl serve.
type Serve struct {
	Install            bool
	Uninstall          bool
	Postgres           string // the file that --postgres names
	httpaccess.Service        // the flags of pawl serve. Without an address the service listens at DefaultAddress.
}

// DefaultAddress is where an installed service listens. Unlike a free port, it is the same after each start.
const DefaultAddress = "127.0.0.1:7778"

// Given reports whether the command is about the service, and starts no server.
func (s Serve) Given() bool { return s.Install || s.Uninstall }

// Do installs or removes the service.
func (s Serve) Do(ctx context.Context, w io.Writer) error {
	switch {
	case s.Install && s.Uninstall:
		return usageError("", "--install and --uninstall cannot be combined")
	case s.Uninstall && (s.Service != httpaccess.Service{} || s.Postgres != ""):
		return usageError("pawl serve --uninstall", "--uninstall takes no other flag")
	case s.Uninstall:
		return removeService(ctx, w)
	}
	service, err := s.service()
	if err != nil {
		return err
	}
	if err := schedule.Available(); err != nil {
		return &pawl.Error{Kind: pawl.KindInternal, Err: fmt.Errorf("nothing is installed: %w; start pawl serve with your own service manager", err), Hint: "pawl serve"}
	}
	path, err := schedule.ServicePath()
	if err != nil {
		return err
	}
	showUnit(w, path, service.Unit())
	changed, err := service.Install()
	if err != nil {
		return err
	}
	if err := enable(ctx, w, service.Enable(), "the unit is written, but the service is not started"); err != nil {
		return err
	}
	fmt.Fprintf(w, "%s: %s, http://%s\n", installedOr(changed), schedule.ServiceUnit, s.Address)
	fmt.Fprintln(w, "services of a user run while that user is logged in; to run them always: loginctl enable-linger")
	return nil
}

// service returns the service, and sets the address that it listens at.
func (s *Serve) service() (schedule.Service, error) {
	if s.Address == "" {
		s.Address = DefaultAddress
	}
	if err := s.Remote.Check(s.Address, "pawl serve --install"); err != nil {
		return schedule.Service{}, err
	}
	if strings.HasSuffix(s.Address, ":0") {
		return schedule.Service{}, usageError("pawl serve --install", "--install needs a port that is the same after each start, not %s", s.Address)
	}
	program, err := os.Executable()
	if err != nil {
		return schedule.Service{}, err
	}
	args := []string{"serve", "--listen", s.Address}
	if s.TokenFile != "" {
		if _, err := httpaccess.ReadToken(s.TokenFile); err != nil {
			return schedule.Service{}, err
		}
	}
	for _, f := range []struct{ flag, path string }{{"--token-file", s.TokenFile}, {"--tls-cert", s.Cert}, {"--tls-key", s.Key}, {"--postgres", s.Postgres}} {
		if f.path == "" {
			continue
		}
		file, err := filepath.Abs(f.path)
		if err != nil {
			return schedule.Service{}, err
		}
		args = append(args, f.flag, file)
	}
	if s.Proxy != "" {
		args = append(args, "--behind-proxy", s.Proxy)
	}
	service := schedule.Service{Program: program, Args: args, Env: environment()}
	if err := service.Check(); err != nil {
		return service, usageError("", "%v", err)
	}
	return service, nil
}

// removeService stops and removes the service. There may be none.
func removeService(ctx context.Context, w io.Writer) error {
	installed, err := schedule.ServiceInstalled()
	if err != nil {
		return err
	}
	if !installed {
		fmt.Fprintln(w, "no service of pawl serve is installed")
		return nil
	}
	stopErr := schedule.Systemctl(ctx, schedule.DisableService())
	if err := schedule.RemoveService(); err != nil {
		return errors.Join(err, stopErr)
	}
	fmt.Fprintf(w, "removed: %s; runs continue\n", schedule.ServiceUnit)
	if err := schedule.Systemctl(ctx, []string{"daemon-reload"}); stopErr != nil || err != nil {
		fmt.Fprintf(w, "the service may run until systemd reads its units again: %v\n", errors.Join(stopErr, err))
	}
	return nil
}
