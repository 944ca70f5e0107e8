package interop

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/gyoshu"
	"pawl/internal/project"
	"pawl/internal/sessionlock"
)

// ManageCheckpoints answers a call of Gyoshu's tool checkpoint-manager for the research files in a project, and writes what it changes
// under Gyoshu's lock of the notebook.
func ManageCheckpoints(ctx context.Context, p *project.Project, call gyoshu.Call) (result gyoshu.Result, err error) {
	m := Mirror{Format: gyoshu.Format(), Dir: p.Root}
	path, packages := pythonOf(p.Root, nil)
	python := gyoshu.Python{Path: path, Packages: packages}
	err = p.WithMirrorLock(func() error {
		for range maxTries {
			if result, err = m.manage(ctx, p, call, python); !errors.Is(err, format.ErrChanged) {
				return err
			}
			time.Sleep(sessionlock.RetryPause)
		}
		return err
	})
	return result, err
}

// manage answers a call, unless someone else changes the files meanwhile.
func (m *Mirror) manage(ctx context.Context, p *project.Project, call gyoshu.Call, python gyoshu.Python) (result gyoshu.Result, err error) {
	folder, err := OpenFolder(ctx, p, m.Format, m.Dir)
	if err != nil {
		return result, err
	}
	result, changed, err := gyoshu.Manage(folder.files, folder.env, python, call)
	if err != nil {
		return result, &pawl.Error{Kind: pawl.KindUsage, Err: err}
	}
	if len(changed) == 0 {
		return result, nil
	}
	for _, unread := range folder.Unread() {
		if unread.Where == result.NotebookPath {
			return result, &pawl.Error{Kind: pawl.KindDamaged, Err: fmt.Errorf("%s: %s", unread.Where, unread.What)}
		}
	}
	release, err := m.lock(folder.files, &pawl.State{Name: call.Title})
	if err != nil {
		return result, err
	}
	_, err = writeFiles(m.Dir, m.Format, folder.files, changed)
	if err = errors.Join(err, release()); err != nil {
		return gyoshu.Result{}, err
	}
	return result, nil
}
