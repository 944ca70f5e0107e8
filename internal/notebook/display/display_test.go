package display_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/notebook"
	"pawl/internal/notebook/display"
)

func same(text string) string { return text }

// shown returns the output that is shown for the data of a display.
func shown(t testing.TB, data map[string]any) display.Output {
	t.Helper()
	page := display.Cells(withOutput(t, map[string]any{"output_type": "display_data", "metadata": map[string]any{}, "data": data}), 0, 1, same)
	return page.Cells[0].Outputs[0]
}

func withOutput(t testing.TB, outputs ...any) *notebook.Notebook {
	t.Helper()
	return read(t, []any{map[string]any{"cell_type": "code", "id": "a", "metadata": map[string]any{}, "source": "x", "execution_count": 1, "outputs": outputs}})
}

func read(t testing.TB, cells []any) *notebook.Notebook {
	t.Helper()
	text, err := json.Marshal(map[string]any{"cells": cells, "metadata": map[string]any{}, "nbformat": 4, "nbformat_minor": 5})
	if err != nil {
		t.Fatal(err)
	}
	n, err := notebook.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestTables: of HTML only the text of its tables is left, whatever it contains.
func TestTables(t *testing.T) {
	t.Parallel()
	row := func(cells ...display.TableCell) display.Row { return display.Row{Cells: cells} }
	text := func(s string) display.TableCell { return display.TableCell{Text: s} }
	head := func(s string) display.TableCell { return display.TableCell{Text: s, Header: true} }
	for name, c := range map[string]struct {
		html string
		want []display.Table
		rest string
	}{
		"pandas": {
			"<div>\n<style scoped>\n .dataframe tbody tr th {a: b}</style>\n<table border=\"1\" class=\"dataframe\">\n <thead>\n <tr style=\"text-align: right;\">\n <th></th>\n <th>a&lt;b</th>\n </tr>\n </thead>\n" +
				"<tbody>\n<tr><th>0</th><td>1 &amp; 2</td></tr></tbody>\n</table>\n<p>1 rows × 1 columns</p>\n</div>",
			[]display.Table{{Head: []display.Row{row(head(""), head("a<b"))}, Body: []display.Row{row(head("0"), text("1 & 2"))}}}, "1 rows × 1 columns",
		},
		"hostile": {
			`<table onload=x()><tr><td onclick="alert('>')"><script>alert(1)</script><img src=x onerror=alert(1)><a href="javascript:alert(1)">l</a></td><td><svg onload=a()></svg>&lt;script&gt;</td></tr></table><script>a<b</script>z`,
			[]display.Table{{Body: []display.Row{row(text("l"), text("<script>"))}}}, "z",
		},
		"open": {"<TABLE><TR><TD COLSPAN=2>a<TD rowspan='3' x>b<TR><TH colspan=\"99999\">c", []display.Table{{Body: []display.Row{row(display.TableCell{Text: "a", Columns: 2}, display.TableCell{Text: "b", Rows: 3}),
			row(display.TableCell{Text: "c", Header: true, Columns: 1000})}}}, ""},
		"nested":    {"<table><tr><td>a<table><tr><td>b</td></tr></table>c</td></tr></table>", []display.Table{{Body: []display.Row{row(text("a b c"))}}}, ""},
		"comments":  {"<!-- <table><tr><td>no --><!DOCTYPE x><?xml?><table><td>a<br>b<!-- x</table> --></table>", []display.Table{{Body: []display.Row{row(text("a b"))}}}, ""},
		"no tables": {"<b>a</b> < b <3 </", nil, "a < b <3 </"},
		"unclosed":  {"<table><tr><td>a<script>b", []display.Table{{Body: []display.Row{row(text("a"))}}}, ""},
	} {
		got := shown(t, map[string]any{"text/html": c.html})
		if diff := cmp.Diff(c.want, got.Tables); diff != "" || got.Text != c.rest {
			t.Errorf("%s: text %q %s", name, got.Text, diff)
		}
	}
}

// TestLargeTables: rows, columns and texts are limited.
func TestLargeTables(t *testing.T) {
	t.Parallel()
	got := shown(t, map[string]any{"text/html": []string{"<table>", strings.Repeat("<tr><td>x", 1000)}})
	if len(got.Tables[0].Body) != 500 || got.Tables[0].LeftOut != 500 {
		t.Errorf("%d rows, %d left out", len(got.Tables[0].Body), got.Tables[0].LeftOut)
	}
	got = shown(t, map[string]any{"text/html": strings.Repeat("<table><tr>"+strings.Repeat("<td>"+strings.Repeat("é", 1100), 250)+"</table>", 22)})
	cell := got.Tables[0].Body[0].Cells
	if len(got.Tables) != 20 || len(cell) != 200 || len(cell[0].Text) > 2010 || !strings.HasSuffix(cell[0].Text, "é…") {
		t.Errorf("%d tables, %d columns, %d bytes", len(got.Tables), len(cell), len(cell[0].Text))
	}
}

// TestImages: only what is an image of its type, and not too large, is one.
func TestImages(t *testing.T) {
	t.Parallel()
	img := image.NewGray(image.Rect(0, 0, 3, 2))
	var inPNG, inJPEG, inGIF bytes.Buffer
	for _, err := range []error{png.Encode(&inPNG, img), jpeg.Encode(&inJPEG, img, nil), gif.Encode(&inGIF, img, nil)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	wide := bytes.Clone(inPNG.Bytes()) // with another width in its header
	binary.BigEndian.PutUint32(wide[16:], 60_000_000)
	binary.BigEndian.PutUint32(wide[29:], crc32.ChecksumIEEE(wide[12:29]))
	encoded := func(data []byte) string { return base64.StdEncoding.EncodeToString(data) }
	for _, c := range []struct{ mime, content, want string }{
		{"image/png", encoded(inPNG.Bytes()) + "\n", "data:image/png;base64," + encoded(inPNG.Bytes())},
		{"image/jpeg", encoded(inJPEG.Bytes()), "data:image/jpeg;base64," + encoded(inJPEG.Bytes())},
		{"image/gif", encoded(inGIF.Bytes()), "data:image/gif;base64," + encoded(inGIF.Bytes())},
		{"image/svg+xml", "<svg></svg>", "data:image/svg+xml;base64," + encoded([]byte("<svg></svg>"))},
		{"image/png", encoded(inGIF.Bytes()), ""},
		{"image/png", encoded(inPNG.Bytes())[:20], ""},
		{"image/png", encoded(inPNG.Bytes()) + `" onerror="x`, ""},
		{"image/png", encoded(wide), ""},
		{"image/png", encoded(append(inPNG.Bytes(), make([]byte, 9<<20)...)), ""},
		{"image/svg+xml", "<!DOCTYPE x [<!ENTITY a 'b'>]><svg></svg>", ""},
		{"image/svg+xml", "<svg>" + strings.Repeat(" ", 1<<20), ""},
		{"image/svg+xml", "<html>", ""},
	} {
		got := shown(t, map[string]any{c.mime: c.content, "text/plain": "alt"})
		if got.Image != c.want || got.Text != "alt" || c.want == "" && got.Kind != display.Text || got.Vector != (c.mime == "image/svg+xml" && c.want != "") {
			t.Errorf("%s %.50s: %s, %.80q, %q", c.mime, c.content, got.Kind, got.Image, got.Text)
		}
	}
}

// TestOutputs: what is shown of outputs that are no tables and no images.
func TestOutputs(t *testing.T) {
	t.Parallel()
	stream := func(name string, text any) any {
		return map[string]any{"output_type": "stream", "name": name, "text": text}
	}
	n := withOutput(t, stream("stdout", []string{"a\n", "\x1b[31mb"}), stream("stderr", "e"),
		map[string]any{"output_type": "error", "ename": "E", "evalue": "v", "traceback": []string{}},
		map[string]any{"output_type": "error", "ename": "E", "evalue": "v", "traceback": []string{"t1", "t2"}},
		stream("stdout", strings.Repeat("é", 300<<10)))
	want := []display.Output{{Kind: display.Stdout, Text: "a\n\x1b[31mb"}, {Kind: display.Stderr, Text: "e"}, {Kind: display.Error, Text: "E: v"}, {Kind: display.Error, Text: "t1\nt2"},
		{Kind: display.Stdout, Text: strings.Repeat("é", 128<<10), Cut: 344 << 10}}
	if diff := cmp.Diff(want, display.Cells(n, 0, 9, same).Cells[0].Outputs); diff != "" {
		t.Errorf("%.2000s", diff)
	}
	for _, c := range []struct {
		data map[string]any
		want display.Output
	}{
		{map[string]any{"text/plain": "1"}, display.Output{Kind: display.Text, Text: "1"}},
		{map[string]any{"text/html": "<b>x</b>"}, display.Output{Kind: display.Text, Text: "x"}},
		{map[string]any{"application/json": map[string]any{"a": []int{1}}, "text/plain": "<IPython.core.display.JSON object>"}, display.Output{Kind: display.JSON, Text: "{\n  \"a\": [\n    1\n  ]\n}"}},
		{map[string]any{"text/markdown": "# T"}, display.Output{Kind: display.Text, Text: "# T"}},
		{map[string]any{"application/javascript": "alert(1)"}, display.Output{Kind: display.Text, Text: "[an output that the page does not show]"}},
		{map[string]any{}, display.Output{Kind: display.Text}},
	} {
		if diff := cmp.Diff(c.want, shown(t, c.data)); diff != "" {
			t.Error(diff)
		}
	}
}

// TestPages: a page has so many cells, or so many bytes, and says where the next one begins. Secrets are removed from all texts.
func TestPages(t *testing.T) {
	t.Parallel()
	var cells []any
	for i := range 10_000 {
		cells = append(cells, map[string]any{"cell_type": "code", "id": fmt.Sprint("c", i), "metadata": map[string]any{"tags": []string{"secret"}, "papermill": map[string]any{"status": "completed", "start_time": "2026-01-02T03:04:05", "duration": 2}},
			"source": "secret", "execution_count": 1, "outputs": []any{map[string]any{"output_type": "stream", "name": "stdout", "text": "secret"}}})
	}
	n := read(t, cells)
	clean := func(text string) string { return strings.ReplaceAll(text, "secret", "[redacted]") }
	page := display.Cells(n, 9_990, 5, clean)
	if page.Total != 10_000 || len(page.Cells) != 5 || page.Next != 9_995 || page.Cells[0].Index != 9_990 || page.Counts != (display.Counts{Code: 10_000, Done: 10_000}) {
		t.Errorf("%d cells, next %d, %+v", len(page.Cells), page.Next, page.Counts)
	}
	text, err := json.Marshal(page)
	if err != nil || bytes.Contains(text, []byte("secret")) || !bytes.Contains(text, []byte(`"started_at":"2026-01-02T03:04:05Z","seconds":2`)) {
		t.Errorf("%v: %.500s", err, text)
	}
	if last := display.Cells(n, 9_995, 50, clean); len(last.Cells) != 5 || last.Next != 0 {
		t.Errorf("%d cells, next %d", len(last.Cells), last.Next)
	}
	large := map[string]any{"output_type": "stream", "name": "stdout", "text": strings.Repeat("x", 1<<20)}
	heavy := display.Cells(read(t, []any{map[string]any{"cell_type": "code", "id": "a", "metadata": map[string]any{}, "source": "", "execution_count": nil, "outputs": []any{large, large}},
		map[string]any{"cell_type": "markdown", "id": "b", "metadata": map[string]any{}, "source": strings.Repeat("x", 1<<20)}}), 0, 50, same)
	if len(heavy.Cells) != 2 || heavy.Cells[1].Cut != 768<<10 {
		t.Errorf("%d cells", len(heavy.Cells))
	}
	many := make([]any, 100)
	for i := range many {
		many[i] = map[string]any{"output_type": "stream", "name": "stdout", "text": strings.Repeat("x", 300<<10)}
	}
	if c := display.Cells(withOutput(t, many...), 0, 1, same).Cells[0]; len(c.Outputs) > 60 || len(c.Outputs)+c.LeftOut != 100 {
		t.Errorf("%d outputs, %d left out", len(c.Outputs), c.LeftOut)
	}
}

// FuzzTables: no HTML makes the reader panic, and no element is left of it.
func FuzzTables(f *testing.F) {
	for _, text := range []string{"<table><tr><td>a</table>", "<table><thead><th colspan=2>", "</td></tr></table><table>", "<script>", "<a '\"<", "<!--", "<table><table></table></td>"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := shown(t, map[string]any{"text/html": text})
		for _, table := range got.Tables {
			for _, row := range append(table.Head, table.Body...) {
				if len(row.Cells) > 200 {
					t.Errorf("%d columns", len(row.Cells))
				}
			}
		}
	})
}
