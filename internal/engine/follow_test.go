package engine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl"
)

// TestHalfALineWaits: a line that is not there to its end is taken when it is, or at the attempt's end; one that is longer than
// what is taken at a time is no line.
func TestHalfALineWaits(t *testing.T) {
	t.Parallel()
	f := &follower{dir: t.TempDir(), offsets: map[string]int64{}}
	var said []string
	look := func(add string, last bool) string {
		file, err := os.OpenFile(filepath.Join(f.dir, "f"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = file.WriteString(add)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		said = nil
		if _, err := f.readFile("f", last, func(line []byte, _ pawl.Source) pawl.Payload {
			said = append(said, string(line[:min(len(line), 9)]))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return strings.Join(said, "|")
	}
	for _, c := range []struct {
		add  string
		last bool
		want string
	}{{"on", false, ""}, {"e\ntw", false, "one"}, {"o", false, ""}, {"\nthree\n", false, "two|three"}, {"end", true, "end"}} {
		if got := look(c.add, c.last); got != c.want {
			t.Errorf("after %q: %q, want %q", c.add, got, c.want)
		}
	}
	if got := look(strings.Repeat("x", readChunk+1)+"\nnext\n", false); got != "xxxxxxxxx|x|next" {
		t.Errorf("a line that is too long: %q", got)
	}
}
