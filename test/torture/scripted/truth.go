package scripted

import (
	"slices"

	"pawl"
)

// Truth is how much of what a call was to do is there.
type Truth string

// What may be true of a call.
const (
	Nothing    Truth = "nothing"
	Something  Truth = "something"
	Everything Truth = "everything"
	AsBefore   Truth = "as before" // it was to bring about what was so already: nothing can tell if it did
	Rewritten  Truth = "rewritten" // files were written, and hold what they held before
	Traceless  Truth = "no trace"  // it reads, or does something elsewhere: nothing of it can ever be here
)

// Truth says how much of a call is there, by what was there before it and what is there now.
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

// after returns what is to be there once the whole call was carried out.
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

// Right returns the verdicts that are right on a call, given how much of it is there, and whether a process of it lives.
func (c *Call) Right(t Truth, alive bool) []pawl.OperationVerdict {
	switch {
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
	if c.beyond != never {
		right = append(right, pawl.OperationUnknown)
	}
	return right
}

// beyond says whether a call does anything that leaves no trace here, or nobody could tell from its words that it does not.
type beyond int

const (
	never   beyond = iota
	perhaps        // it may, or only after something that does leave a trace
	first          // before anything that leaves a trace
)
