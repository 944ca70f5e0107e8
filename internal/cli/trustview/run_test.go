package trustview

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/journal"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// TestAdoptionOfADurableRun: a person sees the results that the program would get, in the order of the run, and how to go on.
func TestAdoptionOfADurableRun(t *testing.T) {
	t.Setenv("PAWL_STATE", t.TempDir())
	p, err := project.Init(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	const run = "letter-20261128-120000-abcd"
	if err := os.MkdirAll(p.Runs(), 0o700); err != nil {
		t.Fatal(err)
	}
	log, err := journal.Create(p.Runs(), run)
	if err != nil {
		t.Fatal(err)
	}
	for _, payload := range []pawl.Payload{
		pawl.RunCreated{Format: pawl.Format, Run: run, Project: p.ID, Kind: pawl.DurableRun, Name: "letter"},
		pawl.StepDone{Step: "write", Result: json.RawMessage(`"Dear Ada"`)},
		pawl.StepDone{Step: "post", Blob: "1234"},
	} {
		e, err := pawl.NewEvent(pawl.Author{Kind: pawl.ByEngine}, payload)
		if err == nil {
			_, err = log.Append(t.Context(), 0, e)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := runs.Load(t.Context(), p, run)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Log.Close()
	shown, err := AdoptionOf(p, r)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	shown.Print(&out)
	const want = `run letter-20261128-120000-abcd comes from elsewhere: it was imported, copied or pulled
  write (done)
    result
    > "Dear Ada"
  post (done)
    result
    > in the file blobs/1234 of the run
If you adopt it, its program takes 2 steps as finished, with these results, and accepts the answers.
`
	if err := shown.PrintNext(&out); err != nil || out.String() != want+runs.StartProgram+"\n" {
		t.Errorf("error %v, shown:\n%s", err, out.String())
	}
}
