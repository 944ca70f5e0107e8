package gyoshu

import (
	"fmt"
	"path"
	"strings"

	"pawl"
)

// unknown is the value of unknown properties in a manifest.
const unknown = "unknown"

// maxPackages limits the packages that are compared.
const maxPackages = 200

// drift warns of a checkpoint from another platform. Only a Python session can compare the rest of its environment: see
// driftCell.
func (r *Record) drift() []pawl.Finding {
	was := r.Manifest.Python.Platform
	if was == "" || was == unknown || was == platform() {
		return nil
	}
	f := &findings{path: r.Path}
	f.warn(0, "environment drift: checkpoint %s was made on %.80q, and this is %s", r.ID, was, platform())
	return f.list
}

// driftCell returns Python lines that report where the session differs from the environment in a manifest; nil if the
// manifest has neither packages nor an interpreter.
func driftCell(p Python) []string {
	var compared []string
	for _, named := range p.Packages[:min(len(p.Packages), maxPackages)] {
		if name, version, ok := strings.Cut(named, "=="); ok {
			compared = append(compared, pair(name, version)+": found(\""+escapePython(name)+"\"),")
		}
	}
	if path.IsAbs(p.Path) {
		compared = append(compared, pair("python", p.Path)+": sys.executable,")
	}
	if len(compared) == 0 {
		return nil
	}
	if p.Platform != "" && p.Platform != unknown {
		compared = append(compared, pair("platform", p.Platform)+": sys.platform,")
	}
	lines := []string{"import importlib.metadata, sys", "def found(name):", "    try:", "        return importlib.metadata.version(name)",
		"    except importlib.metadata.PackageNotFoundError:", `        return "not installed"`, "for (name, was), now in {"}
	for _, line := range compared {
		lines = append(lines, "    "+line)
	}
	return append(lines, "}.items():", "    if was != now:", `        print("[WARNING] environment drift: " + name + " was " + was + ", and is " + now)`)
}

func pair(name, was string) string {
	return fmt.Sprintf(`("%s", "%s")`, escapePython(name), escapePython(was))
}
