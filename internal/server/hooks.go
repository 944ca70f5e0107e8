package server

import (
	"path/filepath"

	"pawl/internal/config"
	"pawl/internal/project"
	"pawl/internal/server/webhooks"
	"pawl/internal/userdir"
)

// openHooks reads the user's webhooks.
func (a *api) openHooks() error {
	user, err := config.ReadUser("")
	if err != nil || len(user.Webhooks) == 0 {
		return err
	}
	folder, err := userdir.Config()
	if err != nil {
		return err
	}
	a.hooks, err = webhooks.Open(webhooks.Config{
		Folder: filepath.Join(a.store.Folder, "webhooks"), Webhooks: user.Webhooks, Settings: folder, Say: a.say, Post: a.Post,
	})
	return err
}

// projects returns the projects that the server serves. The sweep reports those that are not there.
func (r *recovery) projects() (all []*project.Project) {
	entries, _ := entries()
	for _, e := range entries {
		if p, err := find(e); err == nil {
			all = append(all, p)
		}
	}
	return all
}
