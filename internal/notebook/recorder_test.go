package notebook_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pawl/internal/kernel"
	"pawl/internal/notebook"
)

// folder keeps what a recorder spills, by path.
type folder map[string]*strings.Builder

func (f folder) spill(cell kernel.CellID, name string, offset int64, data []byte) (string, error) {
	path := "out/" + string(cell) + "/" + name
	if offset == 0 {
		f[path] = &strings.Builder{}
	}
	if f[path] == nil || offset != int64(f[path].Len()) {
		return "", fmt.Errorf("%s: offset %d", path, offset)
	}
	f[path].Write(data)
	return path, nil
}

// file returns the content of a file.
func (f folder) file(name string) string {
	if f["out/c/"+name] == nil {
		return ""
	}
	return f["out/c/"+name].String()
}

func add(t testing.TB, r *notebook.Recorder, messages ...kernel.Message) {
	t.Helper()
	for _, m := range messages {
		if err := r.Add(m); err != nil {
			t.Fatal(err)
		}
	}
}

// outputs returns the outputs of cell c as a notebook has them, after it checked them against Jupyter's schema.
func outputs(t testing.TB, r *notebook.Recorder) string {
	t.Helper()
	text, err := json.Marshal(r.Outputs("c"))
	if err != nil {
		t.Fatal(err)
	}
	valid(t, []byte(of(5, strings.Replace(code("", `"id": "a", `), "[]", string(text), 1))))
	return string(text)
}

func stdout(text string) kernel.Message {
	return kernel.Message{Cell: "c", Kind: kernel.KindStream, Stream: kernel.Stdout, Text: text}
}

func stderr(text string) kernel.Message {
	return kernel.Message{Cell: "c", Kind: kernel.KindStream, Stream: kernel.Stderr, Text: text}
}

func shows(kind kernel.Kind, id, text string) kernel.Message {
	return kernel.Message{Cell: "c", Kind: kind, DisplayID: id, Data: map[string]json.RawMessage{"text/plain": json.RawMessage(fmt.Sprintf("%q", text))}, Count: 7}
}

func TestOutputs(t *testing.T) {
	t.Parallel()
	clear := func(wait bool) kernel.Message { return kernel.Message{Cell: "c", Kind: kernel.KindClear, Wait: wait} }
	for name, c := range map[string]struct {
		messages []kernel.Message
		want     string
	}{
		"none":    {nil, `[]`},
		"streams": {[]kernel.Message{stdout("a\nb"), stdout("c\n"), stderr("e"), stdout("d")}, `[{"name":"stdout","output_type":"stream","text":["a\n","bc\n"]},{"name":"stderr","output_type":"stream","text":["e"]},{"name":"stdout","output_type":"stream","text":["d"]}]`},
		"result":  {[]kernel.Message{shows(kernel.KindResult, "", "1")}, `[{"data":{"text/plain":["1"]},"execution_count":7,"metadata":{},"output_type":"execute_result"}]`},
		"display": {[]kernel.Message{{Cell: "c", Kind: kernel.KindDisplay, Metadata: json.RawMessage(`{"image/png": {"width": 1}}`), Data: map[string]json.RawMessage{
			"text/html": json.RawMessage(`"<b>\n</b>"`), "image/png": json.RawMessage(`"iVBO\n"`), "application/x+json": json.RawMessage(`{"a": [1]}`), "text/bad": json.RawMessage(`{"a":1}`)}}},
			`[{"data":{"application/x+json":{"a":[1]},"image/png":"iVBO\n","text/bad":"{\"a\":1}","text/html":["\u003cb\u003e\n","\u003c/b\u003e"]},"metadata":{"image/png":{"width":1}},"output_type":"display_data"}]`},
		"error": {[]kernel.Message{{Cell: "c", Kind: kernel.KindError, Error: &kernel.Error{Name: "E", Value: "v"}}}, `[{"ename":"E","evalue":"v","output_type":"error","traceback":[]}]`},
		"update": {[]kernel.Message{shows(kernel.KindDisplay, "d", "1"), shows(kernel.KindDisplay, "d", "1"), shows(kernel.KindUpdate, "d", "2"), shows(kernel.KindUpdate, "none", "3")},
			`[{"data":{"text/plain":["2"]},"metadata":{},"output_type":"display_data"},{"data":{"text/plain":["2"]},"metadata":{},"output_type":"display_data"}]`},
		"clear":       {[]kernel.Message{stdout("a"), shows(kernel.KindDisplay, "d", "1"), clear(false), shows(kernel.KindUpdate, "d", "2")}, `[]`},
		"clear later": {[]kernel.Message{stdout("a"), clear(true)}, `[{"name":"stdout","output_type":"stream","text":["a"]}]`},
		"cleared":     {[]kernel.Message{stdout("a"), clear(true), stdout("b")}, `[{"name":"stdout","output_type":"stream","text":["b"]}]`},
		"progress":    {[]kernel.Message{stdout("\r 10%"), stdout("\r 20%"), stdout("\r100%\n")}, `[{"name":"stdout","output_type":"stream","text":["100%\n"]}]`},
		"no cell":     {[]kernel.Message{{Kind: kernel.KindStream, Text: "a"}}, `[]`},
	} {
		r := notebook.NewRecorder(notebook.Limits{}, folder{}.spill)
		add(t, r, c.messages...)
		if diff := cmp.Diff(c.want, outputs(t, r)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestUpdateOtherCell: a display is updated in the cell that showed it.
func TestUpdateOtherCell(t *testing.T) {
	t.Parallel()
	r := notebook.NewRecorder(notebook.Limits{}, folder{}.spill)
	update := shows(kernel.KindUpdate, "d", "2")
	update.Cell = "other"
	add(t, r, shows(kernel.KindDisplay, "d", "1"))
	r.Changed()
	add(t, r, update)
	if got := r.Changed(); !slices.Equal(got, []kernel.CellID{"c"}) || !strings.Contains(outputs(t, r), `"2"`) {
		t.Errorf("changed %v: %s", got, outputs(t, r))
	}
}

// TestTimes: what a cell's metadata says is from the kernel's messages, in the formats of nbclient and papermill.
func TestTimes(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.FixedZone("", 3600))
	r := notebook.NewRecorder(notebook.Limits{}, folder{}.spill)
	for i, kind := range []kernel.Kind{kernel.KindBusy, kernel.KindStarted, kernel.KindReply, kernel.KindIdle} {
		m := kernel.Message{Cell: "c", Kind: kind, Time: at.Add(time.Duration(i) * time.Second)}
		if kind == kernel.KindStarted {
			m.Count = 4
		}
		add(t, r, m)
	}
	failed := false
	text, err := json.Marshal(notebook.CellMetadata{Execution: r.Times("c").Execution(), Papermill: r.Times("c").Papermill(&failed), Gyoshu: notebook.ResearchCell(at)})
	const want = `{"execution":{"iopub.execute_input":"2026-01-02T02:04:06.678000Z","iopub.status.busy":"2026-01-02T02:04:05.678000Z","iopub.status.idle":"2026-01-02T02:04:08.678000Z",` +
		`"shell.execute_reply":"2026-01-02T02:04:07.678000Z"},"gyoshu":{"autoCaptured":true,"lastUpdated":"2026-01-02T02:04:05.678Z","type":"research"},"papermill":{"duration":1,` +
		`"end_time":"2026-01-02T02:04:07.678000","exception":false,"start_time":"2026-01-02T02:04:06.678000","status":"completed"}}`
	if diff := cmp.Diff(want, string(text)); diff != "" || err != nil || r.Count("c") != 4 {
		t.Error(err, r.Count("c"), diff)
	}
	text, err = json.Marshal(notebook.CellMetadata{Execution: notebook.Times{}.Execution(), Papermill: notebook.Times{}.Papermill(nil)})
	if want := `{"papermill":{"duration":null,"end_time":null,"exception":null,"start_time":null,"status":"running"}}`; string(text) != want || err != nil {
		t.Errorf("got %s, %v", text, err)
	}
}

// TestManyProgressLines: 10,000 states of a progress bar are one line.
func TestManyProgressLines(t *testing.T) {
	t.Parallel()
	r := notebook.NewRecorder(notebook.Limits{}, folder{}.spill)
	for i := range 10_000 {
		add(t, r, stderr(fmt.Sprintf("\r%3d%%|%-20s| %d/10000", i/100, strings.Repeat("█", i/500), i)))
	}
	if got, want := r.Outputs("c")[0].Text, " 99%|███████████████████ | 9999/10000"; got != want {
		t.Errorf("got %q, not %q", got, want)
	}
}

// TestLimit: the start of long output is in the notebook, the rest in a file, and none is lost.
func TestLimit(t *testing.T) {
	t.Parallel()
	files := folder{}
	r := notebook.NewRecorder(notebook.Limits{Text: 1}, files.spill) // at least 10 KiB
	line := strings.Repeat("é", 499) + "\n"
	for range 50 {
		add(t, r, stdout(line))
	}
	add(t, r, shows(kernel.KindDisplay, "", "shown"), stderr("late\n"), stdout(line))
	got := r.Outputs("c")
	if len(got) != 3 {
		t.Fatalf("%d outputs: %+v", len(got), got)
	}
	kept, mark, _ := strings.Cut(got[0].Text, "[")
	kept = strings.TrimSuffix(kept, "\n")
	rest := files.file("stdout.txt")
	if kept+rest != strings.Repeat(line, 51) || len(kept) > 10<<10 {
		t.Errorf("%d bytes in the notebook, %d in the file", len(kept), len(rest))
	}
	if want := fmt.Sprintf("pawl: %d,%03d more bytes of stdout are in out/c/stdout.txt]\n", len(rest)/1000, len(rest)%1000); mark != want {
		t.Errorf("mark %q, not %q", mark, want)
	}
	if want := "[pawl: 5 more bytes of stderr are in out/c/stderr.txt]\n"; got[2].Text != want || files.file("stderr.txt") != "late\n" {
		t.Errorf("stderr %q", got[2].Text)
	}
}

// TestMemory: 50 MiB of output are not held in memory.
func TestMemory(t *testing.T) {
	size := int64(0)
	r := notebook.NewRecorder(notebook.Limits{}, func(_ kernel.CellID, _ string, offset int64, data []byte) (string, error) {
		size = offset + int64(len(data))
		return "f", nil
	})
	m := stdout(strings.Repeat(strings.Repeat("x", 99)+"\n", 1<<20/100))
	for range 50 {
		add(t, r, m)
	}
	var used runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&used)
	if kept := r.Outputs("c")[0].Text; int64(len(kept))+size < int64(50*len(m.Text)) || used.HeapAlloc > 30<<20 {
		t.Errorf("%d bytes kept, %d in the file, %d of memory", len(kept), size, used.HeapAlloc)
	}
}

// TestLargeDisplay: the large parts of a display go to files, decoded; the small ones stay.
func TestLargeDisplay(t *testing.T) {
	t.Parallel()
	files := folder{}
	r := notebook.NewRecorder(notebook.Limits{Display: 1000}, files.spill)
	png := strings.Repeat("QUJD", 500)
	for _, kind := range []kernel.Kind{kernel.KindDisplay, kernel.KindUpdate} {
		m := shows(kind, "d", "Figure")
		m.Data["image/png"] = json.RawMessage(`"` + png + `\n"`)
		add(t, r, m)
		want := `"Figure\n[pawl: image/png, 1,500 bytes, is in out/c/display-1.png]"`
		if got := r.Outputs("c")[0].Data; string(got["text/plain"]) != want || len(got) != 1 || files.file("display-1.png") != strings.Repeat("ABC", 500) {
			t.Errorf("%s: %s", kind, got)
		}
	}
	small := shows(kernel.KindUpdate, "d", "small")
	add(t, r, small)
	if got := string(r.Outputs("c")[0].Data["text/plain"]); got != `"small"` {
		t.Errorf("after the update: %s", got)
	}
}

// TestManyDisplays: displays that have no room are in a file, none is lost, and updates of them are there, too.
func TestManyDisplays(t *testing.T) {
	t.Parallel()
	files := folder{}
	r := notebook.NewRecorder(notebook.Limits{Display: 1 << 20, Displays: 64 << 10}, files.spill)
	for i := range 20_000 {
		add(t, r, shows(kernel.KindDisplay, fmt.Sprint(i), fmt.Sprint("display ", i)))
	}
	add(t, r, shows(kernel.KindUpdate, "19999", "updated"))
	got := r.Outputs("c")
	inFile := strings.Count(files.file("displays.jsonl"), "\n")
	if len(got)-1+inFile != 20_001 || inFile < 10_000 || !strings.HasSuffix(files.file("displays.jsonl"), `{"display":20000,"data":{"text/plain":"updated"}}`+"\n") {
		t.Errorf("%d in the notebook, %d in the file", len(got), inFile)
	}
	mark := string(got[len(got)-1].Data["text/plain"])
	if want := fmt.Sprintf(`"[pawl: %d,%03d more displays, `, inFile/1000, inFile%1000); !strings.HasPrefix(mark, want) || !strings.HasSuffix(mark, `are in out/c/displays.jsonl]"`) {
		t.Errorf("mark %s", mark)
	}
}

// TestLargeError: an error that is too long is cut, and is in a file.
func TestLargeError(t *testing.T) {
	t.Parallel()
	files := folder{}
	r := notebook.NewRecorder(notebook.Limits{}, files.spill)
	e := &kernel.Error{Name: "E", Value: strings.Repeat("v", 1<<20), Traceback: slices.Repeat([]string{"frame"}, 3000)}
	add(t, r, kernel.Message{Cell: "c", Kind: kernel.KindError, Error: e})
	got := r.Outputs("c")
	var whole kernel.Error
	if err := json.Unmarshal([]byte(files.file("error.json")), &whole); err != nil || cmp.Diff(*e, whole) != "" {
		t.Error("the file has another error", err)
	}
	if len(got) != 2 || len(got[0].Error.Traceback) != 61 || got[0].Error.Traceback[30] != "[pawl: 2940 more frames]" || !strings.HasSuffix(got[0].Error.Value, "v [pawl: 983,040 more bytes]") ||
		!strings.Contains(got[1].Text, "more bytes of the error are in out/c/error.json") {
		t.Errorf("%d outputs, %q", len(got), got[1].Text)
	}
}

// TestSpillFails: if a file cannot be written, the mark says so.
func TestSpillFails(t *testing.T) {
	t.Parallel()
	full := errors.New("disk full")
	r := notebook.NewRecorder(notebook.Limits{Display: 1000}, func(kernel.CellID, string, int64, []byte) (string, error) { return "", full })
	if err := r.Add(stdout(strings.Repeat("x", 2<<20))); !errors.Is(err, full) || !strings.HasSuffix(r.Outputs("c")[0].Text, "more bytes of stdout could not be written]\n") {
		t.Errorf("got %v", err)
	}
	if err := r.Add(shows(kernel.KindDisplay, "", strings.Repeat("x", 2000))); !errors.Is(err, full) || !strings.Contains(string(r.Outputs("c")[1].Data["text/plain"]), "could not be written") {
		t.Errorf("got %v", err)
	}
}

// TestSameFiles: folding the same messages again writes the same files.
func TestSameFiles(t *testing.T) {
	t.Parallel()
	fold := func(files folder) string {
		r := notebook.NewRecorder(notebook.Limits{Text: notebook.MinText, Display: 2000, Displays: 5000}, files.spill)
		for i := range 3000 {
			add(t, r, stdout(strings.Repeat("x", 20)), shows(kernel.KindDisplay, fmt.Sprint(i), strings.Repeat("y", i%3000)))
		}
		return outputs(t, r)
	}
	files := folder{}
	first := fold(files)
	before := contents(files)
	if second := fold(files); first != second || cmp.Diff(before, contents(files)) != "" {
		t.Error("the second time is another")
	}
}

func contents(files folder) map[string]string {
	all := map[string]string{}
	for path, b := range files {
		all[path] = b.String()
	}
	return all
}

// TestForget: a forgotten cell takes no memory, and the caller hears of its late messages.
func TestForget(t *testing.T) {
	t.Parallel()
	r := notebook.NewRecorder(notebook.Limits{}, folder{}.spill)
	add(t, r, stdout("a"), shows(kernel.KindDisplay, "d", "1"))
	r.Forget("c")
	add(t, r, shows(kernel.KindUpdate, "d", "2"))
	if got := r.Changed(); len(got) != 0 {
		t.Errorf("changed %v", got)
	}
	add(t, r, stdout("late"))
	if got := r.Changed(); !slices.Equal(got, []kernel.CellID{"c"}) || outputs(t, r) != "[]" {
		t.Errorf("changed %v: %s", got, outputs(t, r))
	}
}

// TestWidgets: the last state of a widget is in the notebook's metadata. A widget whose state is unknown has a note.
func TestWidgets(t *testing.T) {
	t.Parallel()
	comm := func(id, kind, data string) kernel.Message {
		return kernel.Message{Kind: kernel.KindComm, Comm: &kernel.Comm{ID: id, Type: kind, Target: "jupyter.widget", Data: json.RawMessage(data)}}
	}
	view := func(id string) kernel.Message {
		return kernel.Message{Cell: "c", Kind: kernel.KindDisplay, Data: map[string]json.RawMessage{"application/vnd.jupyter.widget-view+json": json.RawMessage(`{"model_id":"` + id + `"}`), "text/plain": json.RawMessage(`"bar"`)}}
	}
	r := notebook.NewRecorder(notebook.Limits{}, folder{}.spill)
	if r.Widgets() != nil {
		t.Error("state without widgets")
	}
	add(t, r, comm("w", "open", `{"state":{"_model_name":"FloatProgressModel","_model_module":"m","_model_module_version":"2","value":1}}`),
		comm("w", "msg", `{"method":"update","state":{"value":2}}`), comm("w", "msg", `{"method":"custom"}`), comm("x", "msg", `{"method":"update","state":{"value":3}}`),
		comm("w", "close", `{}`), view("w"), view("x"))
	want := `{"application/vnd.jupyter.widget-state+json":{"state":{"w":{"model_name":"FloatProgressModel","model_module":"m","model_module_version":"2","state":` +
		`{"_model_module":"m","_model_module_version":"2","_model_name":"FloatProgressModel","value":2}}},"version_major":2,"version_minor":0}}`
	if diff := cmp.Diff(want, string(r.Widgets())); diff != "" {
		t.Error(diff)
	}
	got := r.Outputs("c")
	if string(got[0].Data["text/plain"]) != `"bar"` || !strings.Contains(string(got[1].Data["text/plain"]), "its last state is not in the notebook") {
		t.Errorf("displays %s, %s", got[0].Data, got[1].Data)
	}
	outputs(t, r)
}

// TestStream: text with control characters is what a terminal shows.
func TestStream(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a\r\nb\r\n": "a\nb\n", "abc\rX": "Xbc", "abc\b\bX\n": "aXc\n", "abc\r\x1b[KX": "X", "abc\r\x1b[2KX": "X", "abc\rX\x1b[K": "X", "\b\bx": "x", "a\rb\nc\rd": "b\nd",
		"\x1b[31mred\x1b[0m\n":              "\x1b[31mred\x1b[0m\n",
		"\x1b[31mred\x1b[0m\rX":             "\x1b[0mX\x1b[0m\x1b[31med\x1b[0m",
		"x\r\x1b[32mok\x1b[0m\n":            "\x1b[32mok\x1b[0m\n",
		"x\r\x1b]8;;u\aa\x1b]8;;\a":         "\x1b]8;;u\aa\x1b]8;;\a",
		"日本\r語\x1b":                         "語本\x1b",
		"a\r\x1b[\x01":                      "\x1b[\x01",
		strings.Repeat("x", 70_000) + "\ry": strings.Repeat("x", 70_000) + "\ry", // too long to be rewritten
	} {
		r := notebook.NewRecorder(notebook.Limits{}, folder{}.spill)
		add(t, r, stdout(text))
		if got := r.Outputs("c")[0].Text; got != want {
			t.Errorf("%.50q is %.50q, not %.50q", text, got, want)
		}
	}
}

// TestChunks: it does not matter how a stream is cut into messages.
func TestChunks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom([]string{"a", "é", "\n", "\r", "\b", "\r\n", "\x1b[31m", "\x1b[0m", "\x1b[K", "\x1b[1;32m", "\x1b[2A", "\x1b", "[", "abcdef"})).Draw(t, "parts")
		text := strings.Join(parts, "")
		whole := notebook.NewRecorder(notebook.Limits{}, folder{}.spill)
		chunks := notebook.NewRecorder(notebook.Limits{}, folder{}.spill)
		for i, r := range []*notebook.Recorder{whole, chunks} {
			for _, part := range [][]string{{text}, parts}[i] {
				if err := r.Add(stdout(part)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if diff := cmp.Diff(whole.Outputs("c"), chunks.Outputs("c")); diff != "" {
			t.Fatalf("%q: %s", parts, diff)
		}
	})
}
