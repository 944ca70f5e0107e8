package page

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"pawl/test/stories/storytest"
)

const patience = time.Minute

// newBrowser starts a browser with a profile of its own.
func newBrowser(t *testing.T) context.Context {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.UserDataDir(t.TempDir()), chromedp.WindowSize(1200, 800),
		chromedp.Flag("force-color-profile", "srgb"), chromedp.Flag("hide-scrollbars", true), chromedp.Flag("lang", "en-US"),
		chromedp.Env("TZ=Europe/Berlin", "LANGUAGE=en", "LANG=C.UTF-8"))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	allocator, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	browser, cancel := chromedp.NewContext(allocator)
	t.Cleanup(cancel)
	if err := chromedp.Do(browser); err != nil {
		t.Fatalf("start Chromium: %v; make test-server installs it", err)
	}
	return browser
}

// tab is a tab of a browser that shows the page.
type tab struct {
	t   *testing.T
	ctx context.Context
	url string
}

// watch has a document record what its policy refused, and what went wrong in its scripts.
const watch = `window.faults = [];
addEventListener("securitypolicyviolation", (e) => faults.push("policy: " + e.violatedDirective + " " + e.blockedURI + " " + e.sample));
addEventListener("error", (e) => faults.push("error: " + (e.error?.stack ?? e.message)));
addEventListener("unhandledrejection", (e) => faults.push("promise: " + (e.reason?.stack ?? e.reason)));`

// newTab opens a tab. At the end of the test, nothing may have gone wrong in it.
func newTab(t *testing.T, browser context.Context, url string) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	b := &tab{t: t, ctx: ctx, url: url}
	if err := chromedp.Do(ctx); err != nil { // the tab lives as long as the context of its first action
		t.Fatal(err)
	}
	b.do(chromedp.EmulateViewport(1200, 800))
	b.before(watch)
	return b
}

// before has each new document run a script before its own.
func (b *tab) before(script string) {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script}); err != nil {
		b.t.Fatal(err)
	}
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// value evaluates JavaScript, and waits for a promise.
func value[T any](b *tab, script string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%.200s: %v", script, err)
	}
	return v
}

// wait waits until an expression is true.
func (b *tab) wait(format string, args ...any) {
	b.t.Helper()
	script := "!!(" + fmt.Sprintf(format, args...) + ")"
	if !storytest.Until(func() bool { return value[bool](b, script) }) {
		b.t.Fatalf("never true: %s\nat %s:\n%s", script, value[string](b, "location.href"), value[string](b, "document.body.innerText"))
	}
}

// see waits until the page shows a text, apart from white space.
func (b *tab) see(text string) {
	b.t.Helper()
	b.wait(`(document.querySelector("dialog") ?? document.body).innerText.replace(/\s+/g, " ").includes(%q)`, text)
}

// gone waits until the page does not show a text.
func (b *tab) gone(text string) {
	b.t.Helper()
	b.wait(`!document.body.innerText.replace(/\s+/g, " ").includes(%q)`, text)
}

// logIn follows a one-time link.
func (b *tab) logIn(link string) {
	b.t.Helper()
	b.do(chromedp.Navigate(link))
	b.wait(`document.querySelector("header.top")`)
}

// open starts the server, and logs a browser in. args are those of `pawl serve open`.
func (w *world) open(args ...string) *tab {
	w.t.Helper()
	w.serve()
	b := newTab(w.t, newBrowser(w.t), w.url)
	b.logIn(w.login(args...))
	return b
}

// visit goes to a place of the page.
func (b *tab) visit(place string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.url + "/#/" + place))
	b.wait(`document.querySelector("main")`)
}

// named is the expression of the visible buttons, links and fields with a name, in the open window if there is one.
func named(name string) string {
	return fmt.Sprintf(`[...(document.querySelector("dialog") ?? document).querySelectorAll("button, a, input, select, textarea")].filter((e) =>
		(e.getAttribute("aria-label") ?? (e.labels?.length ? e.labels[0].innerText : e.textContent)).replace(/\s+/g, " ").trim() === %q && e.checkVisibility())`, name)
}

// click clicks on a button or link with a name.
func (b *tab) click(name string) {
	b.t.Helper()
	b.wait("%s.length > 0", named(name))
	value[bool](b, named(name)+"[0].click(), true")
}

// clickOn clicks on the first element with a selector.
func (b *tab) clickOn(selector string) {
	b.t.Helper()
	b.wait("document.querySelector(%q)", selector)
	value[bool](b, fmt.Sprintf("document.querySelector(%q).click(), true", selector))
}

// fill types a text into the field with a label.
func (b *tab) fill(label, text string) {
	b.t.Helper()
	b.wait("%s.length > 0", named(label))
	value[bool](b, named(label)+"[0].focus(), true")
	b.do(chromedp.KeyEvent(text))
}

// set replaces the text of the field with a label.
func (b *tab) set(label, text string) {
	b.t.Helper()
	b.wait("%s.length > 0", named(label))
	value[bool](b, fmt.Sprintf(`((e) => (e.value = %q, e.dispatchEvent(new Event("input", {bubbles: true}))))(%s[0])`, text, named(label)))
}

// choose chooses an option of the field with a label.
func (b *tab) choose(label, option string) {
	b.t.Helper()
	b.wait("%s.length > 0", named(label))
	value[bool](b, fmt.Sprintf(`((e) => (e.value = %q, e.dispatchEvent(new Event("change", {bubbles: true}))))(%s[0])`, option, named(label)))
}

// press presses a key.
func (b *tab) press(keys string) {
	b.t.Helper()
	b.do(chromedp.KeyEvent(keys))
}

// stroke presses a key that the page may keep from being typed.
func (b *tab) stroke(key string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	for _, kind := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeKeyDown, input.DispatchKeyEventTypeKeyUp} {
		params := input.DispatchKeyEventParams{Type: kind, Key: key}
		if kind == input.DispatchKeyEventTypeKeyDown {
			params.Text = key
		}
		if _, err := chromedp.Call(ctx, input.DispatchKeyEvent, params); err != nil {
			b.t.Fatal(err)
		}
	}
}

// tabTo presses the tab key until an element with a name has the focus.
func (b *tab) tabTo(name string) {
	b.t.Helper()
	for range 80 {
		b.press(kb.Tab)
		if value[bool](b, named(name)+".includes(document.activeElement)") {
			return
		}
	}
	b.t.Fatalf("the tab key does not reach %q", name)
}

// colours sets the color scheme of the system.
func (b *tab) colours(scheme string) {
	b.t.Helper()
	params := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, params); err != nil {
		b.t.Fatal(err)
	}
}

// noFaults checks that the browser refused nothing, and that no script failed.
func (b *tab) noFaults() {
	b.t.Helper()
	for _, fault := range value[[]string](b, "window.faults") {
		b.t.Errorf("%s: %s", value[string](b, "location.hash"), fault)
	}
}

// fault is a violation that axe found.
type fault struct {
	ID    string `json:"id"`
	Help  string `json:"help"`
	Nodes []struct {
		HTML    string `json:"html"`
		Summary string `json:"failureSummary"`
	} `json:"nodes"`
}

// accessible checks the view with axe.
func (b *tab) accessible() {
	b.t.Helper()
	source, err := os.ReadFile(filepath.Join(packages(b.t), "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		b.t.Fatal(err)
	}
	b.do(chromedp.Evaluate[chromedp.Void](string(source)))
	found := value[string](b, `axe.run(document, {resultTypes: ["violations"]}).then((r) => JSON.stringify(r.violations))`)
	var faults []fault
	if err := json.Unmarshal([]byte(found), &faults); err != nil {
		b.t.Fatal(err)
	}
	for _, f := range faults {
		for _, n := range f.Nodes {
			b.t.Errorf("axe: %s: %s: %s\n%s\n%s", value[string](b, "location.hash"), f.ID, f.Help, n.HTML, n.Summary)
		}
	}
}

// phone is the width of a narrow phone.
const phone = 360

// fits checks that the view does not scroll to the side on a phone.
func (b *tab) fits() {
	b.t.Helper()
	if width := value[float64](b, "document.documentElement.scrollWidth"); width > phone {
		wide := value[[]string](b, fmt.Sprintf(`[...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > %d && !e.closest(".scroll, .rows, .tabs, pre, dialog")).map((e) => e.outerHTML.slice(0, 120)).slice(0, 5)`, phone))
		b.t.Errorf("%s: %v pixels wide on a phone of %d: %s", value[string](b, "location.hash"), width, phone, strings.Join(wide, "\n"))
	}
}

// shot takes a picture. With -update it is put into the documents, if docs/server.md shows it.
func (b *tab) shot(name string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	data, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Fatal(err)
	}
	if len(data) < 4<<10 {
		b.t.Errorf("the picture %s has only %d bytes", name, len(data))
	}
	if !storytest.Update() {
		return
	}
	docs := filepath.Join(root(b.t), "docs")
	text, err := os.ReadFile(filepath.Join(docs, "server.md"))
	if err != nil {
		b.t.Fatal(err)
	}
	if !strings.Contains(string(text), "(img/"+name+".png)") {
		return
	}
	folder := filepath.Join(docs, "img")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, name+".png"), data, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func root(t *testing.T) string {
	t.Helper()
	root, err := storytest.Root()
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// packages returns the folder with the packages of npm. `make page` makes it.
func packages(t *testing.T) string {
	t.Helper()
	return filepath.Join(root(t), "bin", "_page")
}
