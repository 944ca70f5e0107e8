//go:build linux

package hostile

import (
	"testing"
)

// claims make the folder claim, which holds what an archive can bring, a linked worktree of the user's project by its own word only.
// The project has a real one, tree.
var claims = map[string]string{
	"a copied .git":                   `cp tree/.git claim/.git`,
	"a link to .git":                  `ln -s "$W/tree/.git" claim/.git`,
	"a hard link to .git":             `ln tree/.git claim/.git`,
	"a .git through a link":           `ln -s "$W/work/.git" claim/repository; echo "gitdir: $W/claim/repository/worktrees/tree" > claim/.git`,
	"a .git with a common folder":     `cp -r work/.git/worktrees/tree claim/.git; echo "$W/work/.git" > claim/.git/commondir`,
	"a .git that names the project's": `echo "gitdir: $W/work/.git" > claim/.git`,
	"the worktree is pruned":          `cp tree/.git claim/.git; rm -rf tree; git -C work worktree prune`,
	"a pipe":                          `mkfifo claim/.git`,
	"a device":                        `ln -s /dev/zero claim/.git`,
	"a megabyte":                      `cp tree/.git claim/.git; head -c 1000000 /dev/zero | tr '\0' '\n' >> claim/.git`,
	"a link to the worktree's folder": `ln -s "$W/work/.git/worktrees/tree" claim/.git`,
	"a submodule":                     `mkdir -p work/.git/modules/claim; echo "$W/claim/.git" > work/.git/modules/claim/gitdir; echo "gitdir: $W/work/.git/modules/claim" > claim/.git`,
}

// TestClaims requires that such a folder gets nothing of the project, and changes nothing in it.
func TestClaims(t *testing.T) {
	t.Parallel()
	for name, claim := range claims {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newLinked(t)
			w.sh(`cd "$W"; ` + claim)
			w.root = w.path("claim")
			w.getsNothing()
		})
	}
}

// foreign are the parts of a linked worktree of which one belongs to another user, and all of them.
var foreign = map[string]string{
	"its .git":                     `"$W/tree/.git"`,
	"its folder in the repository": `"$W/work/.git/worktrees/tree"`,
	"the repository":               `"$W/work/.git"`,
	"all three":                    `"$W/tree/.git" "$W/work/.git/worktrees/tree" "$W/work/.git"`,
}

// TestForeignWorktrees requires that a linked worktree gets nothing of the user's project if a part of it belongs to another user.
func TestForeignWorktrees(t *testing.T) {
	if !asUsers(t) {
		return
	}
	for name, files := range foreign {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newLinked(t)
			w.victimAtHome(w.path("work"), w.path("tree"))
			w.root = w.path("tree")
			w.succeed("status")
			w.sh(`chown 54321 ` + files)
			w.getsNothing()
		})
	}
}

// newLinked has the user's project in work, its linked worktree tree, and the folder claim.
func newLinked(t *testing.T) *world {
	t.Helper()
	w := newOwn(t)
	w.sh(`rm -rf .git; git init -q .; git commit -q --allow-empty -m one; git worktree add -q "$W/tree"; mkdir "$W/claim"; echo text > "$W/claim/first.txt"`)
	w.root = w.path("tree")
	w.succeed("status")
	w.root = w.path("work")
	return w
}

// getsNothing requires that the current folder gets nothing of the project in work, and changes nothing in it.
func (w *world) getsNothing() {
	w.Helper()
	before := w.tree(false, w.path("work"))
	w.unharmed(true, func() {
		for _, agent := range []string{"claude", "codex", "gemini", "opencode", "copilot"} {
			w.silent(agent, false)
		}
		for _, line := range [][]string{{"status"}, {"brief"}, {"memory"}, {"learn", "x"}, {"resume"}, {"restore"}, {"log"}, {"block", "x"}} {
			if r := w.pawl(line...); r.code == 0 || r.out != "" {
				w.Errorf("%q: %+v", line, r)
			}
		}
	})
	w.same("in the project", before, w.tree(false, w.path("work")))
}
