package page

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"pawl/test/stories/storytest"
)

// TestLogin: a link works once. Scripts cannot read the cookie. After the logout, nothing is shown.
func TestLogin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.failed("invoices")
	w.serve()
	browser := newBrowser(t)
	b := newTab(t, browser, w.url)
	b.do(chromedp.Navigate(w.url))
	b.see("pawl serve open")
	b.accessible()
	b.shot("login")
	link := w.login()
	b.do(chromedp.Navigate(link))
	b.see("invoices")
	if left := value[string](b, "location.href + document.cookie"); left != w.url+"/#/" {
		t.Errorf("after the login: %s", left)
	}
	other := newTab(t, newBrowser(t), w.url)
	other.do(chromedp.Navigate(link))
	other.see("Error:")
	other.see("pawl serve open")
	second := newTab(t, browser, w.url) // the same browser
	second.visit("")
	second.see("invoices")
	second.click("Settings")
	second.click("Log out")
	second.see("To log in")
	b.do(chromedp.Reload())
	b.see("To log in")
	b.noFaults()
}

// TestResume resumes a paused run with two crashed attempts. The page says before what will happen, and then shows that it does.
func TestResume(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.crashed("orders")
	b := w.open()
	b.visit("projects/" + w.projects["orders"])
	b.see("Resume will:")
	b.see("rerun transform (rule: ")
	b.see("ask you about notify (rule: ")
	if err := os.Remove(filepath.Join(w.dir, "orders", "transform.begun")); err != nil {
		t.Fatal(err)
	}
	b.click("Resume project")
	w.appears("orders", "transform.begun")
	b.see("The run is active.")
	b.see("notify")
	b.click("Pause…")
	b.fill("Reason", "lunch")
	b.accessible()
	b.click("Pause")
	b.wait(`!document.querySelector("dialog")`)
	b.see("lunch")
	b.see("paused")
	b.noFaults()
}

// TestGate sends work back with feedback, and then approves it. What the page shows follows the run.
func TestGate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.waiting("handbook")
	b := w.open()
	b.see("1 open gate")
	b.visit("gates")
	b.see("Is the new guide ready to publish?")
	b.clickOn(".gates .button")
	b.see("Run a plan: pawl run plan.yaml")
	b.see("Write feedback first.")
	b.click("Send back")
	b.fill("Feedback or reason", "Mention pawl doctor")
	b.gone("Write feedback first.")
	other := newTab(t, newBrowser(t), w.url) // somebody else opens the gate meanwhile
	other.logIn(w.login())
	other.visit("gates")
	other.clickOn(".gates .button")
	other.see("Also opened by")
	b.see("Also opened by")
	b.click("Send back")
	b.wait(`!document.querySelector("dialog")`)
	b.see("Is the new guide ready to publish?") // again, after the steps have run again
	b.visit("projects/" + w.projects["handbook"])
	b.clickOn(".gates .button")
	b.click("Approve")
	w.appears("handbook", "published.md")
	b.see("The run is completed.")
	b.noFaults()
}

// TestGateAnsweredElsewhere: somebody else answers the gate that a window shows.
func TestGateAnsweredElsewhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deciding("inventory")
	b := w.open()
	b.visit("gates")
	b.see("Which database do we use?")
	b.clickOn(".gates .button")
	b.see("sqlite (default)")
	w.pawl(0, "inventory", "answer", "choose", "postgres")
	b.see("This gate is closed")
	b.press(kb.Escape)
	b.wait(`!document.querySelector("dialog")`)
	b.see("No gate waits for a person.")
	b.noFaults()
}

// TestRights: a button that the user's login does not allow says so.
func TestRights(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.crashed("orders")
	w.waiting("handbook")
	b := w.open("--rights", "read")
	b.visit("projects/" + w.projects["orders"])
	b.see("Your login lacks the right “operate”.")
	b.click("Resume project")
	b.visit("gates")
	b.see("Is the new guide ready to publish?")
	b.clickOn(".gates .button")
	b.see("Your login lacks the right “approve”.")
	b.click("Approve")
	b.see("Your login lacks the right “approve”.")
	if w.pawl(0, "handbook", "gates", "--json") == "[]\n" {
		t.Error("the gate was answered")
	}
	b.accessible()
	b.noFaults()
}

// TestOutput follows the output of a running step. Markup in it is text.
func TestOutput(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("website", "plan.yaml", `name: "<i>markup</i>"
steps:
  - id: render
    run: |
      printf '<img src=x onerror="faults.push(1)"> \033[31mred\033[0m\n'
      until test -e more; do sleep 0.05; done
      echo second
      until test -e stop; do sleep 0.05; done
      printf 'last'
`)
	w.background("website")
	b := w.open()
	b.see("<i>markup</i>")
	b.visit("projects/" + w.projects["website"] + "/output")
	b.see(`<img src=x onerror="faults.push(1)"> red`)
	b.wait(`document.querySelector(".ansi-red-fg")?.textContent === "red"`)
	w.write("website", "more", "")
	b.see("second")
	w.write("website", "stop", "")
	b.see("last")
	b.see("completed")
	if n := value[int](b, `document.querySelectorAll(".terminal img, h1 i").length`); n > 0 {
		t.Error("markup was interpreted")
	}
	b.noFaults()
}

// TestRestore compares a checkpoint with the files, and restores it.
func TestRestore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.waiting("handbook")
	guide := filepath.Join(w.dir, "handbook", "guide.md")
	want, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	w.write("handbook", "guide.md", "lost\n")
	b := w.open()
	b.visit("projects/" + w.projects["handbook"] + "/checkpoints")
	b.clickOn("td.verbs button")
	b.see("lost")
	b.clickOn("td.verbs button:nth-of-type(2)")
	b.click("Show what would change")
	b.see("This changes 1 path")
	b.see("guide.md")
	b.click("Restore 1 path")
	b.see("Restored 1 path.")
	if got, err := os.ReadFile(guide); err != nil || string(got) != string(want) {
		t.Errorf("%q, %v", got, err)
	}
	b.noFaults()
}

// TestFork forks a completed run from an early checkpoint, and resumes the new run.
func TestFork(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("report", "plan.yaml", `name: report
steps:
  - {id: draft, run: "echo draft > report.md", outputs: [report.md]}
  - {id: polish, run: "date +%N > polished.md; cat polished.md >> report.md", outputs: [polished.md]}
`)
	w.pawl(0, "report", "run", "plan.yaml")
	before := w.read("report", "polished.md")
	b := w.open()
	b.visit("projects/" + w.projects["report"] + "/checkpoints")
	b.wait(`[...document.querySelectorAll("tbody tr")].some((tr) => tr.innerText.includes("draft") && (tr.querySelector("td.verbs button:last-child").click(), true))`)
	b.see("Fork from checkpoint")
	b.click("Show what would change")
	b.see("polished.md")
	b.accessible()
	b.click("Create the new run")
	b.see("Resume will: run polish.")
	b.see("50%")
	b.click("Resume project")
	b.see("The run is completed.")
	if after := w.read("report", "polished.md"); after == before {
		t.Error("the step was not run again")
	}
	b.noFaults()
}

// TestStart starts a run of a plan with parameters, and shows all runs of a project with more than a page of them.
func TestStart(t *testing.T) {
	t.Parallel()
	const runs = 53
	w := newWorld(t)
	w.write("mail", "plans/send.yaml", "name: send\nparams: {to: {required: true}}\nsteps:\n  - {id: send, run: \"echo \\\"$PAWL_PARAM_TO\\\" > sent.txt\"}\n")
	for i := range runs {
		w.pawl(0, "mail", "run", "plans/send.yaml", "--param", fmt.Sprintf("to=%d", i))
	}
	b := w.open("--rights", "read,run")
	b.visit("projects/" + w.projects["mail"] + "/history")
	b.wait(`document.querySelectorAll("tbody tr").length === 50`)
	b.click("Show earlier runs")
	b.wait(`document.querySelectorAll("tbody tr").length === %d`, runs)
	b.click("Start a run…")
	b.accessible()
	b.click("Start")
	b.see("Error: plan plan.yaml")
	b.fill("Parameters", "to")
	b.see("Write parameters as name=value: to")
	b.fill("Parameters", "=ann = bob")
	b.set("Plan", "plans/send.yaml")
	b.click("Start")
	b.wait(`!document.querySelector("dialog")`)
	if !storytest.Until(func() bool { return w.read("mail", "sent.txt") == "ann = bob\n" }) {
		t.Errorf("sent to %q", w.read("mail", "sent.txt"))
	}
	b.visit("projects/" + w.projects["mail"] + "/history")
	b.wait(`document.querySelectorAll("tbody tr").length === 50`)
	b.noFaults()
}

// TestKeyboard does without the mouse: it finds a project, opens it and answers its gate.
func TestKeyboard(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.waiting("handbook")
	w.failed("invoices")
	b := w.open()
	b.see("invoices")
	b.stroke("/")
	b.wait(`document.activeElement.type === "search"`)
	b.press("hand")
	b.gone("invoices")
	b.wait(`location.hash.includes("q=hand")`)
	b.tabTo("handbook")
	b.press(kb.Enter)
	b.see("Rewrite the guide for version 2")
	b.tabTo("Answer gate " + value[string](b, `document.querySelector(".gates .hidden").textContent.trim().split(" ").pop()`))
	b.press(kb.Enter)
	b.see("Every command works as written.")
	b.wait(`document.querySelector("dialog").contains(document.activeElement)`)
	b.press(kb.Escape)
	b.wait(`!document.querySelector("dialog")`)
	b.wait(`document.activeElement.textContent.startsWith("Answer")`) // the focus is where it was
	b.press(kb.Enter)
	b.see("Every command works as written.")
	b.tabTo("Approve")
	b.press(kb.Enter)
	w.appears("handbook", "published.md")
	b.press("?")
	b.see("next and previous project")
	b.press(kb.Escape)
	b.press("p")
	b.see("invoices")
	b.press("j")
	b.wait(`document.activeElement.classList.contains("name")`)
	b.noFaults()
}

// TestOneStream: all tabs of a browser share one stream of changes, hidden ones none, and a tab that is left ends it for no other.
func TestOneStream(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.active("website")
	w.serve()
	browser := newBrowser(t)
	count := `window.streams = 0;
	window.EventSource = class extends EventSource {
		constructor(...args) { super(...args); streams++ }
		close() { super.close(); streams-- }
	};`
	var tabs []*tab
	for i := range 8 { // a browser has six connections to a server
		b := newTab(t, browser, w.url)
		b.before(count)
		if i == 0 {
			b.logIn(w.login())
		} else {
			b.visit("")
		}
		b.see("website")
		tabs = append(tabs, b)
	}
	streams := func(tabs []*tab) (n int) {
		for _, b := range tabs {
			n += value[int](b, "streams")
		}
		return n
	}
	for _, b := range tabs {
		b.see("live")
	}
	if n := streams(tabs); n != 1 {
		t.Fatalf("%d streams", n)
	}
	hide := `Object.defineProperty(document, "hidden", {value: %s, configurable: true}), document.dispatchEvent(new Event("visibilitychange")), true`
	for i, b := range tabs {
		if value[int](b, "streams") == 1 {
			value[bool](b, fmt.Sprintf(hide, "true"))
			tabs = append(append([]*tab{}, tabs[:i]...), tabs[i+1:]...)
			break
		}
	}
	if !storytest.Until(func() bool { return streams(tabs) == 1 }) {
		t.Fatalf("%d streams after the first tab was hidden", streams(tabs))
	}
	w.write("website", "stop", "")
	for _, b := range tabs {
		b.see("completed")
		value[bool](b, fmt.Sprintf(hide, "true"))
	}
	if !storytest.Until(func() bool { return streams(tabs) == 0 }) {
		t.Fatalf("%d streams while all tabs are hidden", streams(tabs))
	}
	value[bool](tabs[0], fmt.Sprintf(hide, "false"))
	tabs[0].see("live")
	tabs[0].noFaults()
}

// TestSettings: times, colors and the refresh rate are as the user chooses, also after a reload.
func TestSettings(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.failed("invoices")
	b := w.open()
	b.visit("projects/" + w.projects["invoices"] + "?step=charge")
	b.see("UTC+") // Berlin
	b.click("Settings")
	b.choose("Time zone", "utc")
	b.choose("Colors", "dark")
	b.choose("Refresh", "0")
	b.press(kb.Escape)
	b.see("not refreshed")
	b.wait(`/\d\d UTC\b/.test(document.body.innerText)`)
	b.wait(`getComputedStyle(document.documentElement).colorScheme === "dark"`)
	b.before(`window.requests = 0; window.fetch = ((send) => (...args) => (requests++, send(...args)))(window.fetch)`)
	b.do(chromedp.Reload())
	b.see("not refreshed") // the choices stay
	b.see("At a resume")   // all that the view shows has been read
	b.wait(`document.documentElement.dataset.theme === "dark"`)
	before := value[int](b, "requests")
	other := newTab(t, newBrowser(t), w.url) // it follows the changes
	other.logIn(w.login())
	other.wait(`document.querySelector("tbody .status.bad")`)
	w.pawl(0, "invoices", "skip", "charge", "--message", "paid in cash")
	other.wait(`document.querySelector("tbody .status.good")`)
	if after := value[int](b, "requests"); after != before {
		t.Errorf("%d requests without refreshing", after-before)
	}
	b.click("Refresh")
	b.see("paid in cash")
	b.noFaults()
}

// TestRetryFollowing retries a step with all steps that need it. The page says what happens with a step, and why.
func TestRetryFollowing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("report", "plan.yaml", `name: report
steps:
  - {id: draft, run: "echo draft > report.md; echo >> draft.runs", outputs: [report.md]}
  - {id: other, needs: [], run: "echo >> other.runs"}
  - {id: polish, needs: [draft], run: "echo >> polish.runs"}
  - {id: send, needs: [polish], run: "test -e address"}
`)
	w.pawl(4, "report", "run", "plan.yaml")
	b := w.open()
	b.visit("projects/" + w.projects["report"] + "?step=polish")
	b.see("At a resume skip: up to date")
	b.visit("projects/" + w.projects["report"] + "?step=send")
	b.see("fail: failed: exit code 1")
	b.visit("projects/" + w.projects["report"] + "?step=draft")
	w.write("report", "address", "")
	b.click("Retry…")
	b.click("Also rerun all steps that need it")
	b.fill("Reason", "a better draft")
	b.accessible()
	b.click("Retry")
	b.see("The run is completed.")
	for name, want := range map[string]string{"draft": "\n\n", "other": "\n", "polish": "\n\n"} {
		if got := w.read("report", name+".runs"); got != want {
			t.Errorf("%s ran %d times, want %d", name, len(got), len(want))
		}
	}
	b.noFaults()
}
