package server

import (
	"net/url"
	"strings"
	"testing"

	"pawl/internal/tokens"
)

// TestShow shows a checkpoint and its files: no path leads out of it, and recognized secrets are redacted.
func TestShow(t *testing.T) {
	t.Parallel()
	const secret = "ghp_" + "0123456789abcdefABCDEF0123456789abcd"
	w := newWorld(t, map[string]string{
		"plan.yaml": "name: demo\nsteps:\n- {id: a, run: 'echo done > a.txt', outputs: [a.txt]}\n", "keys/env": "TOKEN=" + secret + "\n", "big": strings.Repeat("x", maxText+1),
	})
	w.pawl(0, "run", "plan.yaml")
	c, ctx, run := w.client(), t.Context(), w.run()
	shown, err := c.Checkpoint(ctx, run, "a", true)
	if err != nil || shown.Step != "a" || shown.Files == 0 {
		t.Errorf("%+v, %v", shown, err)
	}
	if text, err := c.File(ctx, run, "latest", "a.txt"); string(text) != "done\n" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if text, err := c.File(ctx, run, "latest", "keys/env"); !strings.HasPrefix(string(text), "TOKEN=") || strings.Contains(string(text), secret) || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	at := "/api/runs/" + string(run.ID)
	for path, status := range map[string]int{"../plan.yaml": 400, "/etc/passwd": 400, "keys/../../x": 400, "nothing": 404, "keys": 200} {
		w.want(status, "GET", at+"/file?path="+url.QueryEscape(path), nil)
	}
	if text, err := c.File(ctx, run, "latest", "big"); err == nil || !strings.Contains(err.Error(), "more than 16 MiB") {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	w.want(400, "GET", at+"/file", nil)
	w.want(404, "GET", at+"/file?path=a.txt&checkpoint=nothing", nil)
	w.want(403, "GET", at+"/file?path=a.txt", nil, bearer(w.token(tokens.Operate)))
	if why, err := c.Why(ctx, run); err != nil || len(why.Steps) != 1 {
		t.Errorf("%+v, %v", why, err)
	}
}
