package notebook_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/notebook"
)

// TestHistory: executions are found in the metadata of pawl, papermill and nbclient.
func TestHistory(t *testing.T) {
	t.Parallel()
	cell := func(metadata, count, outputs string) string {
		return fmt.Sprintf(`{"cell_type": "code", "metadata": {%s}, "execution_count": %s, "outputs": [%s], "source": "x"}`, metadata, count, outputs)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 500_000_000, time.UTC)
	n := read(t, of(4,
		cell(`"papermill": {"start_time": "2026-01-02T03:04:05.500000", "duration": 1.5, "status": "completed", "exception": false},
			"pawl": {"run": "r", "step": "s", "attempt": 3, "token": "t", "cellKey": "k", "interrupts": 2, "resumes": 1}`, "1", ""),
		cell(`"execution": {"iopub.status.busy": "2026-01-02T03:04:05.500000Z", "shell.execute_reply": "2026-01-02T03:04:06.500000Z"}`, "2", ""),
		cell(`"papermill": {"start_time": "2026-01-02T03:04:05.500000", "duration": null, "status": "running", "exception": null}`, "null", ""),
		cell(`"papermill": {"status": "failed"}`, "1", ""),
		cell("", "3", `{"output_type": "error", "ename": "E", "evalue": "", "traceback": []}`),
		cell("", "4", ""), cell(`"papermill": 5, "execution": [], "pawl": {"attempt": "x", "run": "r"}`, "null", ""), cell(`"tags": ["skip-execution"]`, "7", ""),
		`{"cell_type": "markdown", "metadata": {}, "source": ""}`))
	want := []notebook.Executed{
		{Index: 0, Status: notebook.Done, Started: at, Duration: 1500 * time.Millisecond, Attempts: 3, Interrupts: 2, Resumes: 1,
			Pawl: notebook.Pawl{Run: "r", Step: "s", Attempt: 3, Token: "t", CellKey: "k", Interrupts: 2, Resumes: 1}},
		{Index: 1, Status: notebook.Done, Started: at, Duration: time.Second},
		{Index: 2, Status: notebook.Executing, Started: at},
		{Index: 3, Status: notebook.Failed},
		{Index: 4, Status: notebook.Failed},
		{Index: 5, Status: notebook.Done},
		{Index: 6, Status: notebook.NotExecuted, Pawl: notebook.Pawl{Run: "r"}},
		{Index: 7, Status: notebook.Skipped},
	}
	if diff := cmp.Diff(want, n.History()); diff != "" {
		t.Error(diff)
	}
}
