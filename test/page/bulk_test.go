package page

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestBulk pauses several projects. The page first says in which of them that is possible, and then what became of each, also after a
// reload. It needs no mouse.
func TestBulk(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deciding("inventory")
	w.waiting("handbook")
	w.failed("invoices")
	b := w.open()
	b.see("step charge failed: exit code 7")
	b.press("j")
	b.press("x")
	b.see("1 selected")
	b.press("x")
	b.gone("1 selected")
	b.tabTo("Select")
	b.press(" ")
	b.see("3 selected")
	b.tabTo("Pause…")
	b.press(kb.Enter)
	b.see("Possible in 2 of 3 projects. The others stay as they are.")
	b.see("pause: running steps finish, no new ones start")
	b.see("not possible: step charge failed: exit code 7")
	b.accessible()
	b.shot("bulk")
	b.do(chromedp.EmulateViewport(phone, 740, chromedp.EmulateMobile))
	b.fits()
	b.accessible()
	b.do(chromedp.EmulateViewport(1200, 800))
	if strings.Contains(w.pawl(0, "handbook", "log"), "paused") {
		t.Error("paused before the user said so")
	}
	b.fill("Reason", "the bank is closed")
	b.tabTo("Pause: 2 projects")
	b.press(kb.Enter)
	b.see("2 projects paused.")
	b.see("Project paused")
	b.do(chromedp.Reload())
	b.see("2 projects paused.")
	b.accessible()
	b.press(kb.Escape)
	b.wait(`!document.querySelector("dialog") && !location.hash.includes("bulk")`)
	for _, name := range []string{"handbook", "inventory"} {
		if n := strings.Count(w.pawl(0, name, "log"), "the bank is closed"); n != 1 {
			t.Errorf("%s was paused %d times", name, n)
		}
	}
	b.noFaults()
}

// TestFilters: the filters that a long list needs. They are in the address.
func TestFilters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deciding("inventory")
	w.failed("invoices")
	w.write("late", "plan.yaml", "name: late\nsteps:\n  - {id: slow, timeout: 100ms, run: \"sleep 60\"}\n")
	w.pawl(4, "late", "run", "plan.yaml")
	w.write("flaky", "plan.yaml", "name: flaky\nsteps:\n  - {id: fetch, retry: {attempts: 3, backoff: 10m}, run: \"exit 9\"}\n")
	w.background("flaky")
	b := w.open()
	b.see("inventory")
	b.click("Waiting for a person")
	b.gone("invoices")
	b.see("inventory")
	b.click("Waiting over 1 h")
	b.see("No project matches these filters.")
	b.wait(`location.hash.includes("waiting_seconds=3600")`)
	b.click("Retrying")
	b.see("flaky")
	b.gone("inventory")
	b.click("Failing")
	b.see("invoices")
	b.see("late")
	b.wait(`[...document.querySelectorAll("[aria-label=Reason] option")].map((o) => o.innerText).join() === "Any reason,exit code 7 (1),timed out (1)"`)
	b.accessible()
	b.choose("Reason", "timed out")
	b.gone("invoices")
	b.do(chromedp.Reload())
	b.see("late")
	b.gone("invoices")
	b.do(chromedp.EmulateViewport(phone, 740, chromedp.EmulateMobile))
	b.fits()
	b.accessible()
	b.noFaults()
}
