package sitebuilder

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"pawl/internal/interop/format"
	"pawl/internal/lazyregexp"
)

// usual is where the system's folder lies in a repository.
const usual = "docs/agentic-orchestration/"

// extracted is the folder that outputs of subtasks are relative to, where they are not to the repository.
const extracted = "docs/content-extraction/"

// teamDir is the folder of one team.
type teamDir struct {
	base string // the system's folder, with a slash behind it
	root string // the repository, which claimed files are relative to
}

func teamDirAt(base string) teamDir {
	return teamDir{base: base, root: strings.TrimSuffix(base, usual)}
}

// teamDirs returns the folders of all teams, the usual folder first, then by depth and name.
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
	if base == usual {
		return 0
	}
	return 1
}

// baseOf returns the system's folder by the path of a file that shows that it is one.
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

// flat makes one name of an agent's or a task's that has folders in it.
var flat = strings.NewReplacer("/", "-", "\\", "-")

// checkpointName is the name of a checkpoint: agent, task, and whether it is an archived one. What pawl replaced in the
// archive bears its time.
var checkpointName = lazyregexp.New(`^([^-]+)-(.+?)(-complete(?:-\d{8}-\d{6})?)?\.json$`)

// named is what a checkpoint's file name says.
type named struct {
	agent, task string
	archived    bool
	old         bool // a newer one took its place in the archive
}

// nameOf reads a checkpoint's file name; without a hyphen it is that of a task alone.
func nameOf(file string) named {
	base := path.Base(file)
	m := checkpointName.FindStringSubmatch(base)
	if m == nil {
		return named{task: strings.TrimSuffix(base, ".json")}
	}
	return named{agent: m[1], task: m[2], archived: m[3] != "", old: len(m[3]) > len(archiveMark)}
}

const archiveMark = "-complete"

// fileOf returns the path of a task's checkpoint, and of its archived one.
func (p teamDir) fileOf(agent, task string) (current, archived string) {
	base := p.checkpoints() + flat.Replace(agent+"-"+task)
	return base + ".json", base + archiveMark + ".json"
}
