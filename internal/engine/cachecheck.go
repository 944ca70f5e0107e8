package engine

import (
	"context"
	"errors"

	"pawl/internal/runs"
)

// requireCheckedCache waits for the check of the cached state.
func (e *Engine) requireCheckedCache() error {
	<-e.cacheChecked
	return e.cacheErr
}

// replaceState folds the journal again after the cached state turned out to be wrong, so that neither the cache nor a view or
// mirror shows it. It returns cause with what was wrong.
func (e *Engine) replaceState(ctx context.Context, cause error) error {
	state, _, err := e.log.Refold(ctx)
	if err == nil {
		e.state = state
	} else {
		e.cacheChecked = nil // never save the wrong one
	}
	if !errors.Is(cause, e.cacheErr) {
		cause = errors.Join(e.cacheErr, cause)
	}
	return errors.Join(cause, err)
}

// cacheState saves the state, unless it comes from a cache that has not been checked yet. A missing cache is rebuilt.
func (e *Engine) cacheState() error {
	select {
	case <-e.cacheChecked:
		return runs.SaveState(e.cfg.Project, e.log, e.state)
	default:
		return nil
	}
}

// gated is requireCheckedCache for a run that has waited for a person: a gate is passed only by the journal.
func (e *Engine) gated() error {
	if !e.log.Gated() {
		return nil
	}
	return e.requireCheckedCache()
}
