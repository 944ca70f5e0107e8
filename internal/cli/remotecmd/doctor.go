package remotecmd

import (
	"context"
	"time"

	"pawl"
	"pawl/internal/project"
	"pawl/internal/transfer"
)

// answerLimit is how long pawl doctor waits for a remote.
const answerLimit = 10 * time.Second

// Findings checks that the remotes of a project answer, for pawl doctor; none if it has none.
func Findings(ctx context.Context, p *project.Project) []pawl.Finding {
	if !p.Trust.Trusted() {
		return nil
	}
	list, err := transfer.Remotes(p)
	if err != nil {
		return []pawl.Finding{{Level: pawl.Bad, What: err.Error(), Hint: pawl.HintOf(err)}}
	}
	var findings []pawl.Finding
	for _, r := range list {
		findings = append(findings, check(ctx, p, r))
	}
	return findings
}

func check(ctx context.Context, p *project.Project, r transfer.Remote) pawl.Finding {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	c, err := transfer.Connect(ctx, p, r.Name)
	switch {
	case err != nil && ctx.Err() != nil:
		return pawl.Finding{Level: pawl.Warn, What: "remote " + r.Name + " does not answer within " + answerLimit.String(), Evidence: r.URL}
	case err != nil:
		return pawl.Finding{Level: pawl.Warn, What: "remote " + r.Name + ": " + err.Error(), Hint: pawl.HintOf(err), Evidence: r.URL}
	case c.Unconditional():
		return pawl.Finding{Level: pawl.OK, What: "remote " + r.Name + " answers; if two machines push a run at the same time, you choose which push counts", Evidence: r.URL}
	}
	return pawl.Finding{Level: pawl.OK, What: "remote " + r.Name + " answers, and refuses to overwrite", Evidence: r.URL}
}
