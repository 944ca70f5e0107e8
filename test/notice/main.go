// Command notice writes the NOTICE file: the licenses of all modules that the pawl binary links on any platform.
//
//	go run ./test/notice > NOTICE
package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	text, err := notice("pawl/cmd/pawl")
	if err == nil {
		_, err = os.Stdout.Write(text)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "notice:", err)
		os.Exit(1)
	}
}

// platforms are those that `make cross` builds for. They link different packages.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"}

// goModule has the license of the Go standard library, word for word. GOROOT does not contain it on every system.
const goModule = "golang.org/x/sys"

// licenseFile matches the names of files that a distribution of a module must include.
var licenseFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([-.][-.\w]*)?$`)

// module is a linked module.
type module struct {
	path, version, dir string
	packages           []string // folders of its linked packages
}

// notice returns the text of NOTICE for the given programs.
func notice(programs ...string) ([]byte, error) {
	modules, err := linked(programs)
	if err != nil {
		return nil, err
	}
	list := licenses{holders: map[string][]string{}}
	for _, m := range modules {
		if err := list.add(m); err != nil {
			return nil, err
		}
	}
	if err := list.addRules(); err != nil {
		return nil, err
	}
	if err := list.addPage(); err != nil {
		return nil, err
	}
	return list.format(modules), nil
}

// licenses are license texts, each with what it is the license of. Modules often share a text.
type licenses struct {
	texts   []string // in the order in which they were found
	holders map[string][]string
}

// add reads the license files of a module.
func (l *licenses) add(m module) error {
	files, err := m.licenseFiles()
	if err != nil {
		return err
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(m.dir, f)
		if err != nil {
			return err
		}
		text := strings.TrimSpace(strings.ReplaceAll(string(data), "\r\n", "\n"))
		if l.holders[text] == nil {
			l.texts = append(l.texts, text)
		}
		l.holders[text] = append(l.holders[text], fmt.Sprintf("%s %s, %s", m.path, m.version, filepath.ToSlash(name)))
		if m.path == goModule {
			l.holders[text] = append(l.holders[text], "the Go standard library, "+filepath.Base(name))
		}
	}
	return nil
}

// addRules reads the license of the rules that package redact is generated from.
func (l *licenses) addRules() error {
	dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", "pawl/internal/redact").Output()
	if err != nil {
		return err
	}
	data, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "LICENSE-gitleaks"))
	if err != nil {
		return err
	}
	text := strings.TrimSpace(string(data))
	l.texts = append(l.texts, text)
	l.holders[text] = []string{"the rules of gitleaks, https://github.com/gitleaks/gitleaks, in internal/redact"}
	return nil
}

// pageLicense heads the license of a package in the bundle of the web page.
var pageLicense = regexp.MustCompile(`(?m)^==== (.*)\n`)

// addPage reads the licenses of the npm packages in the web page of pawl serve, which `make page` collects.
func (l *licenses) addPage() error {
	dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", "pawl/internal/server/page").Output()
	if err != nil {
		return err
	}
	data, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "dist", "LICENSES"))
	if err != nil {
		return err
	}
	heads := pageLicense.FindAllSubmatchIndex(data, -1)
	for i, at := range heads {
		end := len(data)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		text := strings.TrimSpace(string(data[at[1]:end]))
		if l.holders[text] == nil {
			l.texts = append(l.texts, text)
		}
		l.holders[text] = append(l.holders[text], "in the web page: "+string(data[at[2]:at[3]]))
	}
	return nil
}

// format returns NOTICE.
func (l *licenses) format(modules []module) []byte {
	var out bytes.Buffer
	out.WriteString("pawl\nCopyright 2026 The pawl authors\n\n" +
		"The pawl binary contains the Go standard library, rules of gitleaks, a web page with npm packages and these modules:\n\n")
	for _, m := range modules {
		fmt.Fprintf(&out, "  %s %s\n", m.path, m.version)
	}
	out.WriteString("\nTheir licenses and notices follow. `make notice` writes this file from the modules that are linked.\n")
	for _, text := range l.texts {
		fmt.Fprintf(&out, "\n%s\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(l.holders[text], "\n"), strings.Repeat("-", 80), text)
	}
	return out.Bytes()
}

// linked returns the modules that the programs link on any platform, sorted by path. It downloads what is missing from the
// module proxy.
func linked(programs []string) ([]module, error) {
	found := map[string]*module{}
	for _, platform := range platforms {
		system, processor, _ := strings.Cut(platform, "/")
		args := append([]string{"list", "-deps", "-f", `{{with .Module}}{{if not .Main}}{{.Path}}{{"\t"}}{{.Version}}{{"\t"}}{{.Dir}}{{"\t"}}{{$.Dir}}{{end}}{{end}}`}, programs...)
		cmd := exec.Command("go", args...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+processor)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("list the packages for %s: %w", platform, err)
		}
		for line := range strings.Lines(string(out)) {
			f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
			if len(f) != 4 {
				continue // of the standard library, or of pawl
			}
			if found[f[0]] == nil {
				found[f[0]] = &module{path: f[0], version: f[1], dir: f[2]}
			}
			found[f[0]].packages = append(found[f[0]].packages, f[3])
		}
	}
	var modules []module
	for _, path := range slices.Sorted(maps.Keys(found)) {
		modules = append(modules, *found[path])
	}
	return modules, nil
}

// licenseFiles returns the license files in the module's root and in the folders of its linked packages, sorted. A module
// without any is an error: nobody may distribute it.
func (m module) licenseFiles() ([]string, error) {
	folders := map[string]bool{m.dir: true}
	for _, dir := range m.packages {
		for ; len(dir) > len(m.dir); dir = filepath.Dir(dir) {
			folders[dir] = true
		}
	}
	var files []string
	for _, dir := range slices.Sorted(maps.Keys(folders)) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if e.Type().IsRegular() && licenseFile.MatchString(e.Name()) && filepath.Ext(e.Name()) != ".go" {
				files = append(files, filepath.Join(dir, e.Name()))
			}
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("module %s %s has no license file", m.path, m.version)
	}
	return files, nil
}
