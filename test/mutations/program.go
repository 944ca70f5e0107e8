package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// program is the source tree with some mutations, of which one can be on.
type program struct {
	dir      string
	overlay  string            // for go build -overlay
	binaries map[string]string // package → its test binary
}

// newProgram makes a program in a folder. It returns the mutations that need a program of their own.
func newProgram(dir string, all []Mutation) (p *program, alone []Mutation, err error) {
	p = &program{dir: dir, binaries: map[string]string{}}
	files := map[string][]variant{}
	for _, m := range all {
		v, err := m.variant()
		switch {
		case errors.Is(err, errAlone):
			alone = append(alone, m)
			continue
		case err != nil:
			return nil, nil, fmt.Errorf("%s: %w", m.Place, err)
		}
		files[m.File] = append(files[m.File], v)
	}
	changed, switched := map[string]string{}, map[string]bool{}
	for file, variants := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, nil, err
		}
		if dir := filepath.Dir(file); !switched[dir] {
			switched[dir] = true
			v, err := switchVariant(string(data), p.switchPath())
			if err != nil {
				return nil, nil, err
			}
			variants = append(variants, v)
		}
		changed[file] = withVariants(string(data), variants)
	}
	return p, alone, p.write(changed)
}

// aloneProgram makes a program in which one mutation is always on.
func aloneProgram(dir string, m Mutation) (*program, error) {
	data, err := m.Apply(".")
	if err != nil {
		return nil, err
	}
	p := &program{dir: dir, binaries: map[string]string{}}
	return p, p.write(map[string]string{m.File: string(data)})
}

func (p *program) switchPath() string { return filepath.Join(p.dir, "on") }

// variant returns what the mutation adds to its file.
func (m Mutation) variant() (variant, error) {
	data, err := os.ReadFile(m.File)
	if err != nil {
		return variant{}, err
	}
	mutated, err := m.Apply(".")
	if err != nil {
		return variant{}, err
	}
	from := strings.Index(string(data), m.Old)
	return variantOf(string(data), string(mutated), from, from+len(m.Old), strconv.Itoa(m.Number))
}

// withVariants returns a source file with all variants.
func withVariants(source string, variants []variant) string {
	slices.SortStableFunc(variants, func(a, b variant) int { return b.at - a.at }) // from the end, so that offsets stay right
	tail := ""
	for _, v := range variants {
		source = source[:v.at] + v.insert + source[v.at:]
		tail += v.tail
	}
	return source + tail
}

// write writes the changed files, and a file that tells the go command to use them.
func (p *program) write(files map[string]string) error {
	replace := map[string]string{}
	for file, text := range files {
		path, err := filepath.Abs(file)
		if err != nil {
			return err
		}
		replace[path] = filepath.Join(p.dir, strconv.Itoa(len(replace))+".go")
		if err := os.WriteFile(replace[path], []byte(text), 0o600); err != nil {
			return err
		}
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	p.overlay = filepath.Join(p.dir, "overlay.json")
	return os.WriteFile(p.overlay, data, 0o600)
}

// turnOn turns a mutation on; 0 turns all off.
func (p *program) turnOn(number int) error {
	text := ""
	if number > 0 {
		text = strconv.Itoa(number)
	}
	return os.WriteFile(p.switchPath(), []byte(text), 0o600)
}

// env is the environment of go commands, also of those that stories start to build pawl.
func (p *program) env() []string {
	return append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-overlay="+p.overlay)
}

// compile compiles the packages of mutated files, so that a mutation that does not compile is found first.
func (p *program) compile(all []Mutation) error {
	args := []string{"build"}
	for _, m := range all {
		if pkg := "./" + filepath.Dir(m.File); !slices.Contains(args, pkg) {
			args = append(args, pkg)
		}
	}
	cmd := exec.Command("go", args...)
	cmd.Env = p.env()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("a mutation does not compile; the number behind __ counts them from 1: %w\n%s", err, out)
	}
	return nil
}

// binary returns the test binary of a package, which is compiled once.
func (p *program) binary(pkg string) (string, error) {
	if path := p.binaries[pkg]; path != "" {
		return path, nil
	}
	path := filepath.Join(p.dir, strings.ReplaceAll(pkg, "/", "-")+".test")
	cmd := exec.Command("go", "test", "-c", "-vet=off", "-o", path, "./"+pkg)
	cmd.Env = p.env()
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("compile %s: %w\n%s", pkg, err, out)
	}
	p.binaries[pkg] = path
	return path, nil
}

// run runs tests or stories of one package, and returns the names of those that fail.
func (p *program) run(pkg string, names []string) ([]string, error) {
	binary, err := p.binary(pkg)
	if err != nil {
		return nil, err
	}
	pattern := "^(" + strings.Join(names, "|") + ")$"
	if isStory(names[0]) {
		pattern = "TestScript/" + pattern
	}
	cmd := exec.Command(binary, "-test.run", pattern, "-test.timeout", "30m")
	cmd.Dir, cmd.Env = pkg, p.env()
	out, err := cmd.CombinedOutput()
	text := string(out)
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		return nil, err
	}
	if strings.Contains(text, "build: exit status") {
		return nil, fmt.Errorf("the mutated pawl does not compile:\n%s", text)
	}
	failing := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !failed(text, name) })
	if err != nil && len(failing) == 0 {
		return nil, fmt.Errorf("%s: %w\n%s", pkg, err, text)
	}
	return failing, nil
}

// runAll is run for tests by their packages.
func (p *program) runAll(byPackage map[string][]string) ([]string, error) {
	var all []string
	for pkg, names := range byPackage {
		found, err := p.run(pkg, names)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	slices.Sort(all)
	return all, nil
}

// failed reports whether the output of a test binary says that a test or story failed.
func failed(output, name string) bool {
	if isStory(name) {
		name = "TestScript/" + name
	}
	return strings.Contains(output, "--- FAIL: "+name+" ")
}
