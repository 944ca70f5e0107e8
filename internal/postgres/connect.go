package postgres

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/journal"
)

// Connector opens the database that the environment or the user's settings name, once.
type Connector struct {
	Getenv  func(string) string
	Notices *Notices // those of the process. Defaults to one for each database.

	mu   sync.Mutex // guards open
	open []*Store
}

// Open opens the database with an ID; see journal.Connection.
func (c *Connector) Open(ctx context.Context, store, folder string) (journal.Remote, error) {
	dsn, err := config.Postgres(c.Getenv, filepath.Dir(filepath.Dir(folder)))
	if err != nil {
		return nil, err
	}
	if dsn == "" {
		return nil, journal.ErrNotConnected
	}
	s, err := Open(ctx, dsn)
	if err != nil {
		return nil, err
	}
	if s.id != store {
		s.Close()
		return nil, &pawl.Error{
			Kind: pawl.KindUsage, Hint: "pawl store",
			Err: fmt.Errorf("the run is stored in database %s, and %s names database %s", store, config.PostgresVariable, s.id),
		}
	}
	if c.Notices != nil {
		s.notices = c.Notices
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = append(c.open, s)
	return s, nil
}

// Close closes the databases.
func (c *Connector) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.open {
		s.Close()
	}
	c.open = nil
}
