package runs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"pawl/internal/account"
	"pawl/internal/config"
	"pawl/internal/project"
	"pawl/internal/userdir"
)

// unprotected begins every sentence of Unprotected.
const unprotected = `"gates: server-only" does not protect against steps: `

// Unprotected says in one sentence why the user's own setting `gates: server-only` does not keep steps from answering gates themselves, in
// any project or in one of these; empty: it does. secrets are files that give access to the journal or to the server.
func Unprotected(own config.Config, secrets []string, projects ...*project.Project) string {
	if own.RunAs == "" {
		return unprotected + "they run as the user of the server, and can change its tokens and the journal; set run_as"
	}
	a, err := account.Find(own.RunAs)
	if err != nil {
		return unprotected + err.Error()
	}
	fixed, err := ownFiles()
	if err != nil {
		return unprotected + err.Error()
	}
	if path, err := userdir.Config("config.yaml"); err == nil && own.Postgres != "" {
		secrets = append(slices.Clip(secrets), path)
	}
	for _, p := range projects {
		fixed = append(fixed, p.Home(), p.Runs(), p.Archive())
		if p.Trust.Folder != "" {
			fixed = append(fixed, filepath.Join(p.Trust.Folder, "runs"))
		}
	}
	finding, err := account.Exposed(a, fixed, secrets)
	switch {
	case err != nil:
		return unprotected + err.Error()
	case finding != "":
		return unprotected + fmt.Sprintf("they run as %s, and %s", a.Name, finding)
	}
	return ""
}

// ownFiles returns pawl's files that decide whose answers count: the state folder, the settings and the programs.
func ownFiles() (paths []string, err error) {
	for _, names := range [][]string{{}, {"serve"}, {"serve", "tokens.json"}, {"trusted"}} {
		path, err := userdir.State(names...)
		if err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	settings, err := userdir.Config("config.yaml")
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	return append(paths, settings, self, filepath.Join(filepath.Dir(self), "pawl-hook")), err
}
