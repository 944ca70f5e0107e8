package server

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/decide"
	"pawl/internal/disk"
	"pawl/internal/redact"
	"pawl/internal/server/client"
	"pawl/internal/tokens"
)

// Limits of actions in several projects.
const (
	maxBulk    = 5000             // projects of one action
	maxBulks   = 20               // actions that the server remembers
	countLimit = 20 * time.Second // for a look at the projects before an action; what is not looked at by then is described in general
	bulkLasts  = 10 * time.Minute // until an action that was counted must be counted again
	bulkStop   = 2 * time.Second  // for the end of a project's running steps
)

// bulkActions are the actions that several projects allow.
var bulkActions = map[string]action{"resume": resumeAction, "pause": pauseAction, "stop": stopAction, "retry": retryAction}

type bulkInput struct {
	Body struct {
		Token    string     `json:"token,omitempty" doc:"of an action that was counted: begins it. Without it, the projects are only counted" maxLength:"64"`
		Action   string     `json:"action,omitempty" doc:"retry reruns the first failed step" enum:"resume,pause,stop,retry"`
		Filter   *Selection `json:"filter,omitempty" doc:"the projects, as GET /api/projects selects them"`
		Projects []string   `json:"projects,omitempty" doc:"or the ids of the projects" maxItems:"5000"`
		Why      string     `json:"why,omitempty" doc:"with a token: the reason" maxLength:"4000"`
	}
}

type bulkPath struct {
	Token string `path:"token" doc:"token of the action" maxLength:"64"`
}

func (a *api) bulkRoutes(h huma.API) {
	register(h, route{
		id: "act-on-projects", method: http.MethodPost, path: "/api/bulk", right: tokens.Operate, errors: []int{http.StatusNotFound, http.StatusConflict},
		summary: "Count the projects in which an action would be done and show what it would do; with the token of the answer, do it",
	}, func(ctx context.Context, in *bulkInput) (client.Bulk, error) {
		if in.Body.Token != "" {
			return a.beginBulk(ctx, in.Body.Token, strings.TrimSpace(in.Body.Why))
		}
		return a.countBulk(ctx, in)
	})
	register(h, route{
		id: "get-bulk", method: http.MethodGet, path: "/api/bulk/{token}", right: tokens.Operate, errors: []int{http.StatusNotFound},
		summary: "Show an action in several projects, with the results so far",
	}, func(ctx context.Context, in *bulkPath) (client.Bulk, error) {
		a.bulks.mu.Lock()
		defer a.bulks.mu.Unlock()
		b, err := a.bulks.find(ctx, in.Token)
		if err != nil {
			return client.Bulk{}, err
		}
		return b.copied(), nil
	})
}

// bulks are the actions in several projects that clients have counted. They are done one after the other.
type bulks struct {
	queue chan *bulk

	mu    sync.Mutex // guards what follows, and shown of each
	known []*bulk    // oldest first
}

// bulk is an action in several projects.
type bulk struct {
	client string // id of the token that counted it
	at     time.Time
	act    action
	asks   []request // of each project
	line   auditLine // of the request that began it
	shown  client.Bulk
}

// copied returns what clients see. The caller holds mu.
func (b *bulk) copied() client.Bulk {
	c := b.shown
	c.Projects = slices.Clone(c.Projects)
	return c
}

// find returns an action of a client. The caller holds mu.
func (x *bulks) find(ctx context.Context, token string) (*bulk, error) {
	for _, b := range x.known {
		if b.shown.Token == token && b.client == clientOf(ctx).ID {
			return b, nil
		}
	}
	return nil, notFound("no action with this token: it has expired, or the server has restarted; count the projects again")
}

// add remembers an action. It forgets those that have expired, and the oldest ones if there are too many.
func (x *bulks) add(b *bulk, now time.Time) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.known = slices.DeleteFunc(x.known, func(old *bulk) bool { return old.shown.State == client.BulkCounted && now.Sub(old.at) > bulkLasts })
	for len(x.known) >= maxBulks {
		i := slices.IndexFunc(x.known, func(old *bulk) bool { return old.shown.State != client.BulkRunning })
		if i < 0 {
			return problem(http.StatusServiceUnavailable, "too many actions are under way", "")
		}
		x.known = slices.Delete(x.known, i, i+1)
	}
	x.known = append(x.known, b)
	return nil
}

// countBulk looks at the projects, and returns what an action would do. It changes nothing.
func (a *api) countBulk(ctx context.Context, in *bulkInput) (client.Bulk, error) {
	act, known := bulkActions[in.Body.Action]
	if !known || (in.Body.Filter == nil) == (len(in.Body.Projects) == 0) {
		return client.Bulk{}, badRequest("pass an action, and either a filter or projects")
	}
	projects := a.chosen(in.Body.Filter, in.Body.Projects)
	if len(projects) > maxBulk {
		return client.Bulk{}, problem(http.StatusConflict, fmt.Sprintf("%d projects are too many: at most %d; use a filter that selects fewer", len(projects), maxBulk), "")
	}
	now := time.Now()
	b := &bulk{client: clientOf(ctx).ID, at: now, act: act, asks: make([]request, len(projects))}
	b.shown = client.Bulk{Token: disk.RandomHex(16), Action: act.verb, State: client.BulkCounted, Count: len(projects), Projects: projects}
	q := request{by: authorOf(ctx), wait: bulkStop}
	looking, cancel := context.WithTimeout(ctx, countLimit)
	defer cancel()
	inParallel(len(projects), func(i int) { b.asks[i] = a.preview(looking, &projects[i], act, q) })
	for _, p := range projects {
		if p.Will != "" {
			b.shown.Possible++
		}
	}
	return b.copied(), a.bulks.add(b, now)
}

// chosen returns the projects of a filter, or those with ids.
func (a *api) chosen(f *Selection, ids []string) (list []client.BulkProject) {
	list = []client.BulkProject{}
	if f == nil {
		ids = slices.Clone(ids)
		slices.Sort(ids)
		for _, id := range slices.Compact(ids) {
			list = append(list, client.BulkProject{Project: id})
		}
		return list
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.selected(f) {
		list = append(list, client.BulkProject{Project: s.ID, Path: s.Path, Name: s.Name, Run: s.Run, Status: s.Status})
	}
	return list
}

// inParallel calls do with each number below n.
func inParallel(n int, do func(i int)) {
	tickets := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i := range n {
		tickets <- struct{}{}
		all.Go(func() {
			defer func() { <-tickets }()
			do(i)
		})
	}
	all.Wait()
}

// preview says what an action would do in a project, or why it is not possible. It returns the request for it.
func (a *api) preview(ctx context.Context, of *client.BulkProject, act action, q request) request {
	clean := redact.OfProcess().Text
	defer func() {
		if fault := recover(); fault != nil {
			of.Will, of.Refused = "", clean(fmt.Sprintf("panic: %v", fault))
		}
	}()
	if ctx.Err() != nil { // no time is left
		of.Will = act.does
		return q
	}
	e, err := entry(of.Project)
	if err != nil {
		of.Refused = problemOf(err).Detail
		return q
	}
	of.Path = e.Path
	p, s, err := readNow(ctx, e)
	of.Name, of.Run, of.Status = s.Name, s.Run, s.Status
	switch {
	case err != nil:
		of.Refused = clean(problemOf(err).Detail)
	case !act.allowed(s.Status):
		of.Refused = clean(cmp.Or(s.Why, "the run is "+string(s.Status)))
	case act.verb == retryAction.verb && s.FailedStep == "":
		of.Refused = "no step has failed"
	case act.verb == retryAction.verb:
		q.step, q.match = s.FailedStep, tagOf(s.seq) // of another state it would be another step
		of.Will = "rerun step " + string(s.FailedStep) + ": " + s.FailedWhy
	case act.verb == resumeAction.verb:
		found, err := examine(ctx, p, s.Run)
		if err != nil && ctx.Err() == nil {
			of.Refused = clean(problemOf(err).Detail)
			break
		}
		of.Will = act.does
		if err == nil {
			of.Will = clean(willDo(found))
		}
	default:
		of.Will = act.does
	}
	return q
}

// willListed is how many attempts and steps a sentence names.
const willListed = 3

// willDo says what a resume does, in one sentence.
func willDo(found *client.Recovery) string {
	var parts []string
	judged := map[pawl.StepID]bool{}
	for i, j := range found.Examination.Verdicts {
		judged[j.Step] = true
		if i < willListed {
			name := string(j.Step)
			if j.Item != "" {
				name += "/" + string(j.Item)
			}
			parts = append(parts, name+": "+j.Brief())
		}
	}
	if more := len(found.Examination.Verdicts) - willListed; more > 0 {
		parts = append(parts, layout.Count(more, "other attempt"))
	}
	var runs, asks []string
	for _, s := range found.Steps {
		switch {
		case judged[s.Step]:
		case s.Runs:
			runs = append(runs, string(s.Step))
		case s.Do == decide.Ask:
			asks = append(asks, string(s.Step))
		}
	}
	for _, list := range [][]string{append([]string{"run "}, runs...), append([]string{"ask you about "}, asks...)} {
		if steps := list[1:]; len(steps) > willListed {
			parts = append(parts, list[0]+strings.Join(steps[:willListed], ", ")+" and "+layout.Count(len(steps)-willListed, "other step"))
		} else if len(steps) > 0 {
			parts = append(parts, list[0]+strings.Join(steps, ", "))
		}
	}
	return cmp.Or(strings.Join(parts, "; "), "nothing is left to run")
}

// beginBulk has an action done that was counted. If it was begun already, it only shows it.
func (a *api) beginBulk(ctx context.Context, token, why string) (client.Bulk, error) {
	a.bulks.mu.Lock()
	defer a.bulks.mu.Unlock()
	b, err := a.bulks.find(ctx, token)
	if err != nil || b.shown.State != client.BulkCounted {
		if err == nil {
			return b.copied(), nil
		}
		return client.Bulk{}, err
	}
	if time.Since(b.at) > bulkLasts {
		return client.Bulk{}, problem(http.StatusConflict, "the projects were counted too long ago: count them again", "")
	}
	b.line, b.shown.State = *note(ctx), client.BulkRunning
	for i := range b.asks {
		b.asks[i].why = why
	}
	a.bulks.queue <- b // it has room for all that are remembered
	return b.copied(), nil
}

// actInBulk does the actions that clients have begun, until ctx ends. What is wrong with one project does not touch the others.
func (a *api) actInBulk(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case b := <-a.bulks.queue:
			inParallel(len(b.asks), func(i int) { a.actInOne(ctx, b, i) })
			a.bulks.mu.Lock()
			b.shown.State = client.BulkDone
			a.bulks.mu.Unlock()
		}
	}
}

// actInOne does an action in one of its projects, with its own lines in the audit.
func (a *api) actInOne(ctx context.Context, b *bulk, i int) {
	a.bulks.mu.Lock()
	of := b.shown.Projects[i]
	a.bulks.mu.Unlock()
	if of.Will == "" || ctx.Err() != nil { // impossible, or the server ends
		return
	}
	line := b.line
	line.Time, line.Call, line.Do, line.Path = time.Now().UTC(), disk.RandomHex(4), b.act.verb+"-project", "/api/projects/"+of.Project+"/"+b.act.verb
	result := client.BulkResult{Status: http.StatusOK, Success: true}
	done, err := a.audited(line, func() (client.Acted, error) { return a.actOn(ctx, of.Project, b.act, b.asks[i]) })
	if result.Message = done.Message; err != nil {
		p := problemOf(err)
		result = client.BulkResult{Status: p.Status, Message: p.Message, Detail: redact.OfProcess().Text(p.Detail), Hint: p.Hint}
	}
	line.Time, line.Status = time.Now().UTC(), result.Status
	_ = a.audit.write(line) // the first line says that it may have been done
	a.bulks.mu.Lock()
	defer a.bulks.mu.Unlock()
	b.shown.Projects[i].Result = &result
	b.shown.Done++
	if !result.Success {
		b.shown.Failed++
	}
}

// audited does an action after its line in the audit. A panic in it is an error.
func (a *api) audited(line auditLine, do func() (client.Acted, error)) (done client.Acted, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("panic: %v", fault)
		}
	}()
	if err := a.audit.write(line); err != nil {
		return done, problem(http.StatusServiceUnavailable, "the audit cannot be written: "+err.Error(), "")
	}
	return do()
}
