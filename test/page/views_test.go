package page

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestViews looks at each view: axe finds nothing, the policy of the page is never violated, no script fails, and at the width of a
// phone nothing scrolls to the side. It takes the pictures of docs/server.md.
func TestViews(t *testing.T) {
	w := newWorld(t)
	w.completed("shop")
	w.waiting("handbook")
	w.deciding("inventory")
	w.failed("invoices")
	w.crashed("orders")
	w.agent("parser")
	w.active("website")
	w.research("tides")
	b := w.open()
	b.see("nightly-import")
	for _, v := range w.views() {
		t.Run(v.picture, func(t *testing.T) {
			b.t = t
			v.show(b)
			b.accessible()
			b.shot(v.picture)
			b.colours("dark")
			b.accessible()
			if v.dark {
				b.shot(v.picture + "-dark")
			}
			b.colours("light")
			b.do(chromedp.EmulateViewport(phone, 740, chromedp.EmulateMobile))
			b.fits()
			b.accessible()
			if v.phone {
				b.shot(v.picture + "-phone")
			}
			b.do(chromedp.EmulateViewport(1200, 800))
			b.press(kb.Escape)
			b.noFaults()
		})
	}
}

// view is a view of the page.
type view struct {
	picture     string
	place       string
	text        string // it shows this
	click       string // on the first element with this selector, to show it
	dark, phone bool   // pictures in dark colors, and of a phone, are in the documents too
}

func (v view) show(b *tab) {
	b.t.Helper()
	b.visit(v.place)
	if v.click != "" {
		b.clickOn(v.click)
	}
	b.see(v.text)
}

func (w *world) views() []view {
	of := func(name string) string { return "projects/" + w.projects[name] }
	return []view{
		{picture: "projects", text: "nightly-import", phone: true},
		{picture: "gates", place: "gates", text: "Which database do we use?"},
		{picture: "run", place: of("shop") + "?step=web", text: "Step web", dark: true, phone: true},
		{picture: "active", place: of("website"), text: "render"},
		{picture: "timeline", place: of("orders") + "/timeline", text: "transform started"},
		{picture: "output", place: of("website") + "/output?step=render", text: "rendered page", dark: true},
		{picture: "notebook", place: of("tides") + "/notebook", text: "is above the gauge"},
		{picture: "gate", place: of("handbook"), click: ".gates .button", text: "Every command works as written."},
		{picture: "resume", place: of("orders"), text: "Resume will:"},
		{picture: "recovery", place: of("orders") + "/recovery", text: "needs your decision"},
		{picture: "checkpoints", place: of("handbook") + "/checkpoints", text: "lines added", click: "tr:last-child td.verbs button"},
		{picture: "agents", place: of("parser"), text: "In doubt"},
		{picture: "failed", place: of("invoices") + "?step=charge", text: "Step charge"},
		{picture: "runs", place: of("shop") + "/history", text: "Runs of this project"},
		{picture: "settings", click: "[aria-label=Settings]", text: "Time zone"},
		{picture: "help", click: "[aria-label=Help]", text: "this help"},
	}
}
