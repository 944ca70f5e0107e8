package scripted

import (
	"slices"
	"strings"

	"pawl"
)

// Truth is how many of the effects of a call exist.
type Truth string

// The truths about a call.
const (
	Nothing    Truth = "nothing"
	Something  Truth = "something"
	Everything Truth = "everything"
	AsBefore   Truth = "as before" // its effects existed before it: nothing shows whether it ran
	Rewritten  Truth = "rewritten" // files were written with the same content
	Traceless  Truth = "no trace"  // it only reads, or has only remote effects
)

// Truth compares the files before a call with the current ones.
func (c *Call) Truth(before, now map[string]Seen) Truth {
	if len(c.Paths) == 0 {
		return Traceless
	}
	after := c.after(before)
	full, none, untouched := true, true, true
	for _, path := range c.Paths {
		if slices.Contains(c.reads, path) {
			continue
		}
		same, stamped := now[path] == before[path], slices.Contains(c.stamps, path)
		full = full && now[path].Node == after[path] && !(same && stamped)
		none = none && now[path].Node == before[path].Node && (same || !stamped)
		untouched = untouched && same
	}
	switch {
	case full && untouched:
		return AsBefore
	case full:
		return Everything
	case none && untouched:
		return Nothing
	case none:
		return Rewritten
	}
	return Something
}

// after returns the expected files after the complete call.
func (c *Call) after(before map[string]Seen) World {
	w := World{}
	for path, seen := range before {
		if seen.Kind != "" {
			w[path] = seen.Node
		}
	}
	c.do(w)
	return w
}

// Right returns the correct verdicts on a call, given its truth and whether one of its processes is alive.
func (c *Call) Right(t Truth, alive bool) []pawl.OperationVerdict {
	switch {
	case c.Far && (t == Everything || t == Something || alive): // pawl does not find changes there unless they are named
		return append(c.near().Right(t, alive), pawl.OperationUnknown)
	case c.Sub != nil:
		return []pawl.OperationVerdict{pawl.OperationUnknown, pawl.OperationPartly}
	case t == Everything, t == AsBefore && alive:
		return []pawl.OperationVerdict{pawl.OperationDone, pawl.OperationPartly}
	case alive, t == Something:
		return []pawl.OperationVerdict{pawl.OperationPartly}
	case t == Traceless:
		return []pawl.OperationVerdict{pawl.OperationUnknown}
	}
	var right []pawl.OperationVerdict
	switch {
	case t == Rewritten:
		right = append(right, pawl.OperationPartly)
	case t == AsBefore && c.beyond != first:
		right = append(right, pawl.OperationDone)
	}
	if c.beyond != first {
		right = append(right, pawl.OperationNotDone)
	}
	if c.beyond != never || c.Far {
		right = append(right, pawl.OperationUnknown)
	}
	return right
}

// near returns the call as if pawl searched the place of its changes.
func (c *Call) near() *Call {
	copied := *c
	copied.Far = false
	return &copied
}

// beyond reports whether a call has effects without a trace on this machine, or may have them according to its input.
type beyond int

const (
	never   beyond = iota
	perhaps        // it may, or only after something that does leave a trace
	first          // before anything that leaves a trace
)

// Names returns the names in paths, except those of folders that every base has.
func Names(paths []string) map[string]bool {
	names := map[string]bool{}
	for _, p := range paths {
		p, _, _ = strings.Cut(p, "@")
		for name := range strings.SplitSeq(p, "/") {
			names[name] = true
		}
	}
	for _, common := range []string{"", "lib", "docs", "my files", "old", "db", "deep", "project"} {
		delete(names, common)
	}
	return names
}
