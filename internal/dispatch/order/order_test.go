package order_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/dispatch"
	"pawl/internal/dispatch/order"
	"pawl/internal/remote"
	"pawl/internal/snapshot"
)

func task() dispatch.Task {
	return dispatch.Task{Run: "demo-20260101-000000-abcd", Step: "train", Attempt: 1, Token: "0123", Order: strings.Repeat("0a", 32)}
}

func sample() order.Order {
	input, err := json.Marshal(snapshot.Record{Format: 1, Stamp: snapshot.Stamp{Checkpoint: "c", Kind: pawl.CheckpointStep, Run: task().Run}})
	if err != nil {
		panic(err)
	}
	return order.Order{
		Input: input,
		Run:   task().Run, AttemptRef: pawl.AttemptRef{Step: "train", Attempt: 1, Token: "0123"}, Script: "true", Dir: ".",
		Env: map[string]string{"PAWL_OUT": "out"}, Outputs: []string{"a/*"}, Secrets: []string{"HF_TOKEN"},
	}
}

func TestOrder(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*order.Order)
		ok     bool
	}{
		"as it is":         {func(*order.Order) {}, true},
		"no input":         {func(o *order.Order) { o.Input = nil }, false},
		"another's input":  {func(o *order.Order) { o.Input = bytes.Replace(o.Input, []byte("demo-"), []byte("else-"), 1) }, false},
		"another token":    {func(o *order.Order) { o.Token = "x" }, false},
		"another step":     {func(o *order.Order) { o.Step = "x" }, false},
		"another item":     {func(o *order.Order) { o.Item = "x" }, false},
		"another run":      {func(o *order.Order) { o.Run = "x-20260101-000000-abcd" }, false},
		"folder above":     {func(o *order.Order) { o.Dir = "../x" }, false},
		"absolute folder":  {func(o *order.Order) { o.Dir = "/x" }, false},
		"output above":     {func(o *order.Order) { o.Outputs = []string{"a/../../x"} }, false},
		"PAWL_OUT above":   {func(o *order.Order) { o.Env["PAWL_OUT"] = ".." }, false},
		"variable":         {func(o *order.Order) { o.Env["A=B"] = "x" }, false},
		"secret variable":  {func(o *order.Order) { o.Secrets = []string{"A B"} }, false},
		"shell without {}": {func(o *order.Order) { o.Shell = "unknown thing" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := sample()
			c.change(&o)
			data, _, err := o.Encode()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := order.ParseOrder(data, task()); (err == nil) != c.ok {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestResult(t *testing.T) {
	t.Parallel()
	r := order.Result{Run: task().Run, AttemptRef: pawl.AttemptRef{Token: "0123"}, Order: task().Order, Exit: pawl.Exit{Token: "0123"}}
	for name, change := range map[string]func(*order.Result){
		"another token":  func(r *order.Result) { r.Token = "x" },
		"another record": func(r *order.Result) { r.Exit.Token = "x" },
		"another order":  func(r *order.Result) { r.Order = "x" },
		"large file": func(r *order.Result) {
			r.Files = []order.File{{File: remote.File{Name: "out.log", Parts: []remote.Part{{Size: 1 << 40}}}}}
		},
		"": func(*order.Result) {},
	} {
		changed := r
		change(&changed)
		data, _, err := changed.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := order.ParseResult(data, task()); (err == nil) != (name == "") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzOrder: whatever an order says, its paths stay below the workspace.
func FuzzOrder(f *testing.F) {
	o := sample()
	data, _, err := o.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := order.ParseOrder(data, task())
		if err != nil {
			return
		}
		for _, p := range append(o.Outputs, o.Dir, o.Env["PAWL_OUT"]) {
			if p != "" && !filepath.IsLocal(p) {
				t.Errorf("accepted %q", p)
			}
		}
		if _, err := order.ParseResult(data, task()); err == nil {
			t.Errorf("an order is a result: %q", data)
		}
	})
}

func TestOutputKeys(t *testing.T) {
	t.Parallel()
	key := order.OutputKey("0123", pawl.OutFile, 42)
	if name, offset, ok := order.ParseOutputKey(key, "0123"); !ok || name != pawl.OutFile || offset != 42 || !remote.ValidKey(key) {
		t.Errorf("%s: %s %d %v", key, name, offset, ok)
	}
	for _, bad := range []string{"output/0123/out.log-42", "output/0124/out.log-000000000000042", "output/0123/job.json-000000000000042", "x"} {
		if _, _, ok := order.ParseOutputKey(bad, "0123"); ok {
			t.Errorf("accepted %s", bad)
		}
	}
}
