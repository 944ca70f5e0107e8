package pawl_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"pawl"
)

func TestKindAndHint(t *testing.T) {
	t.Parallel()
	plain := errors.New("disk full")
	inner := &pawl.Error{Kind: pawl.KindDamaged, Err: io.ErrUnexpectedEOF, Hint: "pawl verify"}
	outer := &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("read plan: %w", inner)}
	hinted := &pawl.Error{Kind: pawl.KindUsage, Err: inner, Hint: "pawl plan check"}
	for _, c := range []struct {
		err  error
		kind pawl.Kind
		hint string
	}{
		{nil, pawl.KindInternal, ""},
		{plain, pawl.KindInternal, ""},
		{inner, pawl.KindDamaged, "pawl verify"},
		{fmt.Errorf("open run: %w", inner), pawl.KindDamaged, "pawl verify"},
		{outer, pawl.KindUsage, "pawl verify"},
		{hinted, pawl.KindUsage, "pawl plan check"},
		{errors.Join(plain, inner), pawl.KindDamaged, "pawl verify"},
		{&pawl.Error{Kind: pawl.KindHeld, Err: plain}, pawl.KindHeld, ""},
		{fmt.Errorf("append event 17: %w", pawl.ErrFenced), pawl.KindHeld, ""},
		{pawl.ErrNoProject, pawl.KindNothing, "pawl init"},
	} {
		if kind, hint := pawl.KindOf(c.err), pawl.HintOf(c.err); kind != c.kind || hint != c.hint {
			t.Errorf("%v: %s %q, want %s %q", c.err, kind, hint, c.kind, c.hint)
		}
	}
	if outer.Error() != "read plan: unexpected EOF" || !errors.Is(outer, io.ErrUnexpectedEOF) || !errors.Is(fmt.Errorf("x: %w", pawl.ErrFenced), pawl.ErrFenced) {
		t.Errorf("the chain is broken: %v", outer)
	}
}
