package storecmd

import (
	"context"
	"errors"
	"os"
	"time"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/journal"
	"pawl/internal/postgres"
	"pawl/internal/project"
)

// answerLimit is how long pawl doctor waits for a database.
const answerLimit = 5 * time.Second

// Findings checks the database of a project's runs, for pawl doctor; none if there is none.
func Findings(ctx context.Context, p *project.Project) []pawl.Finding {
	id, err := journal.NewRunsIn(p.Runs())
	if err != nil {
		return []pawl.Finding{bad(err)}
	}
	dsn, err := config.Postgres(os.Getenv, p.Root)
	switch {
	case err != nil:
		return nil // doctor reports settings
	case dsn == "" && id == "":
		return nil
	case dsn == "":
		return []pawl.Finding{bad(journal.ErrNotConnected)}
	}
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	s, err := postgres.Open(ctx, dsn)
	if errors.Is(err, postgres.ErrNoSchema) && id == "" {
		return []pawl.Finding{{Level: pawl.OK, What: "Postgres answers; no runs are stored there yet", Hint: "pawl store move postgres"}}
	}
	if err != nil {
		return []pawl.Finding{bad(err)}
	}
	defer s.Close()
	if id != "" && s.ID() != id {
		return []pawl.Finding{{Level: pawl.Bad, What: "new runs start in database " + id + ", and " + config.PostgresVariable + " names database " + s.ID()}}
	}
	return []pawl.Finding{{Level: pawl.OK, What: "Postgres answers, and keeps what it acknowledges (fsync, synchronous_commit)", Evidence: "database " + s.ID()}}
}

func bad(err error) pawl.Finding {
	return pawl.Finding{Level: pawl.Bad, What: err.Error(), Hint: pawl.HintOf(err)}
}
