package pawl_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"pawl"
	"pawl/internal/planfile"
)

// items returns the values of the items of a foreach step.
func items(t *testing.T, foreach string) []string {
	t.Helper()
	plan, err := planfile.Read("plan.yaml", []byte("name: x\nsteps: [{id: a, run: x, foreach: "+foreach+"}]"))
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	for _, c := range plan.Step("a").Foreach.Combinations() {
		values = append(values, c.Item())
	}
	return values
}

func TestCombinations(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		foreach string
		want    []string
	}{
		"order of the file": {`{matrix: {py: ["3.12", 3.10], os: [linux, mac]}}`,
			[]string{"py=3.12,os=linux", "py=3.12,os=mac", "py=3.10,os=linux", "py=3.10,os=mac"}},
		"exclude": {`{matrix: {os: [linux, mac], py: [2, 3], x: [y]}, exclude: [{os: mac, py: 2}, {py: 3, os: linux}]}`,
			[]string{"os=linux,py=2,x=y", "os=mac,py=3,x=y"}},
		"the example of GitHub's documentation": {
			`{matrix: {fruit: [apple, pear], animal: [cat, dog]}, include: [{color: green}, {color: pink, animal: cat},
			{fruit: apple, shape: circle}, {fruit: banana}, {fruit: banana, animal: cat}]}`,
			[]string{"fruit=apple,animal=cat,color=pink,shape=circle", "fruit=apple,animal=dog,color=green,shape=circle",
				"fruit=pear,animal=cat,color=pink", "fruit=pear,animal=dog,color=green", "fruit=banana", "fruit=banana,animal=cat"}},
		"the order of keys in include does not count": {`{matrix: {os: [linux], py: [3]}, include: [{py: 2, z: 1, os: mac, a: 1}]}`,
			[]string{"os=linux,py=3", "os=mac,py=2,a=1,z=1"}},
		"only include":       {`{include: [{b: 1, a: x}, {a: y}]}`, []string{"a=x,b=1", "a=y"}},
		"excluded, included": {`{matrix: {os: [linux, mac]}, exclude: [{os: mac}], include: [{os: mac, fast: true}]}`, []string{"os=linux", "os=mac,fast=true"}},
		"odd values":         {`{matrix: {a: ["", "x,y", 'say "x"', "k=v", "two words", "a\tb"]}}`, []string{`a=""`, `a="x,y"`, `a="say \"x\""`, "a=k=v", "a=two words", `a="a\tb"`}},
	} {
		if diff := cmp.Diff(c.want, items(t, c.foreach)); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// TestParseCombination: an item's value names its variables, whatever the plan says now.
func TestParseCombination(t *testing.T) {
	t.Parallel()
	for _, item := range items(t, `{matrix: {os: [linux, "", "x,y=z", 'say "x"', "=", "a\nb", "ü", "\\"], node-version: [1, ',']}}`) {
		c := pawl.ParseCombination(item)
		if c.Item() != item || len(c) != 2 {
			t.Errorf("%q is read as %v", item, c)
		}
		vars := c.Vars()
		os, _ := c.Get("os")
		if version, has := vars["PAWL_MATRIX_NODE_VERSION"]; vars["PAWL_MATRIX_OS"] != string(os) || !has || version != "1" && version != "," {
			t.Errorf("%q: %v", item, vars)
		}
	}
	for _, other := range []string{"", "a", "a=b,", `a="b"c`, "a=b,c"} {
		if c := pawl.ParseCombination(other); c != nil {
			t.Errorf("%q is read as %v", other, c)
		}
	}
}

// TestMatrixKeepsItsOrder encodes a plan.
func TestMatrixKeepsItsOrder(t *testing.T) {
	t.Parallel()
	const foreach = `{matrix: {z: [1, 2], a: [x]}, include: [{z: 3, a: 5, m: true}]}`
	plan, err := planfile.Read("plan.yaml", []byte("name: x\nsteps: [{id: a, run: x, foreach: "+foreach+"}]"))
	if err != nil {
		t.Fatal(err)
	}
	data, err := planfile.Write(plan)
	if err != nil {
		t.Fatal(err)
	}
	again, err := planfile.Read("plan.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(plan, again); diff != "" {
		t.Errorf("-read +written and read\n%s", diff)
	}
	text, err := json.Marshal(plan.Step("a").Foreach)
	if want := `{"matrix":{"z":["1","2"],"a":["x"]},"include":[{"z":"3","a":"5","m":"true"}]}`; err != nil || string(text) != want {
		t.Errorf("got %s, %v, want %s", text, err, want)
	}
	if _, err := yaml.Dump(pawl.Matrix{}); err != nil {
		t.Error(err)
	}
}

// TestMatrixPaths expands variables with digits, and those of items as before.
func TestMatrixPaths(t *testing.T) {
	t.Parallel()
	vars := map[string]string{"PAWL_ITEM": "i", "PAWL_MATRIX_PY": "p", "PAWL_MATRIX_PY2": "q"}
	for path, want := range map[string]string{
		"$PAWL_MATRIX_PY2.x": "q.x", "$PAWL_MATRIX_PY.x": "p.x", "$PAWL_MATRIX_PY23": "p23", "${PAWL_MATRIX_PY2}3": "q3", "$PAWL_ITEM2": "i2", "$PAWL_ITEM": "i",
	} {
		if got := pawl.Expand(path, vars); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
}

// TestLargestMatrix: so many combinations take little time.
func TestLargestMatrix(t *testing.T) {
	t.Parallel()
	var include []string
	for range pawl.MaxMatrixEntries {
		include = append(include, "{x: y, c: d}")
	}
	numbers := strings.TrimSuffix(strings.Repeat("v,", 1), ",")
	for i := range 99 {
		numbers += ",v" + string(rune('a'+i/10)) + string(rune('a'+i%10))
	}
	got := items(t, "{matrix: {a: ["+numbers+"], b: ["+numbers+"]}, include: ["+strings.Join(include, ",")+"]}")
	if len(got) != pawl.MaxCombinations || !slices.Contains(got, "a=v,b=vaa,c=d,x=y") {
		t.Errorf("%d items, the first is %s", len(got), got[0])
	}
}
