package schedule

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"pawl/internal/disk"
	"pawl/internal/userdir"
)

// Folder returns the folder of the user's units.
func Folder() (string, error) {
	config, err := userdir.Config()
	if err != nil {
		return "", err
	}
	return filepath.Join(filepath.Dir(config), "systemd", "user"), nil
}

// Installed is an installed schedule.
type Installed struct {
	Name     string // of the units, without suffix
	Project  string // id
	Root     string
	Plan     string // relative to the project, if it is there
	Schedule string // as the user wrote it
}

// Timer returns the name of the timer.
func (i Installed) Timer() string { return i.Name + ".timer" }

// maxUnit is the maximum size of a unit file that is read.
const maxUnit = 1 << 20

// List returns the schedules of a project, by plan.
func List(project string) ([]Installed, error) {
	folder, err := Folder()
	if err != nil {
		return nil, err
	}
	paths, err := disk.Glob(folder, prefix+"*.timer")
	if err != nil {
		return nil, err
	}
	var all []Installed
	for _, path := range paths {
		found, err := read(path)
		if err != nil {
			return nil, err
		}
		if found.Project == project && project != "" {
			all = append(all, found)
		}
	}
	slices.SortFunc(all, func(a, b Installed) int { return strings.Compare(a.Plan, b.Plan) })
	return all, nil
}

// PlanPath returns the path of the plan.
func (i Installed) PlanPath() string {
	if filepath.IsAbs(i.Plan) {
		return i.Plan
	}
	return filepath.Join(i.Root, i.Plan)
}

// PlanExists reports whether the plan is still there.
func (i Installed) PlanExists() bool {
	_, err := os.Stat(i.PlanPath())
	return err == nil
}

// read reads what a unit says about itself; the zero value if pawl did not write the unit.
func read(path string) (Installed, error) {
	found := Installed{Name: strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".timer"), ".service")}
	data, err := disk.ReadFile(path, maxUnit)
	if err != nil {
		return found, err
	}
	own := false
	for lines := bufio.NewScanner(strings.NewReader(string(data))); lines.Scan(); {
		key, value, _ := strings.Cut(lines.Text(), "=")
		switch {
		case strings.HasPrefix(key, "["):
			own = key == "[X-Pawl]"
		case !own:
		case key == "Project":
			found.Project = value
		case key == "Root":
			found.Root, _ = strconv.Unquote(value) // an edited unit: unknown
		case key == "Plan":
			found.Plan, _ = strconv.Unquote(value)
		case key == "Schedule":
			found.Schedule = value
		}
	}
	return found, nil
}

// Install writes the units of the job, or replaces those that an earlier Install wrote. It does not enable them. It reports
// whether anything changed.
func (j Job) Install() (changed bool, err error) {
	folder, err := Folder()
	if err != nil {
		return false, err
	}
	service, timer := j.Units()
	if err := disk.MakeFolders(folder); err != nil {
		return false, err
	}
	for _, unit := range []struct{ suffix, text string }{{".service", service}, {".timer", timer}} { // a timer without its service would fail
		path := filepath.Join(folder, j.Name()+unit.suffix)
		switch was, err := disk.ReadFile(path, maxUnit); {
		case err == nil && string(was) == unit.text:
			continue
		case err == nil:
			if found, err := read(path); err != nil || found.Project != j.Project {
				return false, errors.Join(fmt.Errorf("%s was not written by pawl for this project", path), err)
			}
		case !errors.Is(err, fs.ErrNotExist):
			return false, err
		}
		if err := disk.Replace(path, []byte(unit.text)); err != nil {
			return false, err
		}
		changed = true
	}
	return changed, nil
}

// Remove deletes the units of a schedule, and the link that enables its timer. Units that others wrote stay.
func (i Installed) Remove() error {
	folder, err := Folder()
	if err != nil {
		return err
	}
	if err := removeLink(folder, "timers.target.wants", i.Timer()); err != nil {
		return err
	}
	for _, suffix := range []string{".timer", ".service"} { // a service without its timer does nothing
		path := filepath.Join(folder, i.Name+suffix)
		found, err := read(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return err
		case found.Project != i.Project:
			return fmt.Errorf("%s was not written by pawl for this project", path)
		}
		if err := disk.Remove(path); err != nil {
			return err
		}
	}
	return nil
}

// removeLink deletes the link that enables a unit.
func removeLink(folder, wants, unit string) error {
	link := filepath.Join(folder, wants, unit)
	if to, err := os.Readlink(link); err != nil || filepath.Base(to) != unit {
		return nil
	}
	return disk.Remove(link)
}

// ErrNoSystemd means that there is no systemctl.
var ErrNoSystemd = errors.New("there is no systemd on this machine")

// Available returns ErrNoSystemd if systemctl is not installed.
func Available() error {
	if _, err := exec.LookPath("systemctl"); err != nil {
		return ErrNoSystemd
	}
	return nil
}

// Systemctl runs systemctl --user with each of the argument lists, until one fails.
func Systemctl(ctx context.Context, commands ...[]string) error {
	for _, args := range commands {
		out, err := exec.CommandContext(ctx, "systemctl", append([]string{"--user"}, args...)...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s: %w: %s", CommandLine(args), err, strings.TrimSpace(string(out)))
		}
	}
	return nil
}

// CommandLine returns a command of Systemctl as a user types it.
func CommandLine(args []string) string { return "systemctl --user " + strings.Join(args, " ") }

// Enable returns the commands that start the timer.
func (j Job) Enable() [][]string {
	return [][]string{{"daemon-reload"}, {"enable", j.Name() + ".timer"}, {"restart", j.Name() + ".timer"}}
}

// Disable returns the command that stops a timer.
func (i Installed) Disable() []string { return []string{"disable", "--now", i.Timer()} }
