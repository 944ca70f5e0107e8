package server

import (
	"path/filepath"

	"pawl/internal/config"
	"pawl/internal/project"
	"pawl/internal/server/webhooks"
	"pawl/internal/userdir"
)

// openHooks opens the user's webhooks.
func (a *api) openHooks(list []config.Webhook) error {
	if len(list) == 0 {
		return nil
	}
	folder, err := userdir.Config()
	if err != nil {
		return err
	}
	a.hooks, err = webhooks.Open(webhooks.Config{
		Folder: filepath.Join(a.store.Folder, "webhooks"), Webhooks: list, Settings: folder, Say: a.say, Post: a.Post,
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
