package page

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"pawl/test/stories/storytest"
)

// manyProjects is the size of a large registry.
const manyProjects = 1000

// TestManyProjects: with 1,000 projects the first ones are shown within a second. The page does not wait for all of them.
func TestManyProjects(t *testing.T) {
	w := newWorld(t)
	w.write("project-0000", "plan.yaml", "name: small\nsteps:\n  - {id: only, run: \":\"}\n")
	var all sync.WaitGroup
	tickets := make(chan struct{}, 4)
	for i := range manyProjects {
		name := fmt.Sprintf("project-%04d", i)
		if err := os.MkdirAll(filepath.Join(w.dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		tickets <- struct{}{}
		all.Go(func() {
			defer func() { <-tickets }()
			cmd := exec.Command(storytest.Pawl(t), "run", filepath.Join(w.dir, "project-0000", "plan.yaml"))
			cmd.Dir, cmd.Env = filepath.Join(w.dir, name), w.env
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	all.Wait()
	w.serve()
	b := newTab(t, newBrowser(t), w.url)
	b.before(`new MutationObserver(() => { if (!window.firstRows && document.querySelectorAll("tbody tr").length >= 50) requestAnimationFrame(() => window.firstRows ??= performance.now()) }).observe(document, {childList: true, subtree: true})`)
	b.logIn(w.login())
	b.see("project-")
	took := b.best(w.url, "firstRows")
	other := newTab(t, newBrowser(t), w.url)
	other.before(`new MutationObserver(() => { if (!window.firstText && document.querySelector("h1")) requestAnimationFrame(() => window.firstText ??= performance.now()) }).observe(document, {childList: true, subtree: true})`)
	empty := other.best(w.url, "firstText") // without a login, it reads no projects
	api := b.answers("api/session", "api/projects?limit=50")
	t.Logf("the first 50 of %d projects are shown after %v, the page without projects after %v; the server answers within %v", manyProjects, took, empty, api)
	if took > max(time.Second, 2*(empty+api)) { // the machine may be busy
		t.Errorf("the first projects are shown after %v, the page without projects after %v; the server answers within %v", took, empty, api)
	}
	b.click("Select")
	b.click("Select all projects of this filter")
	b.click("Pause…")
	b.see(fmt.Sprintf("Possible in 0 of %d,000 projects.", manyProjects/1000))
	b.see("and 800 other projects")
	b.see("It is not possible in any of these projects.")
	b.click("Cancel")
	b.click("Clear")
	b.wait(`scrollTo(0, 1e9), document.querySelectorAll("tbody tr").length === %d`, manyProjects)
	b.noFaults()
}

// answers returns how long the server takes for some requests, one after the other.
func (b *tab) answers(paths ...string) (total time.Duration) {
	b.t.Helper()
	for _, path := range paths {
		took := value[float64](b, fmt.Sprintf(`(async () => { const begin = performance.now(); await (await fetch(%q)).text(); return performance.now() - begin })()`, path))
		total += time.Duration(took * float64(time.Millisecond))
	}
	return total
}

// best loads a page several times, and returns the shortest time until a script has set a variable of the window to the time.
func (b *tab) best(url, variable string) (best time.Duration) {
	b.t.Helper()
	for range 5 {
		b.do(chromedp.Navigate("about:blank"))
		b.do(chromedp.Navigate(url))
		b.wait("window.%s", variable)
		took := time.Duration(value[float64](b, variable) * float64(time.Millisecond))
		if best == 0 || took < best {
			best = took
		}
	}
	return best
}
