package stepenv_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/planfile"
	"pawl/internal/stepenv"
)

func TestInherited(t *testing.T) {
	t.Parallel()
	kept := []string{
		"PATH=/bin", "HOME=/root", "SSH_AUTH_SOCK=/run/agent", "XDG_SESSION_ID=4", "KEY_FILE=/k", "EMPTY_TOKEN=", "PAWL_STATE=/s", "PAWL_TOKEN=0123456789abcdef",
		"MAIL=a@b.example", "URL=https://example.com/a?b=c", "PROXY=http://proxy:8080", "REMOTE=ssh://git@example.com/x", "PWD=/x", "KEYBOARD=de",
		"LS_COLORS=di=01;34:*.tar=01;31", "PS1=\\u@\\h:\\w\\$ ", "LESSOPEN=| /usr/bin/lesspipe %s", "GPG_TTY=/dev/pts/0",
	}
	withheld := []string{
		"GITHUB_TOKEN=x", "AWS_SECRET_ACCESS_KEY=x", "db_password=x", "PGPASSWORD=x", "SENTRY_DSN=x", "apiKey=x", "NPM_CONFIG__AUTH=x",
		"DATABASE_URL=postgres://app:secret@db/app", "https_proxy=http://u:p@proxy:8080", "X=gh" + "p_0123456789abcdefghijABCDEFGHIJ012345",
		"CONN=host=db password=xK9f2mQ7zL user=app",
	}
	got, names := stepenv.Inherited(append(append([]string{"PAWL_PARAM_X=1"}, kept...), withheld...))
	if diff := cmp.Diff(kept, got); diff != "" {
		t.Errorf("kept: -want +got\n%s", diff)
	}
	var want []string
	for _, v := range withheld {
		name, _, _ := strings.Cut(v, "=")
		want = append(want, name)
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("withheld: -want +got\n%s", diff)
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	set := map[string]string{"A": "a", "E": "", "AB": "$A"}
	lookup := func(name string) (string, bool) { v, ok := set[name]; return v, ok }
	for text, want := range map[string]string{
		"": "", "x": "x", "$A": "a", "${A}": "a", "$A$A": "aa", "$AB": "$A", "${A}B": "aB", "$$A": "$A", "$$$A": "$a", "a$$": "a$",
		"${A:-x}": "a", "${E:-x}": "x", "$E": "", "${N:-x y}": "x y", "${N:-}": "", "${N:-{}": "{", "$A-$A.": "a-a.",
	} {
		parsed, err := stepenv.Parse(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got, err := parsed.Expand(lookup); err != nil || got != want {
			t.Errorf("%q: got %q, %v; want %q", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"$": "$$", "5$": "$$", "$1": "$$", "${": "closing brace", "${A": "closing brace", "${}": "not a reference", "${A-x}": "not a reference", "${1}": "not a reference",
		"${A:-$B}": "plain text", "$PAWL_KEY": "set for each step", "${PAWL_PARAM_X}": "set for each step", "$" + strings.Repeat("A", 200): "too long",
	} {
		if _, err := stepenv.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", text, err, want)
		}
	}
	if parsed, err := stepenv.Parse("$N"); err != nil {
		t.Error(err)
	} else if _, err := parsed.Expand(lookup); err == nil {
		t.Error("a missing variable is not an error")
	}
}

func TestParseDotenv(t *testing.T) {
	t.Parallel()
	const good = "\ufeff# c\n\nA=1\r\n export B=two words # c\nC='$x #y'\nD=\"a\\nb\\$\\\"\"  # c\nE=\nF=a#b\nG='1\n2'\nH=\"\"\nI="
	got, err := stepenv.ParseDotenv([]byte(good))
	if err != nil {
		t.Fatal(err)
	}
	want := []stepenv.Assignment{
		{Name: "A", Value: "1", Line: 3}, {Name: "B", Value: "two words", Line: 4}, {Name: "C", Value: "$x #y", Line: 5}, {Name: "D", Value: "a\nb$\"", Line: 6},
		{Name: "E", Line: 7}, {Name: "F", Value: "a#b", Line: 8}, {Name: "G", Value: "1\n2", Line: 9}, {Name: "H", Line: 11}, {Name: "I", Line: 12},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for text, place := range map[string]string{
		"A": "1:2: expected =", "\n =x": "2:2: expected NAME", "A =x": "1:2: expected =", "A= x": "1:3: space before", "A=$B": "1:3: the value of A contains a $",
		"A=`x`": "1:3: the value", "A=x'y'": "1:4: the value", "A='x": "1:3: the quote of the value", "A=\"\\q\"": "1:4: unknown escape", "A=\"$B\"": "1:4: the value",
		"A=1\nA=2": "2:2: duplicate variable A (first set on line 1)", "PAWL_X=1": "1:7: variable PAWL_X is reserved", "A='x' y": "1:7: unexpected text",
		"A=\x00": "1:1: the file is not text", "A=\xff": "1:1: the file is not text", "1A=x": "1:1: expected NAME", "A=\"1\n2\n": "1:3: the quote",
	} {
		if _, err := stepenv.ParseDotenv([]byte(text)); err == nil || !strings.HasPrefix(err.Error(), place) {
			t.Errorf("%q: %v; want %s", text, err, place)
		}
	}
}

// read returns a plan with params, dotenv and env, and a step.
func read(t *testing.T, text string) *pawl.Plan {
	t.Helper()
	plan, err := planfile.Read("plan.yaml", []byte("name: x\nsteps: [{id: a, run: x}]\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func source(environ ...string) stepenv.Source {
	return stepenv.Source{Environ: environ, Key: func() ([]byte, error) { return []byte("key"), nil }}
}

func collect(t *testing.T, s stepenv.Source, plan *pawl.Plan, recorded pawl.GivenValues) stepenv.Collected {
	t.Helper()
	c, err := s.Collect(plan, recorded)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// resumed returns the source of another process, which resumes the run.
func resumed(environ ...string) stepenv.Source {
	s := source(environ...)
	s.Resuming = true
	return s
}

func TestARunKeepsItsValues(t *testing.T) {
	t.Parallel()
	plan := read(t, "env: {DAY: $DAY, PLACE: '${REGION:-eu}/$$'}\n")
	first := collect(t, source("DAY=1"), plan, pawl.GivenValues{})
	later := collect(t, resumed("DAY=2", "REGION=us"), plan, first.New)
	if diff := cmp.Diff([]string{"DAY", "REGION"}, later.Differs); diff != "" || !later.New.Empty() {
		t.Errorf("%s %+v", diff, later.New)
	}
	open, secret, err := later.Secrets.Of(stepenv.Resolve(plan, first.New), plan.Step("a"))
	if diff := cmp.Diff(map[string]string{"DAY": "1", "PLACE": "eu/$"}, open); diff != "" || err != nil || len(secret) > 0 {
		t.Errorf("%s %v %v", diff, secret, err)
	}
	if same := collect(t, resumed("DAY=1"), plan, first.New); len(same.Differs) > 0 {
		t.Errorf("%v", same.Differs)
	}
}

// A value is part of the key, whether it comes from the plan or from the caller; a secret is not.
func TestKeys(t *testing.T) {
	t.Parallel()
	key := func(text string, s stepenv.Source) string {
		plan := read(t, text)
		plan = stepenv.Resolve(plan, collect(t, s, plan, pawl.GivenValues{}).New)
		return pawl.DefinitionOf(plan, plan.Step("a"), "")
	}
	const day, token, params = "env: {DAY: $DAY}\n", "env: {DAY: '1', TOKEN: $TOKEN}\n", "params: {n: {type: int, default: 5}, s: {secret: true}}\n"
	if key(day, source("DAY=1")) == key(day, source("DAY=2")) {
		t.Error("the value is not part of the key")
	}
	if key(day, source("DAY=1")) != key("env: {DAY: '1'}\n", source()) {
		t.Error("where the value comes from is part of the key")
	}
	if key(token, source("TOKEN=1")) != key(token, source("TOKEN=2")) {
		t.Error("the secret is part of the key")
	}
	given := func(n, s string) stepenv.Source {
		from := source()
		from.Params = map[string]string{"n": n, "s": s}
		return from
	}
	if key(params, given("5", "a")) != key(params, given("05", "b")) || key(params, given("5", "a")) != key(params, source()) {
		t.Error("the form of a number, a secret, or that a default is given, is part of the key")
	}
	if key(params, given("5", "a")) == key(params, given("6", "a")) {
		t.Error("a parameter is not part of the key")
	}
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	plan := read(t, "params: {p: {secret: true}}\ndotenv: [.env]\nenv: {API_KEY: $K, PLAIN: {value: '$L-$HOST', secret: true}, OWN: $DB, DAY: $DAY}\n")
	from := func(s stepenv.Source, file string) stepenv.Source {
		s.Read = func(string) ([]byte, error) { return []byte(file), nil }
		return s
	}
	environ := []string{"K=key-value", "L=l-value", "HOST=h-value", "DAY=1", "PAWL_PARAM_P=p-value"}
	first := collect(t, from(source(environ...), "DB=db-value\n"), plan, pawl.GivenValues{})
	for _, values := range []map[string]pawl.Given{first.New.Params, first.New.Env, first.New.Dotenv} {
		for name, v := range values {
			if secret := name != "DAY"; secret != (v.Hash != "") || secret == (v.Value != "") {
				t.Errorf("%s: %+v", name, v)
			}
		}
	}
	resolved := stepenv.Resolve(plan, first.New)
	open, secret, err := first.Secrets.Of(resolved, resolved.Step("a"))
	if err != nil || open["DAY"] != "1" || len(open) != 1 {
		t.Errorf("%v %v", open, err)
	}
	want := map[string]string{"API_KEY": "key-value", "PLAIN": "l-value-h-value", "OWN": "db-value", "DB": "db-value", "PAWL_PARAM_P": "p-value"}
	if diff := cmp.Diff(want, secret); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	same := collect(t, from(resumed(environ...), "DB=db-value\n"), plan, first.New)
	if len(same.Replaced) > 0 || !same.New.Empty() {
		t.Errorf("%+v", same)
	}
	other := collect(t, from(resumed("K=2", "L=l-value", "HOST=h-value", "DAY=1", "PAWL_PARAM_P=2", "DB=x"), "OTHER=x\n"), plan, first.New)
	slices.Sort(other.Replaced)
	if diff := cmp.Diff([]string{"DB", "K", "OTHER", "p"}, other.Replaced); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	_, err = from(resumed("DAY=1"), "DB=db-value\n").Collect(plan, first.New)
	missing, ok := errors.AsType[*stepenv.MissingError](err)
	if !ok || !slices.Equal(missing.Variables, []string{"HOST", "K", "L"}) || !strings.Contains(err.Error(), "parameter p is a secret") {
		t.Errorf("%v", err)
	}
	asked := from(resumed("DAY=1"), "DB=db-value\n")
	asked.Ask = func(what string) (string, error) {
		return map[string]string{"HOST": "h-value", "K": "key-value", "L": "l-value", "parameter p": "p-value"}[what], nil
	}
	if c := collect(t, asked, plan, first.New); len(c.Replaced) > 0 || c.Secrets.Env["K"] != "key-value" {
		t.Errorf("%+v", c.Replaced)
	}
}

func TestParams(t *testing.T) {
	t.Parallel()
	plan := read(t, "params: {day: {required: true, description: the day}, n: {type: int}, size: {type: enum, options: [s, l], default: s}, dry: {type: bool}, r: {type: number}}\n")
	with := func(s stepenv.Source, params map[string]string) stepenv.Source {
		s.Params = params
		return s
	}
	c := collect(t, with(source(), map[string]string{"day": "$x; rm", "n": "007", "dry": "true", "r": "1e3"}), plan, pawl.GivenValues{})
	open, _, err := c.Secrets.Of(stepenv.Resolve(plan, c.New), plan.Step("a"))
	want := map[string]string{"PAWL_PARAM_DAY": "$x; rm", "PAWL_PARAM_N": "7", "PAWL_PARAM_SIZE": "s", "PAWL_PARAM_DRY": "true", "PAWL_PARAM_R": "1e3"}
	if diff := cmp.Diff(want, open); diff != "" || err != nil {
		t.Errorf("%v -want +got\n%s", err, diff)
	}
	changed := collect(t, with(resumed(), map[string]string{"n": "8", "size": "l", "day": "$x; rm"}), plan, c.New)
	if diff := cmp.Diff([]string{`n: "7" → "8"`, `size: "s" → "l"`}, changed.Changed); diff != "" || len(changed.New.Params) != 2 {
		t.Errorf("%v -want +got\n%s", changed.New, diff)
	}
	token := "gh" + "p_Zk3Lq9VbT7mXcR2wNf8HdYs5Gj1PeUa4Bo6Q"
	_, err = with(source(), map[string]string{"n": "x", "size": "m", "dry": "yes", "r": "inf", "dy": "1"}).Collect(plan, pawl.GivenValues{})
	for _, text := range []string{"day is required; pass --param day=VALUE (the day)", `n: "x" is not an integer`, "not one of s, l", "not true or false", "not a number", `did you mean "day"?`} {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v; want %s", err, text)
		}
	}
	if _, err = with(source(), map[string]string{"day": token}).Collect(plan, pawl.GivenValues{}); err == nil || !strings.Contains(err.Error(), "secret: true") || strings.Contains(err.Error(), token) {
		t.Errorf("%v", err)
	}
}

// The events of many large values fit into lines of the journal, and lose none.
func TestEvents(t *testing.T) {
	t.Parallel()
	values := pawl.GivenValues{Env: map[string]pawl.Given{}}
	for i := range 40 {
		values.Env[strings.Repeat("A", i+1)] = pawl.Given{Value: strings.Repeat("\x01", stepenv.MaxValue)}
	}
	state := pawl.NewState()
	for i, payload := range stepenv.Events(values) {
		event, err := pawl.NewEvent(pawl.Author{}, payload)
		if err != nil || len(event.Data) > 60<<10 {
			t.Fatalf("%d bytes, %v", len(event.Data), err)
		}
		event.Seq = pawl.Seq(i + 1)
		state.Apply(event)
	}
	if diff := cmp.Diff(values, state.Given); diff != "" {
		t.Error(diff)
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"", "$A", "${A:-b}", "$$", "${", "a$b$$c${D}"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := stepenv.Parse(text)
		if err != nil {
			return
		}
		got, err := parsed.Expand(func(name string) (string, bool) { return "<" + name + ">", stepenv.IsName(name) })
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if !strings.Contains(text, "$") && got != text {
			t.Errorf("%q became %q", text, got)
		}
		again, err := stepenv.Parse(strings.ReplaceAll(got, "$", "$$"))
		if err != nil {
			t.Fatal(err)
		}
		if same, err := again.Expand(nil); err != nil || same != got {
			t.Errorf("%q became %q, %v", got, same, err)
		}
	})
}

func FuzzParseDotenv(f *testing.F) {
	for _, text := range []string{"A=1\n", "export A='x\ny' # c\r\n", "A=\"\\n\"", "# c", "A=$B", "\ufeffA="} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		found, err := stepenv.ParseDotenv(data)
		if err != nil {
			if len(found) > 0 || err.Error()[0] < '1' || err.Error()[0] > '9' {
				t.Errorf("%q: %v, %v", data, found, err)
			}
			return
		}
		var text strings.Builder
		for _, v := range found {
			if !stepenv.IsName(v.Name) || strings.ContainsRune(v.Value, 0) {
				t.Fatalf("%q: %+v", data, v)
			}
			text.WriteString(v.Name + "=\"" + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(v.Value) + "\"\n")
		}
		again, err := stepenv.ParseDotenv([]byte(text.String()))
		if err != nil || len(again) != len(found) {
			t.Fatalf("%q: %v", text.String(), err)
		}
		for i := range found {
			if again[i].Name != found[i].Name || again[i].Value != found[i].Value {
				t.Errorf("%+v became %+v", found[i], again[i])
			}
		}
	})
}
