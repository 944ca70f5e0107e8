//go:build packages

package packages

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// until waits for something that happens in the container.
func (c *container) until(what string, happened func() bool) {
	c.Helper()
	for end := time.Now().Add(time.Minute); !happened(); {
		if time.Now().After(end) {
			c.Fatalf("waited in vain for %s:\n%s", what, read(c.log))
		}
		<-time.After(20 * time.Millisecond)
	}
}

// exec runs a command in the container, as its user, and returns what it printed.
func (c *container) exec(command ...string) (string, error) {
	c.Helper()
	id := strings.Split(c.user, ":")
	args := append([]string{"--target", c.pid, "--mount", "--pid", "--net", "--root", "--wd", "--setuid", id[0], "--setgid", id[1], "/usr/bin/env", "-i", "PATH=/usr/local/bin:/usr/bin:/bin"}, c.env...)
	out, err := exec.Command("nsenter", append(append(args, "sh", "-c", `cd "$0" && exec "$@"`, c.dir), command...)...).CombinedOutput()
	return string(out), err
}

// do runs a command in the container that must succeed.
func (c *container) do(command ...string) string {
	c.Helper()
	out, err := c.exec(command...)
	if err != nil {
		c.Fatalf("%q: %v\n%s\n%s", command, err, out, read(c.log))
	}
	return out
}

// stop stops the container as an engine does, and returns how long that took.
func (c *container) stop() time.Duration {
	c.Helper()
	if c.signal != "SIGTERM" {
		c.Fatalf("the test sends SIGTERM, not %s", c.signal)
	}
	pid, err := strconv.Atoi(c.pid)
	if err != nil {
		c.Fatal(err)
	}
	began := time.Now()
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		c.Fatal(err)
	}
	if err := c.cmd.Wait(); err != nil {
		c.Errorf("the container ended with %v\n%s", err, read(c.log))
	}
	return time.Since(began)
}

const plan = `name: demo
steps:
  - {id: first, run: "touch begun; (sleep 3600 & ); until test -e go; do sleep 0.05; done"}
  - {id: second, run: "id -u > second"}
`

// TestImage starts the image, kills what it does, and replaces the container, while its two volumes stay.
func TestImage(t *testing.T) {
	i := build(t)
	volumes := map[string]string{}
	for _, volume := range i.volumes {
		volumes[volume] = filepath.Join(t.TempDir(), "volume")
		run(t, "cp", "-a", i.root+volume, volumes[volume]) // as an engine fills a new volume
	}
	demo := filepath.Join(volumes["/app/projects"], "demo")
	c := i.start(t, volumes)
	if _, err := c.exec(c.health...); err != nil {
		c.until("the health check", func() bool { _, err := c.exec(c.health...); return err == nil })
	}
	if strings.Contains(read(c.log), "is not a volume") {
		t.Error(read(c.log))
	}
	if who := c.do("id", "-u"); who != "10001\n" {
		t.Errorf("user %s", who)
	}
	if out, err := c.exec("touch", "/usr/bin/other"); err == nil {
		t.Errorf("the root can be written: %s", out)
	}
	c.do("git", "-c", "init.defaultBranch=main", "init", "demo")
	if err := os.WriteFile(filepath.Join(demo, "plan.yaml"), []byte(plan), 0o644); err != nil {
		t.Fatal(err)
	}
	c.do("pawl", "-C", "demo", "run", "--background", "plan.yaml")
	c.until("the step", func() bool { return read(filepath.Join(demo, "begun")) == "" && exists(filepath.Join(demo, "begun")) })

	// The engine dies: the server starts another one, and the first process reaps the dead one.
	c.do("sh", "-c", `for p in /proc/[0-9]*; do tr '\0' ' ' < $p/cmdline 2>/dev/null | grep -q '^[^ ]*pawl .*resume' && kill -9 "${p#/proc/}" && exit; done; exit 1`)
	c.until("the server", func() bool { return strings.Contains(read(c.log), "/app/projects/demo: resumed: ") })
	if dead := zombies(c); dead != "" {
		t.Errorf("not reaped: %s", dead)
	}

	// The container is replaced while a step runs. The new one still trusts the project, and resumes it.
	if took := c.stop(); took > 25*time.Second {
		t.Errorf("stopping took %s", took)
	}
	clone(t, i.root, i.root+".2")
	second := *i
	second.root += ".2"
	c = second.start(t, volumes)
	c.until("the server", func() bool { return strings.Contains(read(c.log), "recovery complete") })
	if !strings.Contains(read(c.log), "/app/projects/demo: resumed: ") {
		t.Errorf("the new container does not resume the run:\n%s", read(c.log))
	}
	c.do("touch", "demo/go")
	c.until("the second step", func() bool { return read(filepath.Join(demo, "second")) == "10001\n" })
	c.until("the end", func() bool { return strings.Contains(c.do("pawl", "-C", "demo", "status"), "completed") })
	c.stop()

	// Without volumes it warns.
	run(t, "rm", "-rf", i.root+".2")
	i.command = []string{"true"}
	i.volumes = nil
	out, _ := exec.Command("chroot", i.root, i.entrypoint[len(i.entrypoint)-1], "true").CombinedOutput()
	for _, volume := range []string{"/data", "/app/projects"} {
		if !strings.Contains(string(out), "warning: "+volume+" is not a volume") {
			t.Errorf("no warning of %s: %s", volume, out)
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// zombies returns the processes of the container that have ended and that nobody has reaped for a second.
func zombies(c *container) string {
	list := func() string {
		return c.do("sh", "-c", `for s in /proc/[0-9]*/stat; do read -r pid name state rest < $s && [ "$state" = Z ] && echo $pid $name; done; true`)
	}
	for end := time.Now().Add(time.Second); time.Now().Before(end); {
		if list() == "" {
			return ""
		}
		<-time.After(20 * time.Millisecond)
	}
	return list()
}

// files are what each package contains.
var files = []string{
	"/usr/bin/pawl", "/usr/bin/pawl-hook", "/usr/share/man/man1/pawl.1.gz", "/usr/share/man/man1/pawl-run.1.gz",
	"/usr/lib/systemd/user/pawl-serve.service", "/usr/share/bash-completion/completions/pawl", "/usr/share/fish/vendor_completions.d/pawl.fish",
	"/usr/share/doc/pawl/copyright", "/usr/share/doc/pawl/NOTICE.gz", "/usr/share/doc/pawl/CHANGELOG.md.gz",
}

func one(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(folder(t, "PAWL_PACKAGES"), pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %q, %v", pattern, found, err)
	}
	return found[0]
}

// TestDeb installs the Debian package, uses it as an ordinary user, and removes it.
func TestDeb(t *testing.T) {
	root := filepath.Join(folder(t, "PAWL_ROOTS"), "deb")
	deb := one(t, "*_"+runtime.GOARCH+".deb")
	clone(t, base(t, "bookworm"), root)
	run(t, "cp", deb, filepath.Join(root, "pawl.deb"))
	within(t, root, "dpkg -i /pawl.deb && useradd --create-home ann")
	if changed := within(t, root, "dpkg --verify pawl"); changed != "" {
		t.Errorf("changed after the installation: %s", changed)
	}
	version := regexp.MustCompile(`_([^_]+)_[^_]+\.deb$`).FindStringSubmatch(deb)[1]
	if got := within(t, root, "dpkg-query -W -f '${Version}' pawl"); got != version {
		t.Errorf("version %s, want %s", got, version)
	}
	as := func(script string) string {
		t.Helper()
		return within(t, root, `su ann -c "$SCRIPT"`, "SCRIPT="+script)
	}
	if got := as("cd && mkdir work && cd work && pawl run -- sh -c 'echo made > file' && pawl status && cat file"); !strings.Contains(got, "completed") || !strings.HasSuffix(got, "made\n") {
		t.Error(got)
	}
	if got := as("pawl-hook --version"); !strings.Contains(got, "pawl-hook version") {
		t.Error(got)
	}
	if got := within(t, root, `bash -c '. /usr/share/bash-completion/completions/pawl && complete -p pawl'`); !strings.Contains(got, "pawl") {
		t.Error(got)
	}
	if got := within(t, root, "zcat /usr/share/man/man1/pawl-resume.1.gz"); !strings.Contains(got, "--take-over") && !strings.Contains(got, `\-\-take\-over`) {
		t.Error(got)
	}
	if unit := within(t, root, "cat /usr/lib/systemd/user/pawl-serve.service"); !strings.Contains(unit, "\nKillMode=process\n") || !strings.Contains(unit, "\nExecStart=/usr/bin/pawl ") || strings.Contains(unit, "--uninstall") {
		t.Error(unit)
	}
	within(t, root, "dpkg -P pawl")
	for _, file := range files {
		if exists(filepath.Join(root, file)) {
			t.Errorf("%s stays", file)
		}
	}
	run(t, "rm", "-rf", root)
}
