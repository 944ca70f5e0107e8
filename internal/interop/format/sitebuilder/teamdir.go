package sitebuilder

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"pawl/internal/interop/format"
	"pawl/internal/lazyregexp"
)

// defaultDir is the usual folder of the system in a repository.
const defaultDir = "docs/agentic-orchestration/"

// extractionDir is the folder to which outputs of subtasks are relative, if not to the repository.
const extractionDir = "docs/content-extraction/"

// teamDir is the folder of one team.
type teamDir struct {
	base string // the system's folder, with a final slash
	root string // the repository, to which claimed files are relative
}

func teamDirAt(base string) teamDir {
	return teamDir{base: base, root: strings.TrimSuffix(base, defaultDir)}
}

// teamDirs returns the folders of all teams, defaultDir first, then by depth and name.
func teamDirs(files format.Files) []teamDir {
	found := map[string]bool{}
	var all []teamDir
	for _, f := range files {
		base, ok := baseOf(f.Path)
		if ok && !found[base] {
			found[base] = true
			all = append(all, teamDirAt(base))
		}
	}
	slices.SortFunc(all, func(a, b teamDir) int {
		return cmp.Or(rank(a.base)-rank(b.base), strings.Count(a.base, "/")-strings.Count(b.base, "/"), cmp.Compare(a.base, b.base))
	})
	return all
}

func rank(base string) int {
	if base == defaultDir {
		return 0
	}
	return 1
}

// baseOf returns the system's folder for the path of one of its typical files.
func baseOf(name string) (string, bool) {
	folder, file := path.Split(name)
	for _, below := range []string{"progress/checkpoints/", "progress/", "tasks/"} {
		base, ok := strings.CutSuffix(folder, below)
		if !ok || base != "" && !strings.HasSuffix(base, "/") {
			continue
		}
		switch below {
		case "progress/":
			return base, file == "STATUS.md"
		case "tasks/":
			return base, file == "TASK-REGISTRY.md"
		}
		return base, true
	}
	return "", false
}

func (p teamDir) checkpoints() string { return p.base + "progress/checkpoints/" }
func (p teamDir) status() string      { return p.base + "progress/STATUS.md" }
func (p teamDir) registry() string    { return p.base + "tasks/TASK-REGISTRY.md" }
func (p teamDir) message(name string) string {
	return p.base + "messages/" + flat.Replace(name) + ".md"
}

// flat replaces the separators in names of agents and tasks.
var flat = strings.NewReplacer("/", "-", "\\", "-")

// checkpointName matches the name of a checkpoint: agent, task, and a suffix in the archive. An archived file that pawl
// replaced also has its time.
var checkpointName = lazyregexp.New(`^([^-]+)-(.+?)(-complete(?:-\d{8}-\d{6})?)?\.json$`)

// named is the parsed name of a checkpoint.
type named struct {
	agent, task string
	archived    bool
	old         bool // replaced in the archive by a newer one
}

// nameOf parses the name of a checkpoint; without a hyphen it is only a task.
func nameOf(file string) named {
	base := path.Base(file)
	m := checkpointName.FindStringSubmatch(base)
	if m == nil {
		return named{task: strings.TrimSuffix(base, ".json")}
	}
	return named{agent: m[1], task: m[2], archived: m[3] != "", old: len(m[3]) > len(archiveMark)}
}

const archiveMark = "-complete"

// fileOf returns the paths of a task's checkpoint and archived checkpoint.
func (p teamDir) fileOf(agent, task string) (current, archived string) {
	base := p.checkpoints() + flat.Replace(agent+"-"+task)
	return base + ".json", base + archiveMark + ".json"
}
