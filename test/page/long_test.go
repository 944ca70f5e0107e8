package page

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"pawl"
	"pawl/internal/journal"
)

// Size of a long run: longSteps steps with longItems items each make more than longEvents events.
const (
	longSteps  = 20
	longItems  = 1700
	longEvents = 100_000
)

// long makes a project whose run has longEvents events.
func (w *world) long(name string) {
	w.t.Helper()
	plan, list := "name: long\nsteps:\n  - {id: ask, gate: {type: human_verify, ask: Start?}}\n", ""
	for i := range longSteps {
		plan += fmt.Sprintf("  - {id: step-%d, needs: [ask], run: \":\", foreach: {lines: list.txt}}\n", i)
	}
	for i := range longItems {
		list += fmt.Sprintf("item-%d\n", i)
	}
	w.write(name, "plan.yaml", plan)
	w.write(name, "list.txt", list)
	w.pawl(3, name, "run", "plan.yaml")
	w.pawl(0, name, "stop")
	runs := filepath.Join(w.dir, name, ".pawl", "runs")
	found, err := filepath.Glob(filepath.Join(runs, "long-*"))
	if err != nil || len(found) != 1 {
		w.t.Fatalf("runs %v, %v", found, err)
	}
	log, err := journal.Open(runs, pawl.RunID(filepath.Base(found[0])))
	if err != nil {
		w.t.Fatal(err)
	}
	defer log.Close()
	ctx := context.WithoutCancel(w.t.Context())
	state, err := log.State(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	for i := range longSteps {
		epoch := state.Epoch + pawl.Epoch(i) + 1
		for batch := range slices.Chunk(w.longStep(epoch, pawl.StepID(fmt.Sprint("step-", i))), 1000) {
			if _, err := log.Append(ctx, epoch, batch...); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	if state, err = log.State(ctx); err != nil || state.Seq < longEvents || state.RejectedCount > 0 {
		w.t.Fatalf("%d events, %d rejected %+v: %v", state.Seq, state.RejectedCount, state.RejectedEvents, err)
	}
	if err := log.SaveState(state); err != nil {
		w.t.Fatal(err)
	}
}

// longStep returns the events of an engine that does all items of a step.
func (w *world) longStep(epoch pawl.Epoch, step pawl.StepID) (events []pawl.Event) {
	values := make([]string, longItems)
	for i := range values {
		values[i] = fmt.Sprint("item-", i)
	}
	payloads := []pawl.Payload{pawl.EngineStarted{Epoch: epoch, PID: 1, Why: "resume"}, pawl.StepListed{Step: step, Items: values}}
	for i, value := range values {
		ref := pawl.AttemptRef{Step: step, Item: pawl.ItemIDOf(value), Index: i, Attempt: 1, Token: "0123456789abcdef"}
		payloads = append(payloads, pawl.AttemptStarted{AttemptRef: ref}, pawl.Progressed{AttemptRef: ref, Text: "half of " + value}, pawl.ItemDone{AttemptRef: ref})
	}
	for _, p := range append(payloads, pawl.EngineStopped{Why: "interrupted"}) {
		e, err := pawl.NewEvent(pawl.Author{Kind: pawl.ByEngine}, p)
		if err != nil {
			w.t.Fatal(err)
		}
		events = append(events, e)
	}
	return events
}

// TestLongRun: the timeline of a run with 100,000 events opens, scrolls to every event, draws only those that are visible, and gives its
// memory back.
func TestLongRun(t *testing.T) {
	w := newWorld(t)
	w.long("archive")
	b := w.open()
	b.see("archive")
	before := b.heap()
	place := "projects/" + w.projects["archive"] + "/timeline"
	began := time.Now()
	b.do(chromedp.Navigate(b.url + "/#/" + place))
	b.wait(`document.querySelectorAll(".entries .entry").length > 10`)
	first := time.Since(began)
	b.wait(`/10\d,\d{3} events/.test(document.body.innerText) && !document.body.innerText.includes("Loading events")`)
	all := time.Since(began)
	b.wait(`document.querySelector(".entries").innerText.includes("engine stopped")`) // the list stays at its end while it grows
	for _, part := range []float64{0.5, 0, 1} {
		b.wait(`((box) => {
			box.scrollTop = %v * (box.scrollHeight - box.clientHeight)
			const seen = [...box.querySelectorAll(".entry")].filter((e) => e.getBoundingClientRect().top < box.getBoundingClientRect().bottom && e.getBoundingClientRect().bottom > box.getBoundingClientRect().top)
			return seen.length * 24 >= box.clientHeight - 24
		})(document.querySelector(".entries"))`, part)
	}
	if n := value[float64](b, `document.querySelectorAll("main *").length`); n > 5000 {
		t.Errorf("the page has %v elements", n)
	}
	busy := b.heap()
	b.click("Projects")
	b.wait(`!document.querySelector(".entries")`)
	after := b.heap()
	t.Logf("the first events of %d after %v, all after %v; heap %d MiB before, %d MiB with the timeline, %d MiB after it", longEvents, first, all, before>>20, busy>>20, after>>20)
	if busy-before > 100<<20 || after-before > 20<<20 {
		t.Errorf("heap: %d MiB before, %d MiB with the timeline, %d MiB after it", before>>20, busy>>20, after>>20)
	}
	b.noFaults()
}

// heap returns how many bytes the scripts of the page use, after a collection of garbage.
func (b *tab) heap() int64 {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, heapprofiler.CollectGarbage, cdp.Empty{}); err != nil {
		b.t.Fatal(err)
	}
	usage, err := chromedp.Call(b.ctx, runtime.GetHeapUsage, cdp.Empty{})
	if err != nil {
		b.t.Fatal(err)
	}
	return int64(usage.UsedSize)
}
