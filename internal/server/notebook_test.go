package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/project"
	"pawl/internal/tokens"
)

// cells returns a notebook with code cells that have these sources, each with a table, and its secret in the output.
func cells(secret string, sources ...string) string {
	var all []string
	for i, source := range sources {
		all = append(all, fmt.Sprintf(`{"cell_type": "code", "id": "c%d", "metadata": {}, "execution_count": 1, "source": %q, "outputs": [
			{"output_type": "stream", "name": "stdout", "text": "TOKEN=%s\n"}, {"output_type": "display_data", "metadata": {}, "data": {"text/html": "<table><td onclick=x()>1<script>x()</script></table>"}}]}`, i, source, secret))
	}
	return `{"cells": [` + strings.Join(all, ",") + `], "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3"}}, "nbformat": 4, "nbformat_minor": 5}`
}

const kernelPlan = `name: demo
steps:
- {id: ask, gate: {type: human_verify, ask: "Go?"}}
- {id: fit, needs: [ask], kernel: {file: nb/fit.ipynb}}
- {id: linked, needs: [fit], kernel: {file: nb/linked.ipynb}}
- {id: none, needs: [linked], kernel: {file: nb/fit.ipynb, out: nb/none.ipynb}}
- {id: damaged, needs: [none], kernel: {file: nb/damaged.ipynb}}
- {id: code, needs: [damaged], kernel: {code: "1"}}
`

// TestNotebook shows the notebook of a step in pages, without secrets, and follows no links out of the project.
func TestNotebook(t *testing.T) {
	t.Parallel()
	const secret = "ghp_" + "0123456789abcdefABCDEF0123456789abcd"
	w := newWorld(t, map[string]string{"plan.yaml": kernelPlan, "nb/fit.ipynb": cells(secret, "a = 1", "b = 2", "c = 3"), "nb/damaged.ipynb": `{"cells": 1, "nbformat": 4, "nbformat_minor": 5}`})
	elsewhere := filepath.Join(t.TempDir(), "x.ipynb")
	if err := errors.Join(os.WriteFile(elsewhere, []byte(cells("", "x")), 0o600), os.Symlink(elsewhere, filepath.Join(w.root, "nb/linked.ipynb"))); err != nil {
		t.Fatal(err)
	}
	w.api.Variables = func(_ context.Context, _ *project.Project, _ pawl.RunID, step pawl.StepID) ([]Variable, error) {
		return []Variable{{Name: "data", Type: "DataFrame of " + secret, Shape: "3 × 4", Bytes: 96, Hash: "abc", Saved: step == "fit"}}, nil
	}
	w.pawl(3, "run", "plan.yaml")
	steps := "/api/runs/" + string(w.run().ID) + "/steps/"
	a := w.want(200, "GET", steps+"fit/notebook?from=1&limit=1", nil)
	shown := a.body["cells"].([]any)
	cell := shown[0].(map[string]any)
	if len(shown) != 1 || a.body["total"] != 3.0 || a.body["next"] != 2.0 || a.body["file"] != "nb/fit.ipynb" || a.body["kernel"] != "Python 3" || cell["index"] != 1.0 || cell["source"] != "b = 2" {
		t.Error(a.text)
	}
	if strings.Contains(a.text, secret) || strings.Contains(a.text, "script") || !strings.Contains(a.text, `"tables":[{"body":[{"cells":[{"text":"1"}]}]}]`) {
		t.Error(a.text)
	}
	if v := a.body["variables"].([]any)[0].(map[string]any); v["name"] != "data" || v["shape"] != "3 × 4" || v["saved"] != true {
		t.Errorf("variables %v", v)
	}
	if last := w.want(200, "GET", steps+"fit/notebook?from=2", nil); last.body["next"] != nil {
		t.Error(last.text)
	}
	for path, status := range map[string]int{"ask": 404, "code": 404, "nothing": 404, "..%2f..": 404, "none": 404, "linked": 409, "damaged": 409} {
		if a := w.want(status, "GET", steps+path+"/notebook", nil); a.body["detail"] == "" {
			t.Errorf("%s: %s", path, a.text)
		}
	}
	w.want(400, "GET", steps+"fit/notebook?limit=1000", nil)
	w.want(403, "GET", steps+"fit/notebook", nil, bearer(w.token(tokens.Operate)))
	status, err := w.client().Status(t.Context(), w.run())
	if err != nil || status.Steps[1].Notebook != "nb/fit.ipynb" || status.Steps[3].Notebook != "nb/none.ipynb" || status.Steps[5].Notebook != "" {
		t.Errorf("%v: %+v", err, status.Steps)
	}
}
