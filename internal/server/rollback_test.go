package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/tokens"
)

// TestRollback: a dry run shows what a rollback undoes; only the hash of exactly that does it. If the files change in between, nothing is
// done.
func TestRollback(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]string{"plan.yaml": `name: demo
steps:
- {id: first, run: echo 1 > a, outputs: [a]}
- {id: second, run: echo 2 > a; echo 2 > b, undo: echo undone >> ../` + "`basename $PWD`" + `-undone, outputs: [b]}
`})
	undone := w.root + "-undone"
	t.Cleanup(func() { os.Remove(undone) })
	w.pawl(0, "run", "plan.yaml")
	c, ctx, run := w.client(), t.Context(), w.run()
	to := "/api/runs/" + string(run.ID) + "/rollback"
	dry, err := c.Rollback(ctx, run, "first", "")
	if err != nil || dry.Done || !dry.DryRun || len(dry.Undos) != 1 || dry.Undos[0].Step != "second" || dry.Plan == "" || len(dry.Changes) != 2 {
		t.Fatalf("%+v, %v", dry, err)
	}
	w.want(409, "POST", to, map[string]any{}) // no checkpoint, and no interrupted rollback
	w.want(404, "POST", to, map[string]any{"checkpoint": "nothing"})
	w.want(403, "POST", to, map[string]any{"checkpoint": "first"}, bearer(w.token(tokens.Read, tokens.Approve)))
	w.want(400, "POST", to, map[string]any{"checkpoint": "first", "plan": "yes"})
	w.write("b", "mine\n")
	w.write("c", "mine\n")
	if done, err := c.Rollback(ctx, run, "first", dry.Plan); pawl.KindOf(err) != pawl.KindUsage || !strings.Contains(err.Error(), "not the one of the dry run") {
		t.Errorf("%+v, %v", done, err)
	}
	if _, err := os.Stat(undone); err == nil {
		t.Error("an undo command ran")
	}
	if dry, err = c.Rollback(ctx, run, string(dry.Checkpoint), ""); err != nil {
		t.Fatal(err)
	}
	done, err := c.Rollback(ctx, run, string(dry.Checkpoint), dry.Plan)
	if err != nil || !done.Done || done.Running || done.Run != run.ID {
		t.Errorf("%+v, %v", done, err)
	}
	if text, err := os.ReadFile(undone); string(text) != "undone\n" {
		t.Errorf("%q, %v", text, err)
	}
	if text, err := os.ReadFile(filepath.Join(w.root, "a")); string(text) != "1\n" {
		t.Errorf("%q, %v", text, err)
	}
	if p, err := c.Project(ctx, w.id); err != nil || p.Status == pawl.StatusCompleted {
		t.Errorf("%+v, %v", p, err)
	}
}
