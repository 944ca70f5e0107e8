package evaluator

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pawl"
)

var open = []pawl.VerdictWord{pawl.Continue, pawl.Restart}

const good = `{"verdict":"continue","confidence":0.9,"reasons":["half of it is there"]}`

func TestParse(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		good,
		" \n" + good + "\n\n",
		"```json\n" + good + "\n```",
		"```\n" + good + "\n```\n",
		"```json\r\n" + good + "\r\n```",
		`{"reasons":["half of it is there"],"confidence":9e-1,"verdict":"continue"}`,
	} {
		o, err := parse(text, open, false)
		if err != nil || o.Verdict != pawl.Continue || o.Confidence != 0.9 || !slices.Equal(o.Reasons, []string{"half of it is there"}) {
			t.Errorf("%q: %+v, %v", text, o, err)
		}
	}
	o, err := parse(`{"verdict":"human_review","confidence":0,"reasons":["a"],"cost":{"usd":0.25,"tokens":7}}`, open, true)
	if err != nil || o.Verdict != pawl.HumanReview || o.Cost != (pawl.Usage{USD: 0.25, Tokens: 7}) {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	with := func(old, new string) string { return strings.Replace(good, old, new, 1) }
	for text, want := range map[string]string{
		"":                                    "not a JSON object",
		"I would continue.":                   "not a JSON object",
		"Sure! " + good:                       "not a JSON object",
		good + " I hope this helps.":          "data after",
		good + good:                           "data after",
		"[" + good + "]":                      "not a JSON object",
		"null":                                "not a JSON object",
		"{}":                                  `missing "verdict"`,
		good[:len(good)-1]:                    "truncated JSON",
		good[:20]:                             "invalid JSON",
		good[:40]:                             "invalid JSON",
		"```json\n" + good:                    "not a JSON object",
		"```go\n" + good + "\n```":            "not a JSON object",
		"```json\nSure! " + good + "\n```":    "not a JSON object",
		"```json\n" + good + "\n```\nand so?": "not a JSON object",
		with("continue", "next"):              `do not allow "next"`,
		with("continue", "Continue"):          `unknown verdict "Continue"`,
		with("continue", "delete"):            `unknown verdict "delete"`,
		with(`"continue"`, "null"):            `missing "verdict"`,
		with(`"continue"`, "1"):               `"verdict" has the wrong type`,
		with(`"verdict"`, `"Verdict"`):        `unknown key "Verdict"`,
		with(`"verdict"`, `"confidence"`):     `duplicate key "confidence"`,
		with("0.9", "2"):                      "confidence 2 is",
		with("0.9", "-0.1"):                   "confidence -0.1 is",
		with("0.9", "1e999"):                  `"confidence" has the wrong type`,
		with("0.9", `"0.9"`):                  `"confidence" has the wrong type`,
		with("0.9", "null"):                   `missing "confidence"`,
		with("0.9", "NaN"):                    "invalid JSON",
		with(`,"confidence":0.9`, ""):         `missing "confidence"`,
		with(`["half of it is there"]`, `[]`): "no reason",
		with(`["half of it is there"]`, `["a"," \n"]`): "no reason",
		with(`["half of it is there"]`, `["a",null]`):  "no reason",
		with(`["half of it is there"]`, `"a"`):         `"reasons" has the wrong type`,
		with(`["half of it is there"]`, `null`):        `missing "reasons"`,
		with("{", `{"cost":{"usd":1},`):                `unknown key "cost"`,
		with("half", "\xff"):                           "not valid UTF-8",
	} {
		if o, err := parse(text, open, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v, want …%s…", text, o, err, want)
		}
	}
	for cost, want := range map[string]string{
		`1`: "cost: not a JSON object", `null`: "cost: not a JSON object", `{"usd":-1}`: "negative", `{"usd":"1"}`: "wrong type", `{"eur":1}`: "unknown key", `{"tokens":1.5}`: "wrong type",
	} {
		if o, err := parse(with("{", `{"cost":`+cost+`,`), open, true); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("cost %s: %+v, %v, want …%s…", cost, o, err, want)
		}
	}
}

func TestOneLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a\r\nb\tc":                     "a b c",
		"\x1b[31mred\x1b[0m\x00":        "[31mred[0m",
		"left\u202eto right":            "leftto right",
		"  ä ü  ":                       "ä ü",
		"\xffx":                         "x",
		strings.Repeat("ä", 30) + "end": "ääääää[… 40 bytes omitted …]ääääend",
	} {
		if got := oneLine(text, 24); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(good)
	f.Add("```json\n" + good + "\n```")
	f.Add(`{"verdict":"next","confidence":1e-400,"reasons":["a"],"cost":{"usd":1,"tokens":2}}`)
	f.Fuzz(func(t *testing.T, text string) {
		o, err := parse(text, open, true)
		if err == nil && (o.Verdict == pawl.Next || o.check(open) != nil || o.Cost.USD < 0) {
			t.Errorf("%q: %+v", text, o)
		}
	})
}

// FuzzAnswer reads anything as the answer of a model's server. What is shown of it is one short line.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"content":[{"type":"text","text":"x"}],"stop_reason":"end_turn","usage":{"input_tokens":9,"output_tokens":-1}}`), "30")
	f.Add([]byte(`{"choices":[{"message":{"content":"x","refusal":null},"finish_reason":"stop"}],"usage":{"cost":1e308}}`), "Wed, 21 Oct 2026 07:28:00 GMT")
	f.Add([]byte(`{"error":{"message":"a\u001b[2J\nb"}}`), "-1")
	f.Fuzz(func(t *testing.T, body []byte, header string) {
		_, _ = anthropicAPI{}.parse(body)
		if done, err := parseCompletion(body); err == nil {
			_, _ = openAI{}.read(done)
		}
		if text := message(body); strings.ContainsAny(text, "\n\r\x1b") || len(text) > 2*maxReason {
			t.Errorf("%q", text)
		}
		if wait := retryAfter(header, time.Unix(0, 0)); wait < 0 {
			t.Errorf("%q: %s", header, wait)
		}
	})
}
