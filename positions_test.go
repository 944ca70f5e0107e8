package pawl_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"pawl"
)

func TestPositionsRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var p pawl.Positions
		want := map[int]pawl.Seq{}
		for range rapid.IntRange(0, 30).Draw(t, "sets") {
			index, seq := rapid.IntRange(0, 300).Draw(t, "index"), pawl.Seq(rapid.Int64().Draw(t, "seq"))
			p.Set(index, seq)
			want[index] = seq
		}
		data, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		var back pawl.Positions
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if diff := cmp.Diff(p, back, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%s: -want +got\n%s", data, diff)
		}
		for i := -2; i < 303; i++ {
			if back.At(i) != want[i] {
				t.Fatalf("at %d: %d, want %d", i, back.At(i), want[i])
			}
		}
	})
}

func TestPositionsAreSmall(t *testing.T) {
	t.Parallel()
	var p pawl.Positions
	for i := range 20_000 {
		p.Set(i, pawl.Seq(1000+4*i))
	}
	data, err := json.Marshal(p)
	if err != nil || len(data) > 40_000 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}

func TestPositionsRefuse(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`5`, `[1,2]`, `"!"`, `"gA"`, `"////////////////"`} {
		var p pawl.Positions
		if err := json.Unmarshal([]byte(text), &p); err == nil {
			t.Errorf("%s: accepted as %v", text, p)
		}
	}
}
