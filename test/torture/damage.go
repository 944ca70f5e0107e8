package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A damage is what happened to a project behind pawl's back.
type damage struct {
	kind string   // as the table names it
	what string   // in words
	hit  []string // the paths below .pawl, or folders of them, that are not as pawl left them
}

// touches reports whether a path below .pawl, or anything in it, is not as pawl left it.
func (d damage) touches(path string) bool {
	return slices.ContainsFunc(d.hit, func(hit string) bool {
		return hit == path || strings.HasPrefix(hit, path+"/") || strings.HasPrefix(path, hit+"/")
	})
}

// damageable are the kinds of files below .pawl, by pattern. Each kind is as likely as any other that is there.
var damageable = []struct{ kind, pattern string }{
	{"journal", "runs/*/journal.jsonl"},
	{"journal", "runs/*/journal.jsonl"}, // the truth twice as often
	{"plan as run", "runs/*/plan*.yaml"},
	{"state.json", "runs/*/state.json"},
	{"job.json", "runs/*/steps/*/*/job.json"}, {"job.json", "runs/*/steps/*/*/*/job.json"},
	{"begun.json", "runs/*/steps/*/*/begun.json"}, {"begun.json", "runs/*/steps/*/*/*/begun.json"},
	{"exit.json", "runs/*/steps/*/*/exit.json"}, {"exit.json", "runs/*/steps/*/*/*/exit.json"},
	{"result.json", "runs/*/steps/*/*/result.json"},
	{"events.jsonl", "runs/*/steps/*/*/events.jsonl"},
	{"attempt's lock", "runs/*/steps/*/*/lock"}, {"attempt's lock", "runs/*/steps/*/*/*/lock"},
	{"pack", "snapshots/pack-*"}, {"index", "snapshots/index"}, {"dead", "snapshots/dead"}, {"stat", "snapshots/stat"},
	{"view", "runs/*/*.md"},
	{"project.json", "project.json"}, {"engine.lock", "engine.lock"}, {"config.yaml", "config.yaml"}, {"MEMORY.md", "MEMORY.md"},
	{".gitignore", ".gitignore"},
}

// folders below .pawl that may be gone.
var folders = []string{"runs/*", "runs/*/steps", "runs/*/steps/*", "runs/*/steps/*/*", "snapshots"}

// harm damages the project once, in a random way; a way that finds nothing to damage gives way to another.
func (c *trial) harm() error {
	for {
		d, err := c.harms()[c.dice.IntN(len(c.harms()))]()
		if err != nil {
			return fmt.Errorf("damage case %d: %w", c.number, err)
		}
		if d.kind != "" {
			c.damages = append(c.damages, d)
			return nil
		}
	}
}

// harms are the ways, some of them more often than others.
func (c *trial) harms() []func() (damage, error) {
	return []func() (damage, error){
		c.flip, c.flip, c.flip, c.flip, c.flip, c.flip, c.tear, c.tear, c.tear, c.tear, c.erase, c.erase, c.erase, c.eraseFolder,
		c.move, c.head, c.head, c.editPlan, c.editPlan, c.editOutput, c.fill,
	}
}

// pick chooses a file below .pawl, and returns its kind and its path; empty where there is none of the kind.
func (c *trial) pick() (kind, rel string) {
	choice := damageable[c.dice.IntN(len(damageable))]
	return choice.kind, c.oneOf(choice.pattern)
}

// oneOf chooses one of the paths below .pawl that a pattern fits.
func (c *trial) oneOf(pattern string) string {
	found, err := filepath.Glob(c.project(pawlFolder, pattern))
	if err != nil || len(found) == 0 {
		return ""
	}
	rel, err := filepath.Rel(c.project(pawlFolder), found[c.dice.IntN(len(found))])
	if err != nil {
		return ""
	}
	return rel
}

// rewrite has a file of a random kind hold something else, in place.
func (c *trial) rewrite(how string, change func([]byte) []byte) (damage, error) {
	kind, rel := c.pick()
	if rel == "" {
		return damage{}, nil
	}
	path := c.project(pawlFolder, rel)
	data, err := os.ReadFile(path)
	if err != nil || len(data) == 0 {
		return damage{}, err
	}
	before := string(data)
	after := change(data)
	if string(after) == before {
		return damage{}, nil
	}
	return damage{kind: how + " " + kind, what: how + " " + rel, hit: []string{rel}}, os.WriteFile(path, after, 0o600)
}

// flip changes up to four bytes.
func (c *trial) flip() (damage, error) {
	return c.rewrite("flipped", func(data []byte) []byte {
		for range 1 + c.dice.IntN(4) {
			data[c.dice.IntN(len(data))] ^= byte(1 << c.dice.IntN(8))
		}
		return data
	})
}

// tear drops the end of a file, or leaves zeros in its place.
func (c *trial) tear() (damage, error) {
	return c.rewrite("torn", func(data []byte) []byte {
		at := c.dice.IntN(len(data))
		if c.dice.IntN(3) == 0 {
			clear(data[at:])
			return data
		}
		return data[:at]
	})
}

func (c *trial) erase() (damage, error) {
	kind, rel := c.pick()
	if rel == "" {
		return damage{}, nil
	}
	return damage{kind: "deleted " + kind, what: "deleted " + rel, hit: []string{rel}}, os.Remove(c.project(pawlFolder, rel))
}

func (c *trial) eraseFolder() (damage, error) {
	pattern := folders[c.dice.IntN(len(folders))]
	rel := c.oneOf(pattern)
	if rel == "" {
		return damage{}, nil
	}
	if info, err := os.Stat(c.project(pawlFolder, rel)); err != nil || !info.IsDir() {
		return damage{}, err
	}
	return damage{kind: "deleted folder " + pattern, what: "deleted folder " + rel, hit: []string{rel}}, removeAll(c.project(pawlFolder, rel))
}

// removeAll removes a folder into which somebody may still write.
func removeAll(path string) error {
	for range 100 {
		if os.RemoveAll(path) == nil {
			return nil
		}
	}
	return os.RemoveAll(path)
}

func (c *trial) move() (damage, error) {
	from := c.project()
	c.folder += "-moved"
	return damage{kind: "moved folder", what: "moved the project to " + c.folder}, os.Rename(from, c.project())
}

// head moves git's HEAD: a commit, another branch, a rebase that stops at a conflict.
func (c *trial) head() (damage, error) {
	if slices.ContainsFunc(c.damages, func(d damage) bool { return strings.HasPrefix(d.kind, "HEAD") }) {
		return damage{}, nil
	}
	switch c.dice.IntN(3) {
	case 0:
		err := errors.Join(os.WriteFile(c.project("new.txt"), []byte("new\n"), 0o600), c.git("add", "new.txt"), c.git("commit", "-qm", "feat: new"))
		return damage{kind: "HEAD: commit", what: "HEAD: a commit of a person"}, err
	case 1:
		return damage{kind: "HEAD: branch", what: "HEAD: another branch"}, c.git("switch", "-q", "-c", "elsewhere")
	}
	if c.git("rebase", "-q", "other") == nil {
		return damage{}, errors.New("the rebase met no conflict")
	}
	return damage{kind: "HEAD: rebase", what: "HEAD: a rebase in progress"}, nil
}

// git runs git in the project, as its person.
func (s *story) git(args ...string) error {
	cmd := exec.Command("git", append([]string{"-c", "user.name=p", "-c", "user.email=p@localhost", "-c", "commit.gpgsign=false"}, args...)...)
	cmd.Dir, cmd.Env = s.project(), s.environment()
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git %v: %w: %s", args, err, said)
	}
	return nil
}

// editPlan changes the plan as its person may: what is done, what is not, what must not be repeated, a limit, a new step
// that another one then needs, or by a slip.
func (c *trial) editPlan() (damage, error) {
	edits := []struct{ what, old, new string }{
		{"finished", "- id: list\n        run: . ./step.sh; begin", "- id: list\n        run: . ./step.sh; : again; begin"},
		{"item", "begin && sleep 0.05", "begin && sleep 0.051"},
		{"report", "sleep 0.03 && put out/report.txt", "sleep 0.031 && put out/report.txt"},
		{"once", "begin && sleep 0.15", "begin && sleep 0.151"},
		{"limit", "timeout: 1m", "timeout: 2m"},
		{"added", "      - id: tidy\n", "      - id: more\n        run: . ./step.sh; begin && end\n\n      - id: tidy\n"},
		{"slip", "autopilot", "autopilto"},
	}
	e := edits[c.dice.IntN(len(edits))]
	data, err := os.ReadFile(c.project("plan.yaml"))
	if err != nil || !strings.Contains(string(data), e.old) {
		return damage{}, err
	}
	after := strings.Replace(string(data), e.old, e.new, 1)
	return damage{kind: "edited plan: " + e.what, what: "edited plan: " + e.what}, os.WriteFile(c.project("plan.yaml"), []byte(after), 0o600)
}

// editOutput has a person change what a finished step has made.
func (c *trial) editOutput() (damage, error) {
	found, err := filepath.Glob(c.project("out", "*.txt"))
	if err != nil || len(found) == 0 {
		return damage{}, err
	}
	path := found[c.dice.IntN(len(found))]
	if filepath.Base(path) == "list.txt" { // an input too: then its readers have another key
		return damage{}, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return damage{}, err
	}
	name := filepath.Base(path)
	data = append(data, "mine\n"...)
	c.edited[name] = string(data)
	return damage{kind: "edited output", what: "edited output " + name}, os.WriteFile(path, data, 0o600)
}

// fill has the disk be full while somebody resumes, from some call on to that command's end.
func (c *trial) fill() (damage, error) {
	n := 1 + c.dice.IntN(120)
	c.full = fmt.Sprintf("ENOSPC:%d-", n)
	return damage{kind: "full disk", what: fmt.Sprintf("full disk from call %d of a resume on", n)}, nil
}

// users are the files of the project's person, git's among them, with their content.
func (c *trial) users() (map[string]string, error) {
	found := map[string]string{}
	err := filepath.WalkDir(c.project(), func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(c.project(), path) // both are absolute
		switch {
		case err != nil:
			return err
		case d.IsDir() && (rel == pawlFolder || rel == "out"):
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		data, err := os.ReadFile(path)
		found[rel] = string(data)
		return err
	})
	for _, name := range []string{"config.yaml", "MEMORY.md"} {
		if data, readErr := os.ReadFile(c.project(pawlFolder, name)); readErr == nil {
			found[filepath.Join(pawlFolder, name)] = string(data)
		}
	}
	return found, err
}

// usualLines is how many lines an undisturbed run leaves in the ledger.
const usualLines = 30

func chance(dice *rand.Rand, percent int) bool { return dice.IntN(100) < percent }
