package server

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"pawl/internal/disk"
	"pawl/internal/server/client"
	"pawl/internal/tokens"
)

// bulkLimit is how long a bulk request begins actions. The server can wait for the last ones as long again before its answer is late.
const bulkLimit = 20 * time.Second

type bulkInput struct {
	Body struct {
		Action   string   `json:"action" enum:"resume,pause,stop"`
		Projects []string `json:"projects" doc:"ids of projects" minItems:"1" maxItems:"100"`
		Why      string   `json:"why,omitempty" doc:"reason" maxLength:"4000"`
	}
}

func (a *api) bulkRoutes(h huma.API) {
	register(h, route{
		id: "act-on-projects", method: http.MethodPost, path: "/api/bulk", right: tokens.Operate,
		summary: "Resume, pause or stop the current runs of several projects, each alone, as the action of one project does",
	}, a.bulk)
}

// bulk does an action in several projects. What is wrong with one does not touch the others.
func (a *api) bulk(ctx context.Context, in *bulkInput) (client.Bulk, error) {
	act := map[string]action{resumeAction.verb: resumeAction, pauseAction.verb: pauseAction, stopAction.verb: stopAction}[in.Body.Action]
	ids := slices.Clone(in.Body.Projects)
	slices.Sort(ids)
	ids = slices.Compact(ids)
	results := make([]client.BulkResult, len(ids))
	end := time.Now().Add(bulkLimit)
	tickets := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i, id := range ids {
		tickets <- struct{}{}
		all.Go(func() {
			defer func() { <-tickets }()
			results[i] = a.oneOfBulk(ctx, id, act, in.Body.Why, end)
		})
	}
	all.Wait()
	return client.Bulk{Results: results}, nil
}

// oneOfBulk does an action in one project, with its own lines in the audit.
func (a *api) oneOfBulk(ctx context.Context, id string, act action, why string, end time.Time) client.BulkResult {
	line := *note(ctx)
	line.Time, line.Call, line.Do, line.Path = time.Now().UTC(), disk.RandomHex(4), act.verb+"-project", "/api/projects/"+id+"/"+act.verb
	refused := func(p *Problem) client.BulkResult {
		return client.BulkResult{Project: id, Status: p.Status, Message: p.Message, Detail: p.Detail, Hint: p.Hint}
	}
	if line.Time.After(end) || ctx.Err() != nil {
		return refused(problem(http.StatusServiceUnavailable, "not begun: the actions in other projects took too long; send the request again", ""))
	}
	if err := a.audit.write(line); err != nil {
		return refused(problem(http.StatusServiceUnavailable, "the audit cannot be written: "+err.Error(), ""))
	}
	in := actInput{ProjectPath: ProjectPath{ID: id}, Body: &actBody{Why: why}}
	done, err := a.act(ctx, &in, act)
	result := client.BulkResult{Project: id, Status: http.StatusOK, Success: true, Message: done.Message, Run: done.Run}
	if err != nil {
		result = refused(problemOf(err))
	}
	line.Time, line.Status = time.Now().UTC(), result.Status
	_ = a.audit.write(line) // the first line says that it may have been done
	return result
}
