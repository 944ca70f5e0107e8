package page

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// cell is a code cell of a notebook.
func cell(id, source string, metadata map[string]any, outputs ...any) map[string]any {
	if metadata == nil {
		metadata = map[string]any{}
	}
	return map[string]any{"cell_type": "code", "id": id, "metadata": metadata, "execution_count": 1, "source": source, "outputs": append([]any{}, outputs...)}
}

func shows(data map[string]any) any {
	return map[string]any{"output_type": "display_data", "metadata": map[string]any{}, "data": data}
}

func prints(stream, text string) any {
	return map[string]any{"output_type": "stream", "name": stream, "text": text}
}

// notebook makes a project with a run that waits before a step that executes a notebook.
func (w *world) notebook(name string, cells ...map[string]any) {
	w.t.Helper()
	text, err := json.Marshal(map[string]any{"cells": cells, "metadata": map[string]any{"kernelspec": map[string]any{"name": "python3", "display_name": "Python 3"}}, "nbformat": 4, "nbformat_minor": 5})
	if err != nil {
		w.t.Fatal(err)
	}
	w.write(name, "tides.ipynb", string(text))
	w.write(name, "plan.yaml", `name: tides
steps:
  - {id: measure, run: "echo 12 gauges"}
  - {id: ready, gate: {type: human_verify, ask: "Is the data complete?"}}
  - {id: fit, kernel: {file: tides.ipynb}}
`)
	w.pawl(3, name, "run", "plan.yaml")
}

// research makes a project with a notebook as people have it.
func (w *world) research(name string) {
	done := func(seconds float64) map[string]any {
		return map[string]any{"papermill": map[string]any{"status": "completed", "start_time": "2026-03-02T10:00:00", "duration": seconds, "exception": false}, "pawl": map[string]any{"attempt": 2, "interrupts": 1, "resumes": 1}}
	}
	w.notebook(name,
		map[string]any{"cell_type": "markdown", "id": "title", "metadata": map[string]any{}, "source": "# Tides\nHow high is the water at noon?"},
		cell("load", "levels = pd.read_csv('levels.csv')\nlevels.describe()", done(2.5), shows(map[string]any{"text/html": "<style>td {x: y}</style><table><thead><tr><th></th><th>low</th><th>high</th></tr></thead>" +
			"<tbody><tr><th>mean</th><td>0.84</td><td>3.12</td></tr><tr><th>max</th><td>1.20</td><td>4.05</td></tr></tbody></table><p>2 rows × 2 columns</p>", "text/plain": "..."})),
		cell("fit", "model = fit(levels)", done(81), prints("stderr", "100%|██████████| 400/400 [01:21<00:00]\n"), prints("stdout", "\x1b[32mconverged\x1b[0m after 400 steps\n"), shows(map[string]any{"application/json": map[string]any{"r2": 0.93}})),
		cell("plot", "plot(model)", done(0.4), shows(map[string]any{"image/png": drawing(w.t), "text/plain": "<Figure size 240x80>"})),
		cell("check", "check(model)", map[string]any{"papermill": map[string]any{"status": "failed"}}, map[string]any{"output_type": "error", "ename": "ValueError", "evalue": "level 9.9 m", "traceback": []string{"\x1b[31mValueError\x1b[0m: level 9.9 m is above the gauge"}}),
		cell("later", "save(model)", map[string]any{"tags": []string{"skip-execution"}}),
	)
}

// drawing returns a picture as a notebook has it.
func drawing(t *testing.T) string {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, 240, 80))
	for x := range 240 {
		for y := range 80 {
			img.Set(x, y, color.White)
		}
		img.Set(x, 40+int(30*float64((x%80)-40)/40), color.RGBA{26, 92, 140, 255})
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// attacks are texts that run code where they become markup.
var attacks = []string{
	`<script>window.hacked = "script"</script>`, `<img src=x onerror="window.hacked = 'image'">`, `<a href="javascript:window.hacked='link'">link</a>`,
	`<svg xmlns="http://www.w3.org/2000/svg" onload="window.hacked='svg'"><script>window.hacked='svg script'</script><rect width="9" height="9"/></svg>`,
	`<iframe srcdoc="<script>parent.hacked='frame'</script>"></iframe>`, `<table onclick="window.hacked='table'"><tr><td><script>window.hacked='cell'</script><img src=x onerror=window.hacked='cell'>7</td></tr></table>`,
	`"><body onload=window.hacked='body'>`, `<style>* {display: none}</style>`, `<form action="https://evil.example"><button>b</button></form>`, `<base href="https://evil.example/">`,
}

// hostileCells returns cells with an attack in each place.
func hostileCells() []map[string]any {
	var cells []map[string]any
	for i, text := range attacks {
		id := fmt.Sprint("attack", i)
		cells = append(cells, map[string]any{"cell_type": "markdown", "id": id, "metadata": map[string]any{}, "source": "# " + text + "\n" + text},
			cell(id+"c", text, map[string]any{"tags": []string{text}, "pawl": map[string]any{"run": text}, "papermill": map[string]any{"status": text}},
				prints("stdout", text), prints(text, "\x1b]8;;javascript:alert(1)\a"+text), shows(map[string]any{"text/html": text, "text/plain": text}), shows(map[string]any{"text/html": text}),
				shows(map[string]any{"image/svg+xml": text}), shows(map[string]any{"image/png": text, "text/plain": text}), shows(map[string]any{"application/javascript": "window.hacked='javascript'", "text/plain": text}),
				shows(map[string]any{"application/json": map[string]any{text: text}}), shows(map[string]any{"application/vnd.jupyter.widget-view+json": map[string]any{"model_id": text}}),
				map[string]any{"output_type": "error", "ename": text, "evalue": text, "traceback": []string{text}}))
	}
	return cells
}

// TestHostileNotebook: nothing of a notebook runs, and nothing of it becomes an element but tables, images and text. 10,000 cells and
// 50 MB of output do not hold up the page.
func TestHostileNotebook(t *testing.T) {
	w := newWorld(t)
	w.notebook("attacks", hostileCells()...)
	many := []map[string]any{cell("large", "print(x)", nil, prints("stdout", strings.Repeat(strings.Repeat("x", 99)+"\n", 500_000)))}
	for i := range 10_000 {
		many = append(many, cell(fmt.Sprint("c", i), fmt.Sprint("step ", i), nil, prints("stdout", "ok\n")))
	}
	w.notebook("many", many...)
	b := w.open()
	b.visit("projects/" + w.projects["attacks"] + "/notebook")
	b.see(fmt.Sprintf("0 of %d code cells executed", len(attacks)))
	b.wait(`document.querySelectorAll(".cell").length === %d`, 2*len(attacks))
	value[bool](b, `(document.querySelectorAll(".cell details").forEach((d) => (d.open = true)), [...document.querySelectorAll(".cell .image button")].forEach((x) => x.click()), true)`)
	b.wait(`document.querySelectorAll(".cell .image img").length === 1 && [...document.querySelectorAll(".cell .image img")].every((i) => i.complete)`)
	b.press("x") // an event in which a handler could run
	if hacked := value[string](b, `String(window.hacked)`); hacked != "undefined" {
		t.Errorf("the notebook ran code: %s", hacked)
	}
	found := value[[]string](b, `[...document.querySelectorAll(".cell *")].filter((e) => !["P", "SPAN", "PRE", "DIV", "H3", "DETAILS", "SUMMARY", "TABLE", "THEAD", "TBODY", "TR", "TD", "TH", "IMG", "BUTTON", "TIME"].includes(e.tagName) ||
		[...e.attributes].some((a) => a.name.startsWith("on") || !["class", "tabindex", "role", "aria-label", "aria-hidden", "src", "alt", "decoding", "colspan", "rowspan", "style", "type", "datetime", "title", "open"].includes(a.name)) ||
		(e.tagName === "IMG" && !e.src.startsWith("data:image/"))).map((e) => e.outerHTML.slice(0, 200))`)
	for _, element := range found {
		t.Errorf("the page has %s", element)
	}
	b.accessible()
	b.noFaults()

	w.write("attacks", "tides.ipynb", `{"cells": [{"cell_type": "raw", "id": "a", "metadata": {}, "source": "it was replaced"}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}`)
	w.pawl(0, "attacks", "learn", "a note is an event")
	b.see("it was replaced")

	b.visit("projects/" + w.projects["many"] + "/notebook")
	b.see("Cells 1 to 50 of 10001")
	b.see("more not shown.")
	if n := value[float64](b, `document.querySelectorAll("*").length`); n > 3_000 {
		t.Errorf("the page has %v elements", n)
	}
	b.click("Later cells")
	b.see("Cells 51 to 100 of 10001")
	b.do(chromedp.Evaluate[chromedp.Void](`location.hash = location.hash.replace(/cell=\d+/, "cell=10001")`))
	b.see("step 9999")
	b.see("Cells 10001 to 10001 of 10001")
	b.click("Earlier cells")
	b.see("Cells 9951 to 10000 of 10001")
	b.noFaults()
}
