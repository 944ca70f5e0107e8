package schedule

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"pawl/internal/disk"
)

// Service is the service of `pawl serve`, which starts with the user's systemd.
type Service struct {
	Program string   // path of pawl
	Args    []string // of pawl
	Env     []string // NAME=value, for pawl: what systemd does not pass on
}

// ServiceUnit is the name of the unit.
const ServiceUnit = "pawl-serve.service"

// serviceRecord says that pawl wrote the unit.
const serviceRecord = "[X-Pawl]\nService=serve\n"

// Check returns an error if a path or value cannot be written into the unit.
func (s Service) Check() error { return check(s.Program, s.Args, s.Env) }

// Unit returns the content of the unit.
func (s Service) Unit() string {
	var b strings.Builder
	b.WriteString("# Written by pawl serve --install. To remove it: pawl serve --uninstall\n" +
		"[Unit]\nDescription=pawl serve: resumes interrupted runs in all projects\n\n[Service]\nType=notify\n")
	writeCommand(&b, s.Program, s.Args, s.Env)
	b.WriteString("Restart=on-failure\n# 2: wrong usage, such as an address in use\nRestartPreventExitStatus=2\nTimeoutStopSec=30s\n" +
		"# Engines and steps survive the server: systemd ends only the server itself, also if a step runs out of memory.\n" +
		"KillMode=process\nOOMPolicy=continue\n# Each step runs in a control group of its own below the service's.\nDelegate=yes\n\n" +
		"[Install]\nWantedBy=default.target\n\n" + serviceRecord)
	return b.String()
}

// ServicePath returns the path of the unit.
func ServicePath() (string, error) {
	folder, err := Folder()
	return filepath.Join(folder, ServiceUnit), err
}

// Install writes the unit, or replaces the one that an earlier Install wrote. It does not start the service. It reports whether
// anything changed.
func (s Service) Install() (changed bool, err error) {
	path, err := ServicePath()
	if err != nil {
		return false, err
	}
	installed, err := serviceInstalled(path)
	if err != nil {
		return false, err
	}
	if string(installed) == s.Unit() {
		return false, nil
	}
	if err := disk.MakeFolders(filepath.Dir(path)); err != nil {
		return false, err
	}
	return true, disk.Replace(path, []byte(s.Unit()))
}

// serviceInstalled returns the unit that an earlier Install wrote, nil if there is none. A unit that others wrote is an error.
func serviceInstalled(path string) ([]byte, error) {
	data, err := disk.ReadFile(path, maxUnit)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !bytes.Contains(data, []byte(serviceRecord)):
		return nil, fmt.Errorf("%s was not written by pawl serve --install", path)
	}
	return data, nil
}

// Enable returns the commands that start the service.
func (s Service) Enable() [][]string {
	return [][]string{{"daemon-reload"}, {"enable", ServiceUnit}, {"restart", ServiceUnit}}
}

// ServiceInstalled reports whether Install has written the unit.
func ServiceInstalled() (bool, error) {
	path, err := ServicePath()
	if err != nil {
		return false, err
	}
	data, err := serviceInstalled(path)
	return data != nil, err
}

// RemoveService deletes the unit, and the link that enables it. A unit that others wrote stays.
func RemoveService() error {
	if installed, err := ServiceInstalled(); err != nil || !installed {
		return err
	}
	path, err := ServicePath()
	if err != nil {
		return err
	}
	if err := removeLink(filepath.Dir(path), "default.target.wants", ServiceUnit); err != nil {
		return err
	}
	return disk.Remove(path)
}

// DisableService returns the command that stops the service. Engines that it started continue.
func DisableService() []string { return []string{"disable", "--now", ServiceUnit} }
