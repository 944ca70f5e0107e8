package grid

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"pawl/internal/interop/format"
	"pawl/internal/lazyregexp"
)

// clusterDir is the folder of a cluster.
type clusterDir struct {
	root string // what its claims are relative to; empty, or with a slash at its end
	grid string // its folder, with a slash at its end
}

// clusterFolder is the folder of one of several clusters.
var clusterFolder = lazyregexp.New(`^clusters/[^/]+/`)

// clusterDirs returns the folders of all clusters, the outermost first.
func clusterDirs(files format.Files) []clusterDir {
	seen := map[clusterDir]bool{}
	for _, f := range files {
		if p := clusterDirOf(f.Path); p.grid != "" {
			seen[p] = true
		} else if summaryName.MatchString(f.Path) {
			seen[clusterDir{grid: ".grid/"}] = true
		}
	}
	var all []clusterDir
	for p := range seen {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b clusterDir) int {
		return cmp.Or(cmp.Compare(strings.Count(a.grid, "/"), strings.Count(b.grid, "/")), cmp.Compare(a.grid, b.grid))
	})
	return all
}

// clusterDirOf returns the cluster folder that a path lies in; a zero one if it lies in none.
func clusterDirOf(name string) clusterDir {
	at := strings.Index("/"+name, "/.grid/")
	if at < 0 {
		return clusterDir{}
	}
	p := clusterDir{root: name[:at], grid: name[:at] + ".grid/"}
	p.grid += clusterFolder.FindString(name[len(p.grid):])
	return p
}

// selectedDirs returns the cluster folder of this name or, without a name, all of them.
func selectedDirs(files format.Files, at string) []clusterDir {
	all := clusterDirs(files)
	if at == "" {
		return all
	}
	return slices.DeleteFunc(all, func(p clusterDir) bool { return p.name() != at })
}

// name is the folder without its slash.
func (p clusterDir) name() string { return strings.TrimSuffix(p.grid, "/") }

// The names of files that are about one block.
var (
	summaryName  = lazyregexp.New(`^([A-Za-z0-9.]+)-SUMMARY\.md$`)
	planName     = lazyregexp.New(`^([A-Za-z0-9.]+)-PLAN\.md$`)
	blockName    = lazyregexp.New(`^(?:(.*)-)?block-([A-Za-z0-9.]+)\.md$`)
	phaseName    = lazyregexp.New(`^(\d+)-(.+)$`)
	planSummary  = "-PLAN-SUMMARY.md"
	phasesFolder = lazyregexp.New(`^phases/([^/]+)/([^/]+)$`)
)

// about is what a file of a cluster is about, by its path.
type about struct {
	kind  fileKind
	block string // normalised
	phase string // the folder, for what lies in one of a phase
}

type fileKind int

const (
	otherFile fileKind = iota
	planFile
	planSummaryFile
	summaryFile
	debugFile
	taskFile
	refinementFile
)

// classify returns what a file is about.
func (p clusterDir) classify(name string) about {
	rest, inside := strings.CutPrefix(name, p.grid)
	if !inside {
		rest, inside = strings.CutPrefix(name, p.root)
		if m := summaryName.FindStringSubmatch(rest); inside && m != nil && !strings.HasSuffix(rest, planSummary) {
			return about{kind: summaryFile, block: blockID(m[1])}
		}
		return about{}
	}
	switch {
	case strings.HasPrefix(rest, "plans/"):
		return classifyPlan(path.Base(rest))
	case strings.HasPrefix(rest, "debug/"):
		return about{kind: debugFile}
	case strings.HasPrefix(rest, "daemon/"):
		return about{kind: taskFile}
	case strings.HasPrefix(rest, "refinement/"):
		return about{kind: refinementFile}
	}
	if m := phasesFolder.FindStringSubmatch(rest); m != nil {
		return classifyPhase(m[1], m[2])
	}
	if m := summaryName.FindStringSubmatch(rest); m != nil && !strings.HasSuffix(rest, planSummary) {
		return about{kind: summaryFile, block: blockID(m[1])}
	}
	return about{}
}

func classifyPlan(name string) about {
	if strings.HasSuffix(name, planSummary) || name == planSummary[1:] {
		return about{kind: planSummaryFile}
	}
	if m := blockName.FindStringSubmatch(name); m != nil {
		return about{kind: planFile, block: blockID(m[2])}
	}
	if m := planName.FindStringSubmatch(name); m != nil {
		return about{kind: planFile, block: blockID(m[1])}
	}
	return about{}
}

// classifyPhase knows the names that are given in a phase's folder; SUMMARY.md and PLAN.md alone are about the block
// with the folder's number.
func classifyPhase(folder, name string) about {
	a := about{phase: folder}
	if m := phaseName.FindStringSubmatch(folder); m != nil {
		a.block = blockID(m[1])
	}
	switch m, n := summaryName.FindStringSubmatch(name), planName.FindStringSubmatch(name); {
	case strings.HasSuffix(name, planSummary):
		return about{kind: planSummaryFile}
	case m != nil:
		a.kind, a.block = summaryFile, blockID(m[1])
	case n != nil:
		a.kind, a.block = planFile, blockID(n[1])
	case name == "SUMMARY.md" && a.block != "":
		a.kind = summaryFile
	case name == "PLAN.md" && a.block != "":
		a.kind = planFile
	}
	return a
}
