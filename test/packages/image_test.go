//go:build packages

package packages

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// repository is the root of the sources.
const repository = "../.."

// folder returns the folder that a variable of the Makefile names.
func folder(t *testing.T, variable string) string {
	t.Helper()
	path := os.Getenv(variable)
	if path == "" {
		t.Fatalf("%s is not set: run make test-packages", variable)
	}
	return path
}

// run runs a program on this machine and returns what it printed.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// base returns a minimal root of a Debian release. It is made once.
func base(t *testing.T, release string) string {
	t.Helper()
	root := filepath.Join(folder(t, "PAWL_ROOTS"), "base-"+release)
	if _, err := os.Stat(root); err == nil {
		return root
	}
	making := root + ".new"
	run(t, "rm", "-rf", making)
	run(t, "mkdir", "-p", making)
	args := []string{"--variant=minbase", release, making}
	if mirror := mirror(t); mirror != "" {
		args = append(args, mirror)
	}
	run(t, "debootstrap", args...)
	if err := os.Rename(making, root); err != nil {
		t.Fatal(err)
	}
	return root
}

// mirror returns the address from which this machine installs packages; "" if it cannot be told.
func mirror(t *testing.T) string {
	t.Helper()
	for line := range strings.Lines(run(t, "apt-cache", "policy")) {
		if fields := strings.Fields(line); len(fields) > 1 && strings.HasPrefix(fields[1], "http") && strings.Contains(line, "/main") && !strings.Contains(line, "security") {
			return fields[1]
		}
	}
	return ""
}

// clone copies a root.
func clone(t *testing.T, from, to string) {
	t.Helper()
	run(t, "rm", "-rf", to)
	run(t, "cp", "-a", "--reflink=auto", from, to)
}

// within runs a shell command in a root, as root.
func within(t *testing.T, root, script string, env ...string) string {
	t.Helper()
	const enter = `set -e; mount -t proc proc "$1/proc"; mount --rbind /dev "$1/dev"; root=$1; script=$2; shift 2
exec chroot "$root" /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@" /bin/sh -c "$script"`
	return run(t, "unshare", append([]string{"--mount", "--pid", "--fork", "--kill-child", "sh", "-c", enter, "enter", root, script}, env...)...)
}

// image is the file system of the container image, and how it is started.
type image struct {
	root    string
	volumes []string

	env, entrypoint, command, health []string
	user, dir, signal                string
}

// builder runs buildah with a storage of its own.
type builder struct {
	*testing.T
	store string
}

// do runs a command of buildah and returns what it writes to standard output.
func (b builder) do(args ...string) string {
	b.Helper()
	cmd := exec.Command("buildah", append([]string{"--root", b.store + "/root", "--runroot", b.store + "/run", "--storage-driver", "vfs"}, args...)...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		b.Fatalf("buildah %q: %v\n%s%s", args, err, out, said.String())
	}
	return strings.TrimSpace(string(out))
}

// build has buildah build the Containerfile. No registry is needed: the image that it starts from has the files that debootstrap makes,
// and instead of the build stage there are the programs that make build made.
func build(t *testing.T) *image {
	t.Helper()
	b := builder{t, filepath.Join(folder(t, "PAWL_ROOTS"), "buildah")}
	run(t, "rm", "-rf", b.store)
	t.Cleanup(func() { run(t, "rm", "-rf", b.store) })
	file := filepath.Join(repository, "packaging", "Containerfile")
	from := regexp.MustCompile(`(?m)^FROM (\S+/debian:(\w+)-slim)$`).FindStringSubmatch(read(file))
	if from == nil {
		t.Fatal("the Containerfile does not start from Debian")
	}
	run(t, "install", "-D", "-t", b.store+"/build/src/bin", repository+"/bin/pawl", repository+"/bin/pawl-hook")
	run(t, "tar", "-C", base(t, from[2]), "-cf", b.store+"/base.tar", ".")
	empty := b.do("from", "scratch")
	b.do("add", "--quiet", empty, b.store+"/base.tar", "/")
	b.do("commit", "--quiet", empty, from[1])
	b.do("build", "--format", "docker", "--pull-never", "--isolation", "chroot", "--network", "host", "--layers=false",
		"--build-context", "build="+b.store+"/build", "--file", file, "--tag", "pawl", repository)
	i := imageOf(t, b.do("inspect", "--type", "image", "pawl"))
	i.root = filepath.Join(folder(t, "PAWL_ROOTS"), "image")
	clone(t, b.do("mount", b.do("from", "--pull-never", "pawl")), i.root)
	return i
}

// imageOf returns how an image is started, as buildah describes it.
func imageOf(t *testing.T, description string) *image {
	t.Helper()
	var d struct {
		Docker struct {
			Config struct {
				User, WorkingDir, StopSignal string
				Env, Entrypoint, Cmd         []string
				Volumes                      map[string]struct{}
				Healthcheck                  struct{ Test []string }
			}
		}
	}
	if err := json.Unmarshal([]byte(description), &d); err != nil {
		t.Fatal(err)
	}
	c := d.Docker.Config
	if len(c.Healthcheck.Test) < 2 || c.Healthcheck.Test[0] != "CMD" {
		t.Fatalf("health check %q", c.Healthcheck.Test)
	}
	return &image{
		env: c.Env, entrypoint: c.Entrypoint, command: c.Cmd, health: c.Healthcheck.Test[1:], user: c.User, dir: c.WorkingDir, signal: c.StopSignal,
		volumes: slices.Sorted(maps.Keys(c.Volumes)),
	}
}

// container is a running image.
type container struct {
	*testing.T
	*image
	cmd *exec.Cmd
	log string // path of what it prints
	pid string // of its first process, on this machine
}

// start starts the image with a folder of this machine for each volume. Its root is read-only.
func (i *image) start(t *testing.T, volumes map[string]string) *container {
	t.Helper()
	const enter = `set -e; root=$1; shift
ip link set lo up
mount --bind "$root" "$root"
while [ "$1" != -- ]; do mount --bind "$2" "$root$1"; shift 2; done
shift
mount -t proc proc "$root/proc"; mount --rbind /dev "$root/dev"; mount -t tmpfs tmpfs "$root/tmp"
mount -o remount,ro,bind "$root"
user=$1; shift
exec chroot --userspec="$user" "$root" /usr/bin/env -i PATH=/usr/local/bin:/usr/bin:/bin "$@"`
	args := []string{"--mount", "--pid", "--net", "--fork", "sh", "-c", enter, "enter", i.root}
	for _, volume := range i.volumes {
		if volumes[volume] == "" {
			continue
		}
		args = append(args, volume, volumes[volume])
	}
	args = append(append(args, "--", i.user), i.env...)
	args = append(args, "sh", "-c", `cd "$0" && exec "$@"`, i.dir)
	args = append(append(args, i.entrypoint...), i.command...)
	c := &container{T: t, image: i, log: filepath.Join(t.TempDir(), "log")}
	log, err := os.Create(c.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	c.cmd = exec.Command("unshare", args...)
	c.cmd.Stdout, c.cmd.Stderr = log, log
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = exec.Command("pkill", "-KILL", "-P", fmt.Sprint(c.cmd.Process.Pid)).Run()
		_ = c.cmd.Wait()
	}) // the kernel ends the others with the first one
	c.until("the first process", func() bool {
		c.pid = strings.TrimSpace(read(fmt.Sprintf("/proc/%d/task/%d/children", c.cmd.Process.Pid, c.cmd.Process.Pid)))
		return c.pid != "" && strings.HasPrefix(read("/proc/"+c.pid+"/cmdline"), i.entrypoint[0]+"\x00")
	})
	return c
}

func read(path string) string {
	data, _ := os.ReadFile(path) // missing: empty
	return string(data)
}
