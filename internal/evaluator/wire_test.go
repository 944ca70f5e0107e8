package evaluator_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/evaluator"
	"pawl/internal/evidence"
)

// wire is one of the protocols that models are asked by.
type wire struct {
	provider config.Provider
	path     string
	auth     string                           // what the request is authorised by
	reply    func(text, finish string) string // a model's answer; finish "" is the usual end
	prompt   func(t *testing.T, body []byte) (system, user string)
	cut      string // why an answer ends that is too long
}

var messagesAPI = &wire{
	provider: config.Anthropic, path: "/v1/messages", auth: "X-Api-Key: " + yourKey, cut: "max_tokens",
	reply: func(text, finish string) string {
		if finish == "" {
			finish = "end_turn"
		}
		return fmt.Sprintf(`{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":%s}],
			"stop_reason":%q,"usage":{"input_tokens":1000,"cache_read_input_tokens":200,"output_tokens":100}}`, quoted(text), finish)
	},
	prompt: func(t *testing.T, body []byte) (system, user string) {
		var q struct {
			Model     string
			MaxTokens int `json:"max_tokens"`
			System    []struct{ Text string }
			Messages  []struct {
				Role    string
				Content []struct{ Text string }
			}
		}
		if err := json.Unmarshal(body, &q); err != nil || q.Model != "m" || q.MaxTokens == 0 || len(q.Messages) != 1 || q.Messages[0].Role != "user" {
			t.Fatalf("%s: %v", body, err)
		}
		return q.System[0].Text, q.Messages[0].Content[0].Text
	},
}

var chatCompletions = &wire{
	provider: config.OpenAI, path: "/v1/chat/completions", auth: "Authorization: Bearer " + yourKey, cut: "length",
	reply: func(text, finish string) string {
		if finish == "" {
			finish = "stop"
		}
		return fmt.Sprintf(`{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":%s,"refusal":null},
			"finish_reason":%q}],"usage":{"prompt_tokens":1200,"completion_tokens":100,"total_tokens":1300}}`, quoted(text), finish)
	},
	prompt: func(t *testing.T, body []byte) (system, user string) {
		var q struct {
			Model    string
			Messages []struct{ Role, Content string }
		}
		if err := json.Unmarshal(body, &q); err != nil || q.Model != "m" || len(q.Messages) != 2 || q.Messages[0].Role != "system" {
			t.Fatalf("%s: %v", body, err)
		}
		return q.Messages[0].Content, q.Messages[1].Content
	},
}

var wires = []*wire{messagesAPI, chatCompletions}

func quoted(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(data)
}

func (w *wire) config(url string) evaluator.Config {
	return evaluator.Config{Provider: w.provider, Model: "m", BaseURL: url + "/v1", Timeout: pawl.Duration(time.Minute)}
}

// server is a local one. It answers each request with the next of its handlers, the last one again and again.
type server struct {
	*httptest.Server
	wire *wire
	mu   sync.Mutex // guards the rest
	seen []string   // bodies
	head []http.Header
}

func newServer(t *testing.T, w *wire, handlers ...http.HandlerFunc) *server {
	t.Helper()
	s := &server{wire: w}
	if len(handlers) == 0 {
		handlers = []http.HandlerFunc{w.answers(goodAnswer)}
	}
	s.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost || r.URL.Path != w.path {
			t.Errorf("%s %s: %v", r.Method, r.URL.Path, err)
		}
		s.mu.Lock()
		s.seen, s.head = append(s.seen, string(body)), append(s.head, r.Header)
		n := len(s.seen)
		s.mu.Unlock()
		handlers[min(n, len(handlers))-1](rw, r)
	}))
	s.Config.ErrorLog = nil
	t.Cleanup(s.Close)
	return s
}

func (s *server) evaluator(change func(*evaluator.Config)) *evaluator.Evaluator {
	c := s.wire.config(s.URL)
	if change != nil {
		change(&c)
	}
	return evaluator.New(c, "", environ)
}

func (s *server) calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.seen)
}

func (s *server) lastBody() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return []byte(s.seen[len(s.seen)-1])
}

// answers is the handler of a server that is well.
func (w *wire) answers(text string) http.HandlerFunc { return sends(http.StatusOK, w.reply(text, "")) }

// sends is the handler that answers with a status, a body and headers.
func sends(code int, body string, headers ...string) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		for _, h := range headers {
			name, value, _ := strings.Cut(h, ": ")
			rw.Header().Set(name, value)
		}
		rw.WriteHeader(code)
		_, _ = io.WriteString(rw, body)
	}
}

// hangsUp is the handler that closes the connection, in the middle of its answer or before.
func hangsUp(half string) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) {
		if half != "" {
			rw.Header().Set("Content-Type", "application/json")
			rw.Header().Set("Content-Length", fmt.Sprint(2*len(half)))
			_, _ = io.WriteString(rw, half)
			_ = http.NewResponseController(rw).Flush()
		}
		panic(http.ErrAbortHandler)
	}
}

// stalls is the handler that sends a beginning and then nothing, until nobody listens.
func stalls(half string) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		if half != "" {
			_, _ = io.WriteString(rw, half)
			_ = http.NewResponseController(rw).Flush()
		}
		<-r.Context().Done()
	}
}

// newStalled returns the URL of a server that never answers.
func newStalled(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		stalls("")(rw, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func each(t *testing.T, do func(t *testing.T, w *wire)) {
	t.Parallel()
	for _, w := range wires {
		t.Run(string(w.provider), func(t *testing.T) {
			t.Parallel()
			do(t, w)
		})
	}
}

func TestModelIsAsked(t *testing.T) {
	each(t, func(t *testing.T, w *wire) {
		s := newServer(t, w)
		got := s.evaluator(func(c *evaluator.Config) { c.Price = config.Price{Input: 10, Output: 50} }).Ask(t.Context(), halfDone())
		want := evaluator.Opinion{Verdict: pawl.Continue, Confidence: 0.9, Reasons: []string{"parse.go is there"},
			By: string(w.provider) + " m", Cost: pawl.Usage{Tokens: 1300, USD: 0.017}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		system, user := w.prompt(t, s.lastBody())
		if system != evaluator.Prompt || !strings.Contains(user, `"last_action": "curl -H 'X-Deploy: [redacted:DEPLOY_TOKEN]'`) {
			t.Errorf("asked %s\n%s", system, user)
		}
		name, value, _ := strings.Cut(w.auth, ": ")
		if got := s.head[0].Get("Anthropic-Version"); (got != "") != (w == messagesAPI) {
			t.Errorf("anthropic-version: %q", got)
		}
		if got := s.head[0].Get(name); got != value || strings.Contains(user, patSecret) || strings.Contains(user, envSecret) {
			t.Errorf("%s: %q", name, got)
		}
	})
}

func TestModelAnswers(t *testing.T) {
	each(t, func(t *testing.T, w *wire) {
		ask := func(answer, finish string) evaluator.Opinion {
			o := newServer(t, w, sends(http.StatusOK, w.reply(answer, finish))).evaluator(nil).Ask(t.Context(), halfDone())
			if o.Cost.Tokens != 1300 {
				t.Errorf("%q: the cost is %+v", answer, o.Cost)
			}
			return o
		}
		asks(t, "fenced", ask("```json\n"+goodAnswer+"\n```", ""), pawl.Continue, "")
		asks(t, "unsure", ask(unsureAnswer, ""), pawl.HumanReview, "with confidence 0.59, below")
		asks(t, "a person", ask(personAnswer, ""), pawl.HumanReview, "")
		asks(t, "cut off", ask(goodAnswer, w.cut), pawl.HumanReview, "incomplete answer of the model: stop reason \""+w.cut)
		asks(t, "its own cost", ask(goodAnswer[:len(goodAnswer)-1]+`,"cost":{"usd":0}}`, ""), pawl.HumanReview, `unknown key "cost"`)
		for answer, doubt := range misleading {
			asks(t, answer, ask(answer, ""), pawl.HumanReview, doubt)
		}
	})
}

// What may pass is tried once more; what will not is not.
func TestServerInTrouble(t *testing.T) {
	each(t, func(t *testing.T, w *wire) {
		const limited = `{"type":"error","error":{"type":"rate_limit_error","message":"slow down, ` + yourKey + `"}}`
		well, reply := w.answers(goodAnswer), w.reply(goodAnswer, "")
		in := func(d time.Duration) string { return "Retry-After: " + time.Now().Add(d).UTC().Format(http.TimeFormat) }
		for name, c := range map[string]struct {
			handlers []http.HandlerFunc
			calls    int
			verdict  pawl.VerdictWord
			doubt    string
		}{
			"500, then well":          {[]http.HandlerFunc{sends(500, "{}"), well}, 2, pawl.Continue, ""},
			"529, then well":          {[]http.HandlerFunc{sends(529, "overloaded"), well}, 2, pawl.Continue, ""},
			"always 500":              {[]http.HandlerFunc{sends(500, "<html>\x1b[1moops</html>")}, 2, pawl.HumanReview, "500 Internal Server Error: <html>[1moops"},
			"503, then prose":         {[]http.HandlerFunc{sends(503, ""), w.answers("Continue!")}, 2, pawl.HumanReview, "not a JSON object"},
			"429, then well":          {[]http.HandlerFunc{sends(429, limited, "Retry-After: 0"), well}, 2, pawl.Continue, ""},
			"429 for a second":        {[]http.HandlerFunc{sends(429, limited, "Retry-After: 1"), well}, 2, pawl.Continue, ""},
			"429 until then":          {[]http.HandlerFunc{sends(429, limited, in(-time.Hour)), well}, 2, pawl.Continue, ""},
			"429 for too long":        {[]http.HandlerFunc{sends(429, limited, "Retry-After: 3600"), well}, 1, pawl.HumanReview, "retry in 1h0m0s, after the time limit"},
			"429 until much later":    {[]http.HandlerFunc{sends(429, limited, in(time.Hour)), well}, 1, pawl.HumanReview, "after the time limit"},
			"429 for ever":            {[]http.HandlerFunc{sends(429, limited, "Retry-After: 99999999999999"), well}, 1, pawl.HumanReview, "after the time limit"},
			"429 with nonsense":       {[]http.HandlerFunc{sends(429, limited, "Retry-After: -soon")}, 2, pawl.HumanReview, "429 Too Many Requests: slow down, [redacted:"},
			"401":                     {[]http.HandlerFunc{sends(401, `{"error":{"message":"wrong key"}}`)}, 1, pawl.HumanReview, "401 Unauthorized: wrong key"},
			"401 with an id":          {[]http.HandlerFunc{sends(401, `{"error":{"message":"wrong key"}}`, "Request-Id: req_011")}, 1, pawl.HumanReview, "401 Unauthorized: wrong key (request req_011)"},
			"500 with another id":     {[]http.HandlerFunc{sends(500, "oops", "X-Request-Id: 7f")}, 2, pawl.HumanReview, "500 Internal Server Error: oops (request 7f)"},
			"404":                     {[]http.HandlerFunc{sends(404, "404 page not found")}, 1, pawl.HumanReview, "404 Not Found: 404 page not found"},
			"hangs up, then well":     {[]http.HandlerFunc{hangsUp(""), well}, 2, pawl.Continue, ""},
			"always hangs up":         {[]http.HandlerFunc{hangsUp("")}, 2, pawl.HumanReview, "no answer: EOF"},
			"hangs up midway, well":   {[]http.HandlerFunc{hangsUp(reply[:50]), well}, 2, pawl.Continue, ""},
			"always hangs up midway":  {[]http.HandlerFunc{hangsUp(reply)}, 2, pawl.HumanReview, "truncated answer"},
			"sends us on":             {[]http.HandlerFunc{sends(307, "", "Location: http://127.0.0.1:1/evil")}, 1, pawl.HumanReview, `redirects to "http://127.0.0.1:1/evil"`},
			"100 MB":                  {[]http.HandlerFunc{sendsMuch(t)}, 1, pawl.HumanReview, "the answer is larger than 1048576 bytes"},
			"100 MB of trouble":       {[]http.HandlerFunc{func(rw http.ResponseWriter, r *http.Request) { rw.WriteHeader(500); sendsMuch(t)(rw, r) }}, 1, pawl.HumanReview, "larger than 1048576 bytes"},
			"a page":                  {[]http.HandlerFunc{sends(200, "<html>Log in first</html>", "Content-Type: text/html")}, 1, pawl.HumanReview, "the server returned"},
			"half of it, as if whole": {[]http.HandlerFunc{sends(200, reply[:len(reply)/2])}, 1, pawl.HumanReview, "the server returned"},
			"nothing":                 {[]http.HandlerFunc{sends(200, "")}, 1, pawl.HumanReview, "the server returned"},
			"an empty object":         {[]http.HandlerFunc{sends(200, "{}")}, 1, pawl.HumanReview, "answer"},
			"no content":              {[]http.HandlerFunc{sends(204, "")}, 1, pawl.HumanReview, "204"},
			"an array":                {[]http.HandlerFunc{sends(200, "[]")}, 1, pawl.HumanReview, "the server returned"},
			"not what was asked for":  {[]http.HandlerFunc{sends(200, `{"content":7,"choices":7}`)}, 1, pawl.HumanReview, "the server returned"},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := newServer(t, w, c.handlers...)
				asks(t, name, s.evaluator(nil).Ask(t.Context(), halfDone()), c.verdict, c.doubt)
				if s.calls() != c.calls {
					t.Errorf("asked %d times, want %d", s.calls(), c.calls)
				}
			})
		}
	})
}

// sendsMuch is the handler that sends up to 100 MB. It must not come far.
func sendsMuch(t *testing.T) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) {
		block := []byte(strings.Repeat(" ", 1<<20))
		for sent := range 100 {
			if _, err := rw.Write(block); err != nil {
				return // the client has had enough
			}
			if sent == 50 {
				t.Error("the client takes all that comes")
			}
		}
	}
}

func TestServerStalls(t *testing.T) {
	each(t, func(t *testing.T, w *wire) {
		for _, half := range []string{"", "{", w.reply(goodAnswer, "")} {
			s := newServer(t, w, stalls(half))
			e := s.evaluator(func(c *evaluator.Config) { c.Timeout = pawl.Duration(300 * time.Millisecond) })
			start := time.Now()
			asks(t, half, e.Ask(t.Context(), halfDone()), pawl.HumanReview, "no answer within 300ms")
			if took := time.Since(start); took > time.Minute {
				t.Errorf("took %s", took)
			}
		}
		s := newServer(t, w, sends(500, ""), stalls(""))
		e := s.evaluator(func(c *evaluator.Config) { c.Timeout = pawl.Duration(700 * time.Millisecond) })
		asks(t, "stalls the second time", e.Ask(t.Context(), halfDone()), pawl.HumanReview, "no answer within 700ms")
	})
}

func TestNobodyListens(t *testing.T) {
	each(t, func(t *testing.T, w *wire) {
		asks(t, "closed", evaluator.New(w.config("http://127.0.0.1:1"), "", environ).Ask(t.Context(), halfDone()), pawl.HumanReview, "no answer: dial tcp")
		asks(t, "no URL", evaluator.New(w.config("http://a b"), "", environ).Ask(t.Context(), halfDone()), pawl.HumanReview, "invalid")
	})
}

func TestKeys(t *testing.T) {
	t.Parallel()
	s := newServer(t, messagesAPI)
	asks(t, "anthropic", evaluator.New(messagesAPI.config(s.URL), "", nil).Ask(t.Context(), halfDone()), pawl.HumanReview, "ANTHROPIC_API_KEY is not set")
	if s.calls() != 0 {
		t.Error("asked without a key")
	}
	s = newServer(t, chatCompletions)
	o := evaluator.New(chatCompletions.config(s.URL), "", nil).Ask(t.Context(), evidence.Evidence{Allowed: []pawl.VerdictWord{pawl.Continue}})
	asks(t, "a server without keys", o, pawl.Continue, "")
	if got := s.head[0]["Authorization"]; got != nil {
		t.Errorf("authorised by %q", got)
	}
}

// TestKeysAreEncrypted refuses to send a key to another machine by plain HTTP.
func TestKeysAreEncrypted(t *testing.T) {
	each(t, func(t *testing.T, w *wire) {
		s := newServer(t, w)
		e := s.evaluator(func(c *evaluator.Config) { c.BaseURL = "http://192.0.2.1/v1" }) // an address of no machine, RFC 5737
		asks(t, "plain HTTP", e.Ask(t.Context(), halfDone()), pawl.HumanReview, "no key is sent to 192.0.2.1 without encryption: use an https URL")
	})
}

// Servers differ in what they know: one tells its price, another has no response_format, a third refuses.
func TestChatCompletionsOfOthers(t *testing.T) {
	t.Parallel()
	w := chatCompletions
	priced := strings.Replace(w.reply(goodAnswer, ""), `"usage":{`, `"usage":{"cost":0.125,`, 1)
	s := newServer(t, w, sends(200, priced))
	o := s.evaluator(func(c *evaluator.Config) { c.Price = config.Price{Input: 10, Output: 50} }).Ask(t.Context(), halfDone())
	if o.Verdict != pawl.Continue || o.Cost != (pawl.Usage{Tokens: 1300, USD: 0.125}) {
		t.Errorf("%+v", o)
	}

	s = newServer(t, w, sends(400, `{"error":"'response_format.type' must be 'json_schema' or 'text'"}`), w.answers(goodAnswer))
	asks(t, "no format", s.evaluator(nil).Ask(t.Context(), halfDone()), pawl.Continue, "")
	if !strings.Contains(s.seen[0], `"response_format":{"type":"json_object"}`) || strings.Contains(s.seen[1], "response_format") {
		t.Errorf("asked %q", s.seen)
	}

	refuses := strings.Replace(w.reply("", ""), `"refusal":null`, `"refusal":"I would rather not"`, 1)
	asks(t, "refuses", newServer(t, w, sends(200, refuses)).evaluator(nil).Ask(t.Context(), halfDone()), pawl.HumanReview, "the model refused: I would rather not")
}
