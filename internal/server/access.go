package server

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"pawl/internal/httpaccess"
	"pawl/internal/runs"
	"pawl/internal/shellwords"
	"pawl/internal/tokens"
)

// Limits of a client.
const (
	callsPerMinute  = 600 // of a token or session
	loginsPerMinute = 5   // that fail, of all clients together
)

// failedLogins is the client that all failed logins count for.
const failedLogins = "login"

// keyHeader has the second secret of a session. A browser sends the cookie of a host to all of its ports, so another program there
// may see it; the second secret, only pages of this server.
const keyHeader = "Pawl-Key"

// ownToken is the id of the token in the token file.
const ownToken = "own"

// ownName is the name of its holder, in journals too: any program of the user.
const ownName = runs.ViaServer

type clientKey struct{}

// clientOf returns who sends a request.
func clientOf(ctx context.Context) tokens.Token {
	t, _ := ctx.Value(clientKey{}).(tokens.Token)
	return t
}

// open are the paths that need no token.
var open = []string{"/api/login"}

// authenticate finds out who sends a request. It refuses unknown clients, and clients that send too many requests.
func (a *api) authenticate(next http.Handler) http.Handler {
	login := a.limitLogins(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if slices.Contains(open, r.URL.Path) {
			login.ServeHTTP(w, r)
			return
		}
		now := time.Now()
		t, refused := a.identify(r, now)
		if refused == nil {
			if wait := a.calls.take(t.ID, now); wait > 0 {
				refused = tooMany(w, wait, "too many requests: at most %d a minute", callsPerMinute)
			}
		} else if refused.Status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", `Bearer realm="pawl"`)
		}
		if refused != nil {
			refused.write(w)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), clientKey{}, t)))
	})
}

// limitLogins refuses logins after too many that failed. They are refused before the audit, so that a client without a token cannot fill
// the disk with its lines.
func (a *api) limitLogins(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if wait := a.logins.full(failedLogins, time.Now()); wait > 0 {
			refused := tooMany(w, wait, "too many failed logins: at most %d a minute", loginsPerMinute)
			refused.Hint = "pawl serve open"
			refused.write(w)
			return
		}
		answer := &answerWriter{ResponseWriter: w}
		next.ServeHTTP(answer, r)
		if answer.code >= http.StatusBadRequest && answer.code < http.StatusInternalServerError {
			a.logins.take(failedLogins, time.Now())
		}
	})
}

// identify returns the token or the session of a request.
func (a *api) identify(r *http.Request, now time.Time) (tokens.Token, *Problem) {
	if r.Header.Get("Authorization") != "" {
		if httpaccess.HasToken(r, a.Token) {
			return tokens.Token{ID: ownToken, Name: ownName, Kind: tokens.Client, Rights: tokens.Default}, nil
		}
		secret, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		t, err := a.store.Find(secret, tokens.Client, now)
		return t, a.unknown(err)
	}
	if t, found, refused := a.proxied.identify(r); found {
		return t, refused
	}
	cookie, err := r.Cookie(a.cookie)
	if err != nil {
		return tokens.Token{}, a.unknown(fs.ErrNotExist)
	}
	if foreignPage(r) {
		return tokens.Token{}, problem(http.StatusForbidden, "the request comes from a page of another server", "")
	}
	t, err := a.store.Find(cookie.Value, tokens.Browser, now)
	if err != nil {
		return t, a.unknown(err)
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead && !t.HasKey(r.Header.Get(keyHeader)) {
		return t, problem(http.StatusForbidden, "a session needs the header "+keyHeader+" to change anything: the key that /api/login returned", "")
	}
	return t, nil
}

// unknown returns the problem of a client whose token was not found; nil for no error.
func (a *api) unknown(err error) *Problem {
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return problemOf(err)
	}
	return problem(http.StatusUnauthorized, "missing, wrong or expired token: send it as Authorization: Bearer TOKEN", "cat "+shellwords.Word(a.TokenFile))
}

func tooMany(w http.ResponseWriter, wait time.Duration, format string, most int) *Problem {
	w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	return problem(http.StatusTooManyRequests, strings.ReplaceAll(format, "%d", strconv.Itoa(most)), "")
}

// quota counts what clients do in each minute.
type quota struct {
	most int

	mu     sync.Mutex // guards what follows
	minute time.Time
	used   map[string]int
}

// take counts one request of a client. If it is one too many, wait says when the next one is allowed.
func (q *quota) take(client string, now time.Time) (wait time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if now.Sub(q.minute) >= time.Minute || now.Before(q.minute) {
		q.minute, q.used = now, map[string]int{}
	}
	if q.used[client] >= q.most {
		return q.minute.Add(time.Minute).Sub(now)
	}
	q.used[client]++
	return 0
}

// full reports like take, and counts nothing.
func (q *quota) full(client string, now time.Time) (wait time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if now.Sub(q.minute) < time.Minute && q.used[client] >= q.most {
		return q.minute.Add(time.Minute).Sub(now)
	}
	return 0
}

// rightKey is where an operation has the right that it needs.
const rightKey = "x-pawl-right"

// rightOf returns the right that an operation needs; empty: none.
func rightOf(op *huma.Operation) tokens.Right {
	right, _ := op.Extensions[rightKey].(tokens.Right)
	return right
}

// permit refuses a client that does not have the right for an operation.
func (a *api) permit(ctx huma.Context, next func(huma.Context)) {
	right := rightOf(ctx.Operation())
	if right == "" || clientOf(ctx.Context()).May(right) {
		next(ctx)
		return
	}
	refused := problem(http.StatusForbidden, "the token does not have the right "+string(right), "pawl serve token create NAME --rights "+tokens.List(append(slices.Clone(clientOf(ctx.Context()).Rights), right)))
	refused.Right = right
	a.audit.refused(ctx, refused)
	_, w := humago.Unwrap(ctx)
	refused.write(w)
}

// Session is who sends a request.
type Session struct {
	Name    string         `json:"name"`
	Rights  []tokens.Right `json:"rights"`
	Expires *time.Time     `json:"expires,omitempty"`
}

func sessionOf(t tokens.Token) Session {
	s := Session{Name: t.Name, Rights: append([]tokens.Right{}, t.Rights...)}
	if !t.Expires.IsZero() {
		s.Expires = &t.Expires
	}
	return s
}

// LoggedIn is the answer to a login.
type LoggedIn struct {
	Session
	Key string `json:"key" doc:"send it as the header Pawl-Key with each request that changes something"`
}

type loginInput struct {
	Body struct {
		Code string `json:"code" doc:"behind # in the link that pawl serve open prints" maxLength:"200"`
	}
}

type loginOutput struct {
	SetCookie string `header:"Set-Cookie"`
	Body      LoggedIn
}

// login exchanges a one-time code for a session.
func (a *api) login(ctx context.Context, in *loginInput) (*loginOutput, error) {
	now := time.Now()
	t, secret, key, err := a.store.Session(in.Body.Code, now)
	if errors.Is(err, tokens.ErrCode) {
		return nil, problem(http.StatusUnauthorized, err.Error(), "pawl serve open")
	}
	if err != nil {
		return nil, problemOf(err)
	}
	note(ctx).Name, note(ctx).Token = t.Name, t.ID
	cookie := a.newCookie(secret, int(t.Expires.Sub(now).Seconds()))
	return &loginOutput{cookie, LoggedIn{sessionOf(t), key}}, nil
}

// newCookie returns the cookie of a session. maxAge below 0 removes it.
func (a *api) newCookie(secret string, maxAge int) string {
	c := http.Cookie{
		Name: a.cookie, Value: secret, Path: "/", MaxAge: maxAge, HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: a.secure,
	}
	return c.String()
}

type logoutOutput struct {
	SetCookie string `header:"Set-Cookie"`
}

// logout ends the session of a request.
func (a *api) logout(ctx context.Context, _ *struct{}) (*logoutOutput, error) {
	if t := clientOf(ctx); t.Kind == tokens.Browser {
		if _, err := a.store.Revoke(t.ID, time.Now()); err != nil {
			return nil, problemOf(err)
		}
	}
	return &logoutOutput{a.newCookie("", -1)}, nil
}

func (a *api) sessionRoutes(h huma.API) {
	public := []map[string][]string{}
	huma.Register(h, huma.Operation{
		OperationID: "login", Method: http.MethodPost, Path: "/api/login", Summary: "Exchange a one-time code for a session", Security: public,
		Errors: []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests},
	}, a.login)
	huma.Register(h, huma.Operation{
		OperationID: "logout", Method: http.MethodPost, Path: "/api/logout", Summary: "End the session", DefaultStatus: http.StatusNoContent,
		Errors: []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests},
	}, a.logout)
	register(h, route{id: "get-session", method: http.MethodGet, path: "/api/session", summary: "Show who the client is, and its rights"},
		func(ctx context.Context, _ *struct{}) (Session, error) { return sessionOf(clientOf(ctx)), nil })
}
