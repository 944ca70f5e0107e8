package operations_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pawl"
	"pawl/internal/operations"
)

// judgeBeside finds out what is so of an operation while others are in doubt, or had run since.
func (w *world) judgeBeside(o *pawl.OperationState, beside ...*pawl.OperationState) (pawl.OperationVerdict, string) {
	w.Helper()
	found := w.found(o)
	found.Beside = beside
	v := operations.Judge(o, found)
	return v.Verdict, strings.Join(v.Evidence, "; ")
}

// TestBeside: of two operations in doubt that ran side by side, one did something, and the other one nothing.
func TestBeside(t *testing.T) {
	t.Parallel()
	write := map[string]any{"file_path": "long.txt", "content": "x\n"}
	for _, c := range []struct {
		did, not, do string
		want         pawl.OperationVerdict // on the one that did nothing
	}{
		{"for i in 1 2; do echo $i > m$i; done", "for i in 1 2; do echo $i > n$i; done", "echo 1 > m1", notDone},
		{"for f in a b; do sed -i s/o/0/ $f; done", "for f in log; do sed -i s/o/0/ ${f}; done", "sed -i s/o/0/ a", notDone},
		{"for f in a b; do rm $f; done", "while true; do echo x >> log; done", "rm a", notDone},
		{"make all", "for i in 1 2; do echo $i > n$i; done", "echo > x.o", notDone},
		{"make all", "tar cf t.tar a", "echo > x.o", unknown},
		{"make all", "tar cf t.tar a && touch y", "echo > x.o", unknown},
		{"echo 1 > m1", "./a.sh", "echo 1 > m1", unknown},
		{"echo 1 > m1", "touch m1 n1", "echo 1 > m1", unknown},
		{"cp a z", "sed -i s/o/0/ z", "cp a z", unknown},
		{"cat a", "./a.sh", "true", unknown},
	} {
		w := newWorld(t, files)
		did, not := w.mean("Bash", map[string]any{"command": c.did}), w.mean("Bash", map[string]any{"command": c.not})
		w.sh(c.do)
		if got, evidence := w.judgeBeside(not, did); got != c.want {
			t.Errorf("%q beside %q: %s (%s), want %s", c.not, c.did, got, evidence, c.want)
		}
		if got, evidence := w.judgeBeside(did, not); c.do != "true" && c.want == notDone && c.did != "make all" && got != partly {
			t.Errorf("%q beside %q: %s (%s), want partly", c.did, c.not, got, evidence)
		}
	}
	for do, want := range map[string]pawl.OperationVerdict{"echo x > long.txt.tmp.17": unknown, "echo x > other": partly} {
		w := newWorld(t, files)
		did, not := w.mean("Write", write), w.mean("Bash", map[string]any{"command": "./a.sh"})
		w.sh(do)
		if got, evidence := w.judgeBeside(not, did); got != want {
			t.Errorf("%q beside a tool for files: %s (%s), want %s", do, got, evidence, want)
		}
	}
}

// TestRemovedBeside: that a file's folder was changed is explained by the operation that removed the file.
func TestRemovedBeside(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]string{"lib/a.txt": "a\n"})
	post := w.mean("Bash", map[string]any{"command": "curl -s -X POST http://127.0.0.1:9/issues"})
	drop := w.mean("apply_patch", map[string]any{"input": "*** Begin Patch\n*** Delete File: lib/a.txt\n*** End Patch\n"})
	w.sh("rm lib/a.txt")
	if got, evidence := w.judgeBeside(post, drop); got != unknown {
		t.Errorf("%s (%s), want unknown", got, evidence)
	}
	if got, evidence := w.judgeBeside(drop, post); got != done {
		t.Errorf("%s (%s), want done", got, evidence)
	}
	post.Others = []string{"lib/a.txt"}
	if got, evidence := w.judgeBeside(post); got != unknown {
		t.Errorf("beside one that has an outcome: %s (%s), want unknown", got, evidence)
	}
}

// TestRemovedSince: a command may have removed a file that another one wrote; its folder shows that.
func TestRemovedSince(t *testing.T) {
	t.Parallel()
	for _, do := range []string{"if test -e lib/a.txt; then echo b >> lib/a.txt; else touch made; fi", "echo b >> lib/a.txt"} {
		w := newWorld(t, map[string]string{"lib/a.txt": "a\n"})
		write, other := w.mean("Bash", map[string]any{"command": do}), w.mean("Bash", map[string]any{"command": "./anything"})
		if got, evidence := w.judgeBeside(write, other); got != notDone {
			t.Errorf("%s, nothing removed: %s (%s), want not done", do, got, evidence)
		}
		w.sh(do + "; rm lib/a.txt")
		if got, evidence := w.judgeBeside(write, other); got != unknown {
			t.Errorf("%s, removed since: %s (%s), want unknown", do, got, evidence)
		}
	}
}

// TestTwins: who did what of two that are the same is all one.
func TestTwins(t *testing.T) {
	t.Parallel()
	w := newWorld(t, files)
	in := map[string]any{"command": "./a.sh"}
	a, b := w.mean("Bash", in), w.mean("Bash", in)
	w.put("x", "x")
	if got, evidence := w.judgeBeside(a, b); got != partly {
		t.Errorf("%s (%s)", got, evidence)
	}
}

// TestCovered: what is not there may have been taken away by those that came after.
func TestCovered(t *testing.T) {
	t.Parallel()
	calls := map[string]map[string]any{"Write": {"file_path": "x", "content": "x\n"}, "Bash": {"command": "echo x > x"}}
	for tool, in := range calls {
		for _, c := range []struct {
			do    string
			after func(*pawl.OperationState)
			want  pawl.OperationVerdict
		}{
			{"echo x > x; rm x", func(*pawl.OperationState) {}, notDone}, // nobody else was there to take it away
			{"echo x > x; rm x", func(o *pawl.OperationState) { o.Overlaps = true }, unknown},
			{"echo x > x; rm x", func(o *pawl.OperationState) { o.Others = []string{"x"} }, unknown},
			{"echo x > x; echo y > x", func(o *pawl.OperationState) { o.Others = []string{"x"} }, unknown},
			{"echo x > x; touch y", func(o *pawl.OperationState) { o.Others = []string{"y"} }, done},
			{"touch dir/y", func(o *pawl.OperationState) { o.Overlaps = true }, notDone},
		} {
			w := newWorld(t, files)
			o := w.mean(tool, in)
			w.sh(c.do)
			c.after(o)
			if got, evidence := w.judgeBeside(o); got != c.want {
				t.Errorf("%s, %q, others %q, %v: %s (%s), want %s", tool, c.do, o.Others, o.Overlaps, got, evidence, c.want)
			}
		}
	}
}

// TestGit: what git keeps tells of its commands, unless another one may have changed it.
func TestGit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		command  string
		moved    bool
		index    bool // it was changed since
		refs     bool
		overlaps bool
		want     pawl.OperationVerdict
	}{
		{"git tag v1", false, false, false, false, notDone}, {"git tag v1", false, false, true, false, partly},
		{"git tag v1", false, false, true, true, unknown}, {"git tag v1", false, true, false, false, unknown},
		{"git add a", false, false, false, false, notDone}, {"git add a", false, true, false, false, unknown}, // perhaps by git status
		{"git add a && git commit -m x", false, true, false, false, unknown}, {"git add a && git commit -m x", true, true, true, false, done},
		{"git commit -m x", false, true, false, true, notDone}, {"git commit -m x", true, true, true, true, unknown},
		{`git add a && git commit -m "$(cat m)"`, false, true, false, false, unknown},
		{`git add a && git commit -m "$(cat m)"`, false, false, false, false, notDone},
		{"touch x", true, true, true, true, notDone}, {"./a.sh", true, false, false, false, partly}, {"git status", false, true, false, false, unknown},
	} {
		w := newWorld(t, files)
		o := w.mean("Bash", map[string]any{"command": c.command})
		o.Operation.Head, o.Overlaps = "before", c.overlaps
		found := w.found(o)
		found.Head, found.Index, found.Refs = "before", o.Clock.Add(-time.Second), o.Clock.Add(-time.Second)
		if c.moved {
			found.Head = "after"
		}
		if c.index {
			found.Index = o.Clock.Add(time.Second)
		}
		if c.refs {
			found.Refs = o.Clock.Add(time.Second)
		}
		if got := operations.Judge(o, found); got.Verdict != c.want {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

// TestIntentOfCommands: what a command changes is known before, as far as its words tell.
func TestIntentOfCommands(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]pawl.Operation{
		"echo x >> a && git commit -aqm z":              {Named: []string{"a"}},
		"curl -m 5 -o a https://ann:Vt4@h/x.html":       {Named: []string{"a"}},
		"cat a | grep x; ls":                            {Bound: true},
		"echo x > y; touch dir/z":                       {Bound: true, Paths: []string{"y", "dir/z"}},
		"cd dir && mv c d && rm -f nothing":             {Bound: true, Paths: []string{"dir/d", "dir/d/c", "dir/c", "dir/nothing"}, Gone: []string{"dir/c"}},
		"cp a b dir":                                    {Bound: true, Paths: []string{"dir", "dir/a", "dir/b"}},
		"for f in a b; do sed -i s/x/y/ \"$f\"; done":   {Bound: true, Paths: []string{"a", "b"}},
		"echo x > $HOME/y":                              {},
		"echo $(make) > y":                              {},
		"git add a":                                     {},
		"make":                                          {},
		"rm -rf dir && ./a.sh":                          {Gone: []string{"dir"}},
		"(cd dir; touch x)":                             {Bound: true, Paths: []string{"x", "dir/x"}},
		"python3 - <<'EOF'\nprint('touch me')\nEOF\n":   {},
		"cat > x <<'EOF'\nmake all\nEOF\ntouch y":       {Bound: true, Paths: []string{"x", "y"}},
		"if [ -e a ]; then touch y; else rm b; fi":      {Bound: true, Paths: []string{"y", "b"}},
		"find . -name '*.o' -delete":                    {},
		"echo 'a b' > 'c d' && chmod u+x 'c d' && sync": {},
	} {
		w := newWorld(t, files)
		o := w.mean("Bash", map[string]any{"command": command})
		if o.Bound != want.Bound || !slices.Equal(o.Paths, want.Paths) || !slices.Equal(o.Gone, want.Gone) || want.Named != nil && !slices.Equal(o.Named, want.Named) {
			t.Errorf("%q: bound %v, paths %q, named %q, gone %q, want %v, %q, %q, %q", command, o.Bound, o.Paths, o.Named, o.Gone, want.Bound, want.Paths, want.Named, want.Gone)
		}
	}
}

func TestPartsOfCommands(t *testing.T) {
	t.Parallel()
	got := operations.Commands("cd x && python3 'a b.py'  -v; nohup sleep 3 &")
	if want := []string{"cd x", "python3 a b.py -v", "nohup sleep 3", "sleep 3"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestContestedAsked judges a removal that a person was asked about. The folder was there when the call was announced, and is gone now.
// Another call may have removed it, so how far it came is unknown. A refusal is not proven either.
func TestContestedAsked(t *testing.T) {
	t.Parallel()
	gone := operations.World{Look: func(string) operations.Look { return operations.Look{} }}
	o := &pawl.OperationState{Asked: time.Unix(2, 0), Operation: pawl.Operation{
		Kind: pawl.OperationCommand, Summary: "rm -rf old/5", Paths: []string{"old/5"}, Bound: true, Gone: []string{"old/5"}, Clock: time.Unix(1, 0),
	}}
	if v := operations.Judge(o, gone); v.Verdict != pawl.OperationDone {
		t.Errorf("nobody else names it: %s %q", v.Verdict, v.Evidence)
	}
	gone.Beside = []*pawl.OperationState{{Operation: pawl.Operation{Kind: pawl.OperationCommand, Summary: "curl -s -m 5 http://127.0.0.1:9/"}}}
	if v := operations.Judge(o, gone); v.Verdict != pawl.OperationUnknown {
		t.Errorf("another call may name it: %s %q", v.Verdict, v.Evidence)
	}
}
