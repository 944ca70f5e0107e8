package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/engine/enginetest"
	"pawl/internal/runs"
)

func TestForeach(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.Check(p.Do(foreachPlan))
	p.WantStory("attempt.started:make step.done:make step.listed:each attempt.started:each/x item.done:each/x "+
		"attempt.started:each/y item.done:each/y step.done:each attempt.started:empty step.done:empty step.listed:none step.done:none run.ended", steps...)
	p.WantText("out/y.txt", "y\n")
	if p.Exists("never") {
		t.Error("an empty list had an item")
	}
}

const foreachPlan = `name: demo
steps:
  - {id: make, run: mkdir out}
  - id: each
    foreach: {items: [x, y]}
    parallel: 1
    run: echo $PAWL_ITEM > out/$PAWL_ITEM.txt
    outputs: [out/$PAWL_ITEM.txt]
  - {id: empty, run: touch empty.txt}
  - {id: none, foreach: {lines: empty.txt}, run: touch never}
`

// Items that fail do not keep others from being done. A retry does only them, and values that were added.
func TestFailingAndAddedItems(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.Write("list.txt", "a\nb\nc\n")
	plan := `name: demo
steps:
  - {id: each, parallel: 1, foreach: {lines: list.txt}, run: 'echo $PAWL_ITEM >> ledger.txt; test $PAWL_ITEM != b -o -e fixed', retry: {attempts: 2, backoff: 1ms}}
`
	p.WantKind(p.Do(plan), pawl.KindRunFailed, "1 of 3 items failed: b")
	wantLines(p, "a b b c")
	p.Write("fixed", "")
	p.Write("list.txt", "a\nb\nc\nd\n")
	p.Act(runs.Retry("each", ""))
	p.Check(p.GoOn())
	wantLines(p, "a b b b c d")
	if st := p.Step("each"); st.Items.Total != 4 || st.Items.Count != 4 {
		t.Errorf("items %+v", st.Items)
	}
}

func TestItemsAddedToAFinishedList(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.Write("list.txt", "a\nb\n")
	p.Check(p.Do("name: demo\nsteps:\n  - {id: each, parallel: 1, foreach: {lines: list.txt}, run: echo $PAWL_ITEM >> ledger.txt}\n"))
	p.Write("list.txt", "b\nc\n")
	p.Check(p.GoOn())
	p.WantText("ledger.txt", "a\nb\nc\n")
}

// A long list needs several events.
func TestLongList(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	var list strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&list, "a rather long value with the number %d\n", i)
	}
	p.Write("list.txt", list.String())
	p.Config.Snapshots.Off = true
	e := p.Start("name: demo\nsteps:\n  - {id: each, parallel: 1, foreach: {lines: list.txt}, run: \"true\"}\n")
	p.UntilEvent("item.done", 2)
	e.Interrupt()
	p.WantKind(e.Wait(), pawl.KindInterrupted)
	if listed := p.Count("step.listed"); listed < 3 || p.Step("each").Items.Total != 2000 {
		t.Errorf("%d events for %d items", listed, p.Step("each").Items.Total)
	}
}
