package cases

import (
	"slices"
	"testing"
)

func TestSome(t *testing.T) {
	list := []string{"a", "b", "c"}
	t.Setenv(AllVar, "")
	var seen []string
	for i := range 3 {
		seen = append(seen, Some(list, i, 2)...)
	}
	if want := []string{"a", "b", "c", "a", "b", "c"}; !slices.Equal(seen, want) {
		t.Errorf("tried %q, want %q", seen, want)
	}
	t.Setenv(AllVar, "1")
	if got := Some(list, 1, 1); !slices.Equal(got, list) {
		t.Errorf("of all: %q", got)
	}
}
