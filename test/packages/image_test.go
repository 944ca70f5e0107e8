//go:build packages

package packages

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
	root       string
	env        []string
	user, dir  string
	entrypoint []string
	command    []string
	health     []string
	volumes    []string
	signal     string
}

// build carries out the last stage of the Containerfile. What a RUN made is kept for the next time.
func build(t *testing.T) *image {
	t.Helper()
	stage := lastStage(t)
	i := &image{user: "0", dir: "/", signal: "SIGTERM"}
	layer, key := "", ""
	work := filepath.Join(folder(t, "PAWL_ROOTS"), "image")
	for n, line := range stage {
		word, rest, _ := strings.Cut(line, " ")
		sum := sha256.Sum256([]byte(key + "\n" + line))
		key = hex.EncodeToString(sum[:8])
		switch word {
		case "FROM":
			_, tag, _ := strings.Cut(rest, ":")
			layer = base(t, strings.TrimSuffix(tag, "-slim"))
		case "RUN":
			next := filepath.Join(folder(t, "PAWL_ROOTS"), "layer-"+key)
			if _, err := os.Stat(next); err != nil {
				clone(t, layer, next+".new")
				run(t, "cp", "-L", "/etc/resolv.conf", next+".new/etc/resolv.conf")
				within(t, next+".new", rest)
				if err := os.Rename(next+".new", next); err != nil {
					t.Fatal(err)
				}
			}
			layer = next
		default:
			if i.root == "" { // what follows changes little, and is not kept
				clone(t, layer, work)
				i.root = work
				for _, after := range stage[n:] {
					if strings.HasPrefix(after, "RUN ") {
						t.Fatalf("this test expects each RUN before the first %s", word)
					}
				}
			}
			i.instruct(t, word, rest)
		}
	}
	return i
}

// lastStage returns the instructions of the last stage.
func lastStage(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(repository, "packaging", "Containerfile"))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	joined := strings.ReplaceAll(string(data), "\\\n", " ")
	for line := range strings.Lines(joined) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if strings.HasPrefix(line, "FROM ") {
			lines = nil
		}
		lines = append(lines, line)
	}
	return lines
}

// instruct carries out one instruction that starts no process.
func (i *image) instruct(t *testing.T, word, rest string) {
	t.Helper()
	list := func(text string) (words []string) {
		t.Helper()
		if err := json.Unmarshal([]byte(text), &words); err != nil {
			t.Fatalf("%s %s: %v", word, rest, err)
		}
		return words
	}
	switch word {
	case "ENV":
		i.env = append(i.env, strings.Fields(rest)...)
	case "USER":
		i.user = rest
	case "WORKDIR":
		i.dir = rest
	case "STOPSIGNAL":
		i.signal = rest
	case "VOLUME":
		i.volumes = list(rest)
	case "ENTRYPOINT":
		i.entrypoint = list(rest)
	case "CMD":
		i.command = list(rest)
	case "HEALTHCHECK":
		_, command, _ := strings.Cut(rest, "CMD ")
		i.health = list(command)
	case "COPY":
		i.copy(t, rest)
	case "EXPOSE":
	default:
		t.Fatalf("unknown instruction %s", word)
	}
}

// copy carries out COPY: from the sources, or from the build stage, which made bin/.
func (i *image) copy(t *testing.T, rest string) {
	t.Helper()
	mode := "0755" // of the programs
	var paths []string
	for _, word := range strings.Fields(rest) {
		if given, ok := strings.CutPrefix(word, "--chmod="); ok {
			mode = given
		} else if !strings.HasPrefix(word, "--") {
			paths = append(paths, strings.TrimPrefix(word, "/src/"))
		}
	}
	to := filepath.Join(i.root, paths[len(paths)-1])
	if strings.HasSuffix(rest, "/") {
		to += "/"
	}
	for _, from := range paths[:len(paths)-1] {
		run(t, "install", "-D", "-m", mode, "-t", filepath.Dir(to+"x"), filepath.Join(repository, from))
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
