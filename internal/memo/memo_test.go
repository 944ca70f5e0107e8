package memo

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"pawl"
)

// everything has a field of each kind that can be encoded.
type everything struct {
	Bool   bool
	Int    int32
	Uint   uint16
	Float  float64
	Text   string
	Bytes  []byte
	List   []everything
	None   []string
	Map    map[string]*everything
	Empty  map[int]string
	Time   time.Time
	Before time.Time
	Ptr    *int
	Any    any
}

func sample() everything {
	n := -7
	return everything{
		Bool: true, Int: -1 << 31, Uint: 65535, Float: 0.1, Text: "a\x00b", Bytes: []byte{0, 1}, None: []string{}, Empty: map[int]string{},
		List: []everything{{}, {Text: "x", Ptr: &n}}, Map: map[string]*everything{"": nil, "k": {Ptr: new(int)}},
		Time: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Before: time.Date(1, 1, 1, 0, 0, 0, 1, time.UTC),
	}
}

// settled returns the path of a file that has been as it is for a while.
func settled(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for !At(path).Settled() {
	}
	return path
}

func TestLoad(t *testing.T) {
	t.Parallel()
	path, from, want := filepath.Join(t.TempDir(), "memos", "m"), At(settled(t, "f", "text")), sample()
	if err := Save(path, from, &want); err != nil {
		t.Fatal(err)
	}
	var got everything
	if !Load(path, &got) || !reflect.DeepEqual(got, want) {
		t.Errorf("loaded %+v, want %+v", got, want)
	}
	var other struct{ Bool bool }
	if Load(path, &other) {
		t.Error("a memo of another type counts")
	}
}

// TestState: a state and a plan are all in their memos.
func TestState(t *testing.T) {
	t.Parallel()
	s := pawl.NewState()
	for i, p := range []pawl.Payload{
		pawl.RunCreated{Format: pawl.Format, Run: "r", Kind: pawl.PlanRun, Name: "n"},
		pawl.EngineStarted{Epoch: 1, PID: 1, Why: "run"},
		pawl.AttemptStarted{AttemptRef: pawl.AttemptRef{Step: "a", Attempt: 1, Token: "0123456789abcdef"}},
	} {
		e, err := pawl.NewEvent(pawl.Author{Kind: pawl.ByEngine}, p)
		if err != nil {
			t.Fatal(err)
		}
		e.Seq, e.Time = pawl.Seq(i+1), time.Unix(int64(i), 5).UTC()
		s.Apply(e)
	}
	plan := &pawl.Plan{Version: 1, Phases: []pawl.Phase{{Steps: []pawl.Step{{ID: "a", Run: ":", Needs: []pawl.StepID{}}}}}, Values: map[string]string{"k": "v"}}
	for _, v := range []struct{ in, out any }{{s, new(pawl.State)}, {plan, new(pawl.Plan)}} {
		w := writer{}
		w.value(reflect.ValueOf(v.in).Elem())
		r := reader{data: string(w.data)}
		r.value(reflect.ValueOf(v.out).Elem())
		if w.bad || r.bad || !reflect.DeepEqual(v.in, v.out) {
			t.Errorf("%v, %v: %+v, want %+v", w.bad, r.bad, v.out, v.in)
		}
	}
}

// TestNoEncoding: a value that would not come back as it was has no memo.
func TestNoEncoding(t *testing.T) {
	t.Parallel()
	from := At(settled(t, "f", ""))
	for _, v := range []everything{{Any: 1}, {Time: time.Now().In(time.FixedZone("x", 3600))}} {
		path := filepath.Join(t.TempDir(), "m")
		if err := Save(path, from, &v); err != nil || Load(path, &v) {
			t.Errorf("%+v: %v, or it has a memo", v, err)
		}
	}
	path, hidden := filepath.Join(t.TempDir(), "m"), struct{ x int }{1}
	if err := Save(path, from, &hidden); err != nil || Load(path, &hidden) {
		t.Errorf("%v, or a field that is not exported has a memo", err)
	}
}

// TestChanges: a memo does not count once one of its files has changed, in whatever way.
func TestChanges(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(path string) error{
		"appended": func(path string) error {
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			if _, err = f.WriteString("x"); err != nil {
				return err
			}
			return f.Close()
		},
		"rewritten in place with its times": func(path string) error {
			info, err := os.Stat(path)
			if err != nil {
				return err
			}
			if err := os.WriteFile(path, []byte("tExt"), 0o600); err != nil {
				return err
			}
			return os.Chtimes(path, info.ModTime(), info.ModTime())
		},
		"replaced": func(path string) error {
			if err := os.WriteFile(path+"2", []byte("text"), 0o600); err != nil {
				return err
			}
			return os.Rename(path+"2", path)
		},
		"removed":             os.Remove,
		"another one created": func(path string) error { return os.WriteFile(path+".later", nil, 0o600) },
	} {
		path, memo, value := settled(t, "f", "text"), filepath.Join(t.TempDir(), "m"), sample()
		if err := Save(memo, At(path, path+".later"), &value); err != nil || !Load(memo, &value) {
			t.Fatalf("%s: %v, or no memo", name, err)
		}
		if err := change(path); err != nil {
			t.Fatal(err)
		}
		if Load(memo, &value) {
			t.Errorf("%s: the memo still counts", name)
		}
		if was, ok := LoadEarlier(memo, &value); !ok || was.Unchanged() {
			t.Errorf("%s: earlier %v, unchanged %v", name, ok, was.Unchanged())
		}
	}
}

// TestUnsettled: a file that has just changed may change again without a new time.
func TestUnsettled(t *testing.T) {
	t.Parallel()
	path, memo, value := filepath.Join(t.TempDir(), "f"), filepath.Join(t.TempDir(), "m"), sample()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(path, later, later); err != nil { // also a change
		t.Fatal(err)
	}
	from := At(path)
	if err := Save(memo, from, &value); err != nil || from.Settled() || Load(memo, &value) {
		t.Errorf("%v; settled %v, or the memo counts", err, from.Settled())
	}
}

// TestTorn: a memo of which a crash left a part, or with a changed byte, is none.
func TestTorn(t *testing.T) {
	t.Parallel()
	memo, value := filepath.Join(t.TempDir(), "m"), sample()
	if err := Save(memo, At(settled(t, "f", "text")), &value); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(memo)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, data []byte) {
		if err := os.WriteFile(memo, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if Load(memo, &value) {
			t.Errorf("%s: the memo counts", what)
		}
	}
	for n := 0; n < len(whole); n += 17 {
		check(fmt.Sprint("first bytes: ", n), whole[:n])
		flipped := append([]byte{}, whole...)
		flipped[n] ^= 0x20
		check(fmt.Sprint("flipped byte: ", n), flipped)
		check(fmt.Sprint("NUL from byte: ", n), append(append([]byte{}, whole[:n]...), make([]byte, len(whole)-n)...))
	}
}

// TestTrim: a folder keeps the newest memos, and no file that a crash left.
func TestTrim(t *testing.T) {
	t.Parallel()
	dir, value, from := t.TempDir(), sample(), At(settled(t, "f", ""))
	for i := range kept + 5 {
		path := filepath.Join(dir, fmt.Sprintf("m%d", i))
		if err := Save(path, from, &value); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(time.Duration(i-100) * time.Hour)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > kept {
		t.Errorf("%d memos, %v; want at most %d", len(entries), err, kept)
	}
	if !Load(filepath.Join(dir, fmt.Sprintf("m%d", kept+4)), &value) {
		t.Error("the newest memo is gone")
	}
}

// TestRelative: without a folder of the user's, no memo is kept, and none is believed.
func TestRelative(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	value := 7
	if err := Save(filepath.Join(dir, "memo"), At(), &value); err != nil || !Load(filepath.Join(dir, "memo"), &value) {
		t.Fatal("the memo is not believed where it is", err)
	}
	if Load("memo", &value) {
		t.Error("a memo in the working folder is believed")
	}
	if err := Save("other", At(), &value); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat("other"); err == nil {
		t.Error("a memo was written into the working folder")
	}
}

// FuzzDecode: whatever the data, a value is decoded or refused.
func FuzzDecode(f *testing.F) {
	value := sample()
	if data, ok := encode(nil, &value); ok {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var got everything
		in := reader{data: string(data)}
		if !decode(&in, &got) {
			return
		}
		again, ok := encode(nil, &got)
		var same everything
		if in = (reader{data: string(again)}); !ok || !decode(&in, &same) {
			t.Errorf("%+v is encoded as %x, which is %v", got, again, same)
		}
	})
}

// TestCopier: a copy is of the value as it was, and shares nothing with it.
func TestCopier(t *testing.T) {
	t.Parallel()
	value := map[string][]string{"a": {"one"}}
	clone := Copier(&value)
	value["a"][0], value["b"] = "two", nil
	first, second := clone(), clone()
	if want := (map[string][]string{"a": {"one"}}); !reflect.DeepEqual(*first, want) {
		t.Errorf("a copy %v, want %v", *first, want)
	}
	(*first)["a"][0] = "three"
	if got := (*second)["a"][0]; got != "one" {
		t.Errorf("another copy has %s", got)
	}
	if none := any(1); Copier(&none) != nil {
		t.Error("a value without an encoding has copies")
	}
}
