package server

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"pawl/internal/disk"
	"pawl/internal/server/client"
	"pawl/internal/tokens"
)

// Limits of a bulk request: how long it begins actions, and how long it waits for them. A resume may take a minute.
const (
	bulkBegins = 20 * time.Second
	bulkWaits  = 45 * time.Second
)

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
	for _, id := range ids {
		if len(id) > maxProjectID {
			return client.Bulk{}, badRequest("an id of a project has at most %d characters", maxProjectID)
		}
	}
	line := *note(ctx)                                                      // a copy, for actions that end after this request
	own := context.WithValue(context.WithoutCancel(ctx), auditKey{}, &line) // also if the client leaves
	return client.Bulk{Results: a.eachOfBulk(ids, bulkWaits, func(id string, end time.Time) client.BulkResult {
		return a.oneOfBulk(own, id, act, in.Body.Why, end)
	})}, nil
}

// maxProjectID is how long an id of a project is at most.
const maxProjectID = 64

// eachOfBulk does something in each project, several at once, and returns the results that there are after a time. What is not done by
// then continues.
func (a *api) eachOfBulk(ids []string, wait time.Duration, do func(id string, end time.Time) client.BulkResult) []client.BulkResult {
	type done struct {
		index  int
		result client.BulkResult
	}
	came, end := make(chan done, len(ids)), time.Now().Add(bulkBegins)
	tickets := make(chan struct{}, atOnce)
	for i, id := range ids {
		go func() {
			tickets <- struct{}{}
			defer func() { <-tickets }()
			came <- done{i, do(id, end)}
		}()
	}
	results := make([]client.BulkResult, len(ids))
	for i, id := range ids {
		late := problem(http.StatusGatewayTimeout, "not done yet: it continues; look at the project", "")
		results[i] = client.BulkResult{Project: id, Status: late.Status, Detail: late.Detail}
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for range ids {
		select {
		case d := <-came:
			results[d.index] = d.result
		case <-timer.C:
			return results
		}
	}
	return results
}

// oneOfBulk does an action in one project, with its own lines in the audit.
func (a *api) oneOfBulk(ctx context.Context, id string, act action, why string, end time.Time) client.BulkResult {
	line := *note(ctx)
	line.Time, line.Call, line.Do, line.Path = time.Now().UTC(), disk.RandomHex(4), act.verb+"-project", "/api/projects/"+id+"/"+act.verb
	refused := func(p *Problem) client.BulkResult {
		return client.BulkResult{Project: id, Status: p.Status, Message: p.Message, Detail: p.Detail, Hint: p.Hint}
	}
	if line.Time.After(end) {
		return refused(problem(http.StatusServiceUnavailable, "not begun: the actions in other projects took too long; send the request again", ""))
	}
	if err := a.audit.write(line); err != nil {
		return refused(problem(http.StatusServiceUnavailable, "the audit cannot be written: "+err.Error(), ""))
	}
	in := actInput{ProjectPath: ProjectPath{ID: id}, Body: &actBody{Why: why}}
	done, err := a.actSafely(ctx, &in, act)
	result := client.BulkResult{Project: id, Status: http.StatusOK, Success: true, Message: done.Message, Run: done.Run}
	if err != nil {
		result = refused(problemOf(err))
	}
	line.Time, line.Status = time.Now().UTC(), result.Status
	_ = a.audit.write(line) // the first line says that it may have been done
	return result
}

// actSafely is act for a goroutine: a panic about one project is its error.
func (a *api) actSafely(ctx context.Context, in *actInput, act action) (done client.Acted, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = problem(http.StatusInternalServerError, fmt.Sprintf("panic: %v", fault), "")
		}
	}()
	return a.act(ctx, in, act)
}
