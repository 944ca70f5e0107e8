package markers_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/markers"
)

func TestParse(t *testing.T) {
	t.Parallel()
	sub := func(s string) *string { return &s }
	type attributes = map[string]string
	cases := map[string]*pawl.Marker{ // nil: no marker
		"[INSIGHT] rows repeat":           {Type: "INSIGHT", Content: "rows repeat", Valid: true},
		"[INSIGHT] rows repeat\r":         {Type: "INSIGHT", Content: "rows repeat", Valid: true},
		"[INSIGHT] rows repeat \r\r":      {Type: "INSIGHT", Content: "rows repeat", Valid: true},
		"[INSIGHT]":                       {Type: "INSIGHT", Valid: true},
		"\u00a0\ufeff\t [INSIGHT]\u3000x": {Type: "INSIGHT", Content: "x", Valid: true},
		"\u2028[INSIGHT]\u2029x\u2028":    nil, // what follows a line separator is another line
		"[INSIGHT]\u2029x":                {Type: "INSIGHT", Content: "x", Valid: true},
		"[INSIGHT] 10%\r20%":              nil,
		"[INSIGHT] a\u2029b":              nil,
		"\u0085[INSIGHT] x":               nil, // no white space to JavaScript
		"[INSIGHT] x\u0085":               {Type: "INSIGHT", Content: "x\u0085", Valid: true},
		"  [STAGE:end:id=S02_fit:status=failed:duration=70.9s] no luck": {Type: "STAGE", Subtype: sub("end"),
			Attributes: attributes{"id": "S02_fit", "status": "failed", "duration": "70.9s"}, Content: "no luck", Valid: true},
		"[STAGE:progress:msg=at 12:30:pct=5]": {Type: "STAGE", Subtype: sub("progress"),
			Attributes: attributes{"msg": "at 12", "30": "", "pct": "5"}, Valid: true},
		"[CHECK:id=a:one:two-three:id=b=c]": {Type: "CHECK", Subtype: sub("one"),
			Attributes: attributes{"id": "b=c", "two-three": ""}, Valid: true},
		"[NEXT-STEP:so-far:a-b=c-d] go-on": {Type: "NEXT_STEP", Subtype: sub("so_far"),
			Attributes: attributes{"a-b": "c-d"}, Content: "go-on", Valid: true},
		"[CITATION:doi:10.1000/a-b=c] t": {Type: "CITATION", Subtype: sub("doi:10.1000/a-b=c"), Content: "t", Valid: true},
		"[DATA::k=v]":                    {Type: "DATA", Subtype: sub(""), Attributes: attributes{"k": "v"}, Valid: true},
		"[DATA:=v]":                      {Type: "DATA", Attributes: attributes{"": "v"}, Valid: true},
		"[DATA:] x":                      nil,
		"[DATA:a]b] c":                   {Type: "DATA", Subtype: sub("a"), Content: "b] c", Valid: true},
		"[NOISE:loud] x":                 {Type: "NOISE", Subtype: sub("loud"), Content: "x"},
		"[S3_X-1] x":                     {Type: "S3_X_1", Content: "x"},
		"[data] x":                       nil,
		"[3D] x":                         nil,
		"[_X] x":                         nil,
		"[] x":                           nil,
		"[DATA x":                        nil,
		"[DÄTA] x":                       nil,
		"# [DATA] x":                     nil,
		"[2026-01-02] log":               nil,
		"":                               nil,
		"[DATA] \xff":                    {Type: "DATA", Content: "\xff", Valid: true},
	}
	for line, want := range cases {
		got, ok := markers.Parse(line, 7)
		if want == nil {
			if ok {
				t.Errorf("Parse(%q) = %+v, want none", line, got)
			}
			continue
		}
		want.Line = 7
		if want.Attributes == nil {
			want.Attributes = attributes{}
		}
		if diff := cmp.Diff(*want, got); diff != "" || !ok {
			t.Errorf("Parse(%q), %v: -want +got\n%s", line, ok, diff)
		}
	}
}

func TestParsesNumbersLines(t *testing.T) {
	t.Parallel()
	var got []int
	for _, m := range markers.ParseAll("[STAGE:begin:id=a]\r\n\nfree text\n[CHECKPOINT:saved:id=b]\n[STAGE:end:id=a]") {
		got = append(got, m.Line)
	}
	if diff := cmp.Diff([]int{1, 4, 5}, got); diff != "" {
		t.Errorf("lines: -want +got\n%s", diff)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("[STAGE:begin:id=S01_load_data] x\r")
	f.Add(" [CITATION:arXiv:1] \u2028")
	f.Fuzz(func(t *testing.T, line string) {
		m, ok := markers.Parse(line, 1)
		if !ok {
			return
		}
		if !strings.Contains(line, "["+m.Type) && !strings.Contains(m.Type, "_") {
			t.Errorf("type %q is not in %q", m.Type, line)
		}
		if !strings.Contains(line, m.Content) || m.Content != strings.TrimSpace(m.Content) && !strings.Contains(m.Content, "\u0085") {
			t.Errorf("content %q of %q", m.Content, line)
		}
		for key, value := range m.Attributes {
			if !strings.Contains(line, key) || !strings.Contains(line, value) {
				t.Errorf("attribute %q=%q is not in %q", key, value, line)
			}
		}
	})
}

func BenchmarkParseNone(b *testing.B) {
	line := strings.Repeat("plain output ", 10)
	for b.Loop() {
		markers.Parse(line, 1)
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"[METRIC:r2] 0.95":                                    "0.95",
		"[STAGE:begin:id=S01_load_data]":                      "stage begin S01_load_data",
		"[STAGE:progress:id=S01_load_data:pct=40:msg=fold 2]": "stage progress S01_load_data: fold 2 (40%)",
		"[STAGE:progress:id=S01_load_data:pct=40%]":           "stage progress S01_load_data: (40%)",
		"[STAGE:end:id=S01_load_data:status=success]":         "stage end S01_load_data: success",
		"[CHECKPOINT:saved:id=c1:stage=S01_load_data]":        "checkpoint saved c1",
		"[STAGE:progress:id=S01_load_data:pct=40] half of it": "half of it",
		"[INFO]": "",
	} {
		m, ok := markers.Parse(line, 1)
		if got := markers.Text(m); !ok || got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
