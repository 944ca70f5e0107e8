//go:build packages

package packages

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// packaged is a package that was opened.
type packaged struct {
	arch  string            // as Go calls it
	files map[string]string // path → mode, owner and SHA-256
	data  map[string][]byte // path → content, of the programs and of the unit
	extra []string          // what it has for the package manager: scripts, among others
}

// machines are the architectures as the package managers call them, and the machines that their programs are for.
var machines = map[string]struct {
	goarch string
	elf    elf.Machine
}{
	"amd64": {"amd64", elf.EM_X86_64}, "x86_64": {"amd64", elf.EM_X86_64}, "arm64": {"arm64", elf.EM_AARCH64}, "aarch64": {"arm64", elf.EM_AARCH64},
}

func newPackaged(t *testing.T, arch string) *packaged {
	t.Helper()
	m, known := machines[strings.TrimSpace(arch)]
	if !known {
		t.Fatalf("unknown architecture %q", arch)
	}
	return &packaged{arch: m.goarch, files: map[string]string{}, data: map[string][]byte{}}
}

// add adds a file. No owner is root.
func (p *packaged) add(path string, mode int64, owner string, content []byte) {
	sum := sha256.Sum256(content)
	p.files[path] = fmt.Sprintf("%04o %s %s", mode&0o7777, owner, hex.EncodeToString(sum[:]))
	p.data[path] = content
}

// addTar adds the files of an archive. What begins with a dot is for the package manager.
func (p *packaged) addTar(t *testing.T, archive io.Reader) {
	t.Helper()
	for r := tar.NewReader(archive); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		name := "/" + strings.TrimPrefix(h.Name, "./")
		switch {
		case h.Typeflag == tar.TypeDir:
			if h.Mode&0o7777 != 0o755 {
				t.Errorf("folder %s has mode %o", name, h.Mode)
			}
		case h.Typeflag != tar.TypeReg:
			t.Errorf("%s is not a regular file", name)
		case strings.HasPrefix(name, "/."):
			p.extra = append(p.extra, name[1:])
		default:
			content, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			p.add(name, h.Mode, fmt.Sprintf("%d:%d", h.Uid, h.Gid), content)
		}
	}
}

// output returns what a program writes to standard output.
func output(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		t.Fatalf("%s %q: %v", name, args, err)
	}
	return out
}

func openDeb(t *testing.T, path string) *packaged {
	t.Helper()
	p := newPackaged(t, string(output(t, "dpkg-deb", "-f", path, "Architecture")))
	p.addTar(t, bytes.NewReader(output(t, "dpkg-deb", "--fsys-tarfile", path)))
	for r := tar.NewReader(bytes.NewReader(output(t, "dpkg-deb", "--ctrl-tarfile", path))); ; {
		h, err := r.Next()
		if err != nil {
			return p
		}
		p.extra = append(p.extra, strings.TrimPrefix(h.Name, "./"))
	}
}

// openApk opens a package of Alpine: archives one after the other, each compressed, of which only the last one has an end.
func openApk(t *testing.T, path string) *packaged {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	archive, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(archive)
	if err != nil {
		t.Fatal(err)
	}
	arch := regexp.MustCompile(`(?m)^arch = (.*)$`).FindSubmatch(plain)
	if arch == nil {
		t.Fatalf("%s names no architecture", path)
	}
	p := newPackaged(t, string(arch[1]))
	p.addTar(t, bytes.NewReader(plain))
	return p
}

func openRPM(t *testing.T, path string) *packaged {
	t.Helper()
	p := newPackaged(t, string(output(t, "rpm", "-qp", "--qf", "%{ARCH}", path)))
	run(t, "rpm", "-K", "--nosignature", path) // its digests
	owners := map[string]string{}
	for line := range strings.Lines(string(output(t, "rpm", "-qp", "--qf", "[%{FILEUSERNAME}:%{FILEGROUPNAME} %{FILENAMES}\n]", path))) {
		owner, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		owners[name] = strings.ReplaceAll(owner, "root", "0")
	}
	archive, _ := exec.Command("rpm2cpio", path).Output() // it exits with 1 because nfpm counts the size of the archive in another way
	p.addCpio(t, archive, owners)
	if len(owners) != len(p.files) {
		t.Errorf("%s lists %d files and has %d", path, len(owners), len(p.files))
	}
	for line := range strings.Lines(string(output(t, "rpm", "-qp", "--scripts", "--triggers", "--filetriggers", path))) {
		p.extra = append(p.extra, strings.TrimSpace(line))
	}
	return p
}

// addCpio adds the files of an archive in the "new ASCII format" of cpio: a header of 13 numbers of 8 hexadecimal digits, the path and the
// content, each filled up to 4 bytes.
func (p *packaged) addCpio(t *testing.T, archive []byte, owners map[string]string) {
	t.Helper()
	const header = 6 + 13*8
	even := func(n int64) int64 { return (n + 3) &^ 3 }
	for at := int64(0); ; {
		if at+header > int64(len(archive)) || !bytes.HasPrefix(archive[at:], []byte("07070")) {
			t.Fatalf("byte %d of the archive begins no file", at)
		}
		number := func(i int64) int64 {
			n, err := strconv.ParseInt(string(archive[at+6+8*i:at+14+8*i]), 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		mode, size, length := number(1), number(6), number(11)
		name := string(archive[at+header : at+header+length-1])
		if name == "TRAILER!!!" {
			return
		}
		at = even(at + header + length)
		path := "/" + strings.TrimPrefix(strings.TrimPrefix(name, "."), "/")
		if mode>>12 == 0o10 { // a regular file
			p.add(path, mode, owners[path], archive[at:at+size])
		} else if mode>>12 != 0o4 {
			t.Errorf("%s is neither a file nor a folder", path)
		}
		at = even(at + size)
	}
}

// kinds are the kinds of packages, and what each has for its package manager. None has a script.
var kinds = map[string]struct {
	open  func(*testing.T, string) *packaged
	extra string
	zsh   string // folder of the completions of zsh
}{
	"deb": {openDeb, "conffiles control md5sums", "/usr/share/zsh/vendor-completions"},
	"apk": {openApk, ".PKGINFO", "/usr/share/zsh/site-functions"},
	"rpm": {openRPM, "", "/usr/share/zsh/site-functions"},
}

// TestContents opens the packages. Each has the files of the list, of root, with the modes that they should have, and nothing that runs when
// it is installed. The packages of an architecture have the same files, and programs for it that need no others.
func TestContents(t *testing.T) {
	packages := folder(t, "PAWL_PACKAGES")
	run(t, "sh", "-c", `cd "$1" && sha256sum --strict -c SHA256SUMS`, "sh", packages)
	sums := read(filepath.Join(packages, "SHA256SUMS"))
	all, err := os.ReadDir(packages)
	if err != nil || strings.Count(sums, "\n") != len(all)-1 {
		t.Errorf("SHA256SUMS does not have %d files; %v\n%s", len(all)-1, err, sums)
	}
	first := map[string]*packaged{} // of each architecture
	for kind, of := range kinds {
		found, err := filepath.Glob(filepath.Join(packages, "*."+kind))
		if err != nil || len(found) != len(arches()) {
			t.Fatalf("%s: %q, %v; want one for each of %q", kind, found, err, arches())
		}
		for _, path := range found {
			p := of.open(t, path)
			if !slices.Contains(arches(), p.arch) {
				t.Errorf("%s is for %s", path, p.arch)
			}
			if slices.Sort(p.extra); strings.Join(p.extra, " ") != of.extra {
				t.Errorf("%s has %q for its package manager, want %q", path, p.extra, of.extra)
			}
			if p.files["/_pawl"] = p.files[of.zsh+"/_pawl"]; p.files["/_pawl"] == "" {
				t.Errorf("%s has no completions of zsh", path)
			}
			delete(p.files, of.zsh+"/_pawl")
			p.check(t, path)
			if first[p.arch] == nil {
				first[p.arch] = p
			} else if !maps.Equal(p.files, first[p.arch].files) {
				t.Errorf("%s has other files than a package of another kind:\n%v\n%v", path, p.files, first[p.arch].files)
			}
		}
	}
	for arch, p := range first {
		a := newPackaged(t, arch)
		a.addTar(t, gunzip(t, one(t, "*_linux_"+arch+".tar.gz")))
		for _, name := range []string{"pawl", "pawl-hook"} {
			if !bytes.Equal(a.data["/"+name], p.data["/usr/bin/"+name]) {
				t.Errorf("the archive of %s has another %s than the packages", arch, name)
			}
		}
	}
}

// arches are the architectures that were built.
func arches() []string { return strings.Fields(os.Getenv("PAWL_ARCHES")) }

func gunzip(t *testing.T, path string) io.Reader {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// check checks the modes and owners of the files, and the programs.
func (p *packaged) check(t *testing.T, path string) {
	t.Helper()
	for _, file := range files {
		if p.files[file] == "" {
			t.Errorf("%s has no %s", path, file)
		}
	}
	for file, is := range p.files {
		want := "0644 0:0 "
		if strings.HasPrefix(file, "/usr/bin/") {
			want = "0755 0:0 "
		}
		if !strings.HasPrefix(is, want) {
			t.Errorf("%s: %s is %s, want %s", path, file, is, want)
		}
		if file != "/_pawl" && !strings.HasPrefix(file, "/usr/") {
			t.Errorf("%s has %s", path, file)
		}
	}
	for _, name := range []string{"/usr/bin/pawl", "/usr/bin/pawl-hook"} {
		program, err := elf.NewFile(bytes.NewReader(p.data[name]))
		if err != nil {
			t.Fatalf("%s: %s: %v", path, name, err)
		}
		libraries, err := program.ImportedLibraries()
		interpreted := slices.ContainsFunc(program.Progs, func(part *elf.Prog) bool { return part.Type == elf.PT_INTERP })
		if program.Machine != machines[p.arch].elf || interpreted || len(libraries) > 0 || err != nil {
			t.Errorf("%s: %s is for %s, needs %q, has an interpreter: %v; %v", path, name, program.Machine, libraries, interpreted, err)
		}
		for _, place := range []string{"/home/", "/root/", "/work/"} {
			if bytes.Contains(p.data[name], []byte(place+"go/")) {
				t.Errorf("%s: %s has a path of the machine that built it", path, name)
			}
		}
	}
}

// TestEmulated starts the programs of the other architecture in an emulator. It starts no steps: they would need the kernel's help.
func TestEmulated(t *testing.T) {
	emulator := map[string]string{"arm64": "qemu-aarch64-static", "amd64": "qemu-x86_64-static"}
	for _, arch := range arches() {
		if arch == runtime.GOARCH {
			continue
		}
		deb, dir := openDeb(t, one(t, "*_"+arch+".deb")), t.TempDir()
		for _, name := range []string{"pawl", "pawl-hook"} {
			program := filepath.Join(dir, name)
			if err := os.WriteFile(program, deb.data["/usr/bin/"+name], 0o755); err != nil {
				t.Fatal(err)
			}
			if said := run(t, emulator[arch], program, "--version"); !strings.HasPrefix(said, name+" version ") || !strings.Contains(said, "linux/"+arch) {
				t.Errorf("%s: %s", name, said)
			}
		}
		plan := filepath.Join(dir, "plan.yaml")
		if err := os.WriteFile(plan, []byte("name: demo\nsteps:\n  - {id: one, run: echo}\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if said := run(t, emulator[arch], filepath.Join(dir, "pawl"), "plan", "check", plan); !strings.Contains(said, "is valid") {
			t.Error(said)
		}
	}
}

// TestUnit has systemd check the unit of the packages.
func TestUnit(t *testing.T) {
	deb := openDeb(t, one(t, "*_"+arches()[0]+".deb"))
	unit := string(deb.data["/usr/lib/systemd/user/pawl-serve.service"])
	dir := t.TempDir()
	check := func(unit string) string {
		t.Helper()
		path := filepath.Join(dir, "pawl-serve.service")
		if err := os.WriteFile(path, []byte(unit), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("systemd-analyze", "--user", "--man=no", "verify", path)
		cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+dir)
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Sprintf("%v: %s", err, out)
		}
		return string(out)
	}
	here := strings.Replace(unit, "=/usr/bin/pawl ", "=/bin/true ", 1) // the package is not installed on this machine
	if here == unit {
		t.Fatalf("the unit does not start /usr/bin/pawl:\n%s", unit)
	}
	if said := check(here); said != "" {
		t.Error(said)
	}
	if said := check(strings.Replace(here, "KillMode=process", "KillMode=proces", 1)); !strings.Contains(said, "kill mode") {
		t.Errorf("systemd-analyze does not find a mistake: %q", said)
	}
}
