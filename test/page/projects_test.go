package page

import (
	"path/filepath"

	"pawl/test/stories/storytest"
)

// completed makes a project with phases, a foreach step and colored output, whose run is completed.
func (w *world) completed(name string) {
	w.write(name, "plan.yaml", `name: shop-release
goal: Build, test and package the shop
phases:
  - name: prepare
    steps:
      - {id: fetch, run: "mkdir -p src; echo v2 > src/version; sleep 0.3", outputs: [src]}
      - {id: lint, needs: [], run: "sleep 0.2; printf '\\033[32mok\\033[0m 42 files, \\033[33m1 warning\\033[0m\\n'"}
  - name: build
    steps:
      - {id: api, needs: [], run: "echo api > api.bin", outputs: [api.bin]}
      - {id: web, needs: [], run: "sleep 0.4; echo web > web.bin", outputs: [web.bin]}
      - {id: docs, needs: [], run: "echo docs > docs.txt", outputs: [docs.txt]}
      - {id: bundle, needs: [api, web], run: "cat api.bin web.bin > bundle", outputs: [bundle]}
  - name: check
    steps:
      - id: test
        foreach: {items: [chrome, firefox, safari, edge]}
        run: |
          printf '\033[1mtesting\033[0m in %s\n' "$PAWL_ITEM"
          printf '\033[32m✓\033[0m cart adds items\n\033[32m✓\033[0m checkout charges once\n'
      - {id: package, run: "tar -cf shop.tar bundle docs.txt", outputs: [shop.tar]}
`)
	w.pawl(0, name, "run", "plan.yaml")
}

// waiting makes a project whose run waits at a gate with a diff and checks.
func (w *world) waiting(name string) {
	w.write(name, "guide.md", "# Guide\n\nInstall pawl.\nRun a plan.\n\nAsk for help in the forum.\n")
	w.write(name, "plan.yaml", `name: handbook
goal: Rewrite the guide for version 2
steps:
  - {id: outline, run: "printf '1. Install\\n2. First plan\\n' > outline.md", outputs: [outline.md]}
  - id: draft
    run: "printf '# Guide\\n\\nInstall pawl with your package manager.\\nRun a plan: pawl run plan.yaml\\nResume it after a crash: pawl resume\\n\\nAsk for help in the forum.\\n' > guide.md"
    outputs: [guide.md]
  - id: review
    gate: {type: human_verify, ask: "Is the new guide ready to publish?", expect: "Every command works as written. The tone fits the rest of the handbook.", expires: 72h}
    accept: {links: "! grep -q http: guide.md", length: "test $(wc -l < guide.md) -lt 100"}
  - {id: publish, run: "cp guide.md published.md", outputs: [published.md]}
`)
	w.pawl(3, name, "run", "plan.yaml")
}

// deciding makes a project whose run waits for a decision.
func (w *world) deciding(name string) {
	w.write(name, "plan.yaml", `name: choose-database
steps:
  - {id: measure, run: "echo 'sqlite 12 ms, postgres 9 ms'"}
  - {id: choose, gate: {type: decision, ask: "Which database do we use?", options: [sqlite, postgres], default: sqlite}}
  - {id: migrate, run: "true"}
`)
	w.pawl(3, name, "run", "plan.yaml")
}

// failed makes a project whose run failed.
func (w *world) failed(name string) {
	w.write(name, "plan.yaml", `name: invoices
steps:
  - {id: collect, run: "echo 12 orders"}
  - {id: charge, retry: {attempts: 2, backoff: 0s}, run: "printf '\\033[31merror:\\033[0m the bank does not answer\\n' >&2; exit 7"}
  - {id: mail, run: "true"}
`)
	w.pawl(4, name, "run", "plan.yaml")
}

// crashed makes a project whose paused run has crashed attempts: one can be repeated, one must not.
func (w *world) crashed(name string) {
	w.write(name, "plan.yaml", `name: nightly-import
goal: Import the orders of yesterday
parallel: 2
steps:
  - {id: extract, run: "echo 3 > rows", outputs: [rows]}
  - {id: transform, run: "touch transform.begun; sleep 600"}
  - {id: notify, needs: [extract], idempotent: false, run: "touch notify.begun; sleep 600"}
  - {id: load, needs: [transform, notify], run: "true"}
`)
	w.background(name)
	w.appears(name, "transform.begun")
	w.appears(name, "notify.begun")
	w.pawl(0, name, "pause")
	w.crash(name)
}

// active makes a project whose run is active: a step writes a line from time to time, until the file stop exists.
func (w *world) active(name string) {
	w.write(name, "plan.yaml", `name: website
steps:
  - {id: checkout, run: "echo main > branch", outputs: [branch]}
  - id: render
    run: |
      n=0
      until test -e stop; do
        n=$((n + 1))
        printf '\033[36m[%03d]\033[0m rendered page %d\n' "$n" "$n"
        sleep 0.2
      done
  - {id: upload, run: "echo done"}
`)
	w.background(name)
}

// agent makes a project in which a coding agent was killed during a command.
func (w *world) agent(name string) {
	w.write(name, "script", "start startup\nprompt Make the tests of the parser faster\nrun echo fast > parser.txt\nrun touch begun; echo half > half.txt; sleep 600\n")
	w.pawl(0, name, "init")
	cmd := w.command(name, filepath.Join(filepath.Dir(storytest.Pawl(w.t)), storytest.FakeAgent), "claude", "5f0c", filepath.Join(w.dir, name, "script"))
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.appears(name, "begun")
	w.crash(name)
	_ = cmd.Wait() // it was killed
}

// background starts a run in the background.
func (w *world) background(name string) {
	w.t.Helper()
	w.pawl(0, name, "run", "--background", "plan.yaml")
}
