package attach

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"pawl/internal/git"
	"pawl/internal/project"
	"pawl/internal/userdir"
	"pawl/internal/version"
)

// SetupOf returns where to attach agents: the project, or the folder here if p is nil. In a linked worktree without its own
// project it is the worktree: most agents read only the settings of the folder that they start in.
func SetupOf(p *project.Project, here string) (Setup, error) {
	setup := Setup{Env: os.Getenv}
	root := here
	if p != nil {
		root, setup.Data = p.Root, RecordsOf(p)
		if p.Linked != "" {
			root = p.Linked
		}
	}
	var err error
	if setup.Root, err = filepath.EvalSymlinks(root); err != nil {
		return setup, err
	}
	if setup.Home, err = os.UserHomeDir(); err != nil {
		return setup, err
	}
	if setup.State, err = userdir.State(); err != nil {
		return setup, err
	}
	if setup.Pawl, err = ownProgram(); err != nil {
		return setup, err
	}
	if f, err := version.OpenHookProgram(filepath.Dir(setup.Pawl)); err == nil {
		setup.Hook = f.Name()
		f.Close()
	}
	setup.Main = setup.main()
	return setup, nil
}

// main returns the setup of the folder of the main worktree that the root stands for; nil if the root lies in no linked worktree.
func (p Setup) main() *Setup {
	w, ok := git.LinkedWorktree(p.Root, "")
	if !ok {
		return nil
	}
	below, err := filepath.Rel(w.Top, p.Root)
	if err != nil {
		return nil
	}
	main := p
	main.Root, main.Data = filepath.Join(w.Main, below), ""
	if found, err := project.Find(main.Root); err == nil && found.Root == main.Root {
		main.Data = RecordsOf(found)
	}
	return &main
}

// RecordsOf returns the user's folder of data about a project, or about the linked worktree of it that p was found from; empty if the
// project is not trusted.
func RecordsOf(p *project.Project) string {
	switch {
	case !p.Trust.Trusted():
		return ""
	case p.Linked == "":
		return p.Trust.Folder
	}
	sum := sha256.Sum256([]byte(p.Linked))
	return filepath.Join(p.Trust.Folder, "worktrees", hex.EncodeToString(sum[:8]))
}

// ownProgram returns the path under which others should start this program. The path found through PATH is preferred
// to the real one, because it survives updates.
func ownProgram() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the path of the running program: %w", err)
	}
	found, err := exec.LookPath(filepath.Base(self))
	if err != nil || !filepath.IsAbs(found) || strings.Contains(found, "/"+project.Folder+"/") { // a link that pawl made for a step
		return self, nil
	}
	us, err := os.Stat(self)
	if there, thereErr := os.Stat(found); err == nil && thereErr == nil && os.SameFile(us, there) {
		return found, nil
	}
	return self, nil
}
