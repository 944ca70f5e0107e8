package planlint_test

import (
	"strings"
	"testing"

	"pawl/internal/planfile"
	"pawl/internal/planlint"
)

func TestVariables(t *testing.T) {
	t.Parallel()
	const text = `name: p
params: {pause: {type: int, default: 1}, day: {type: string, default: x}}
steps:
  - id: a
    run: sleep $PAWL_PARAM_pause; echo $PAWL_PARAM_DAY $PAWL_PARAM_pause "${PAWL_ITM:-}"
    undo: echo $PAWL_PARAM_TOWN $PAWL_OWN_THING $PAWL_MATRIX_OS
    accept: {small: test $PAWL_item = a}
  - {id: own, run: 'PAWL_ITM=3; echo $PAWL_ITM $PAWL_KEY'}
  - {id: other, shell: python, run: "print('$PAWL_ITM')"}
  - {id: each, foreach: {items: [a]}, run: 'echo $PAWL_ITEM'}
  - {id: single, run: 'echo ${PAWL_ITEM:-none} $PAWL_ITEM_ID $PAWL_ITEM_ID'}
on_failure: {run: 'echo $PAWL_RUN_WY'}
`
	plan, file, err := planfile.ReadPositions("p", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"p:5:16: run: no parameter sets $PAWL_PARAM_pause; did you mean $PAWL_PARAM_PAUSE?",
		"p:5:75: run: pawl sets no variable $PAWL_ITM; did you mean $PAWL_ITEM?",
		"p:6:16: undo: no parameter sets $PAWL_PARAM_TOWN; add the parameter to params",
		"p:7:26: check small: pawl sets no variable $PAWL_item; did you mean $PAWL_ITEM?",
		"p:11:48: run: pawl sets $PAWL_ITEM_ID only in steps with foreach",
		"on_failure: pawl sets no variable $PAWL_RUN_WY; did you mean $PAWL_RUN_WHY?",
	}
	got := strings.Split(planlint.Variables("p", plan, file).Error(), "\n")
	if len(got) != len(want) {
		t.Fatalf("got\n%s", strings.Join(got, "\n"))
	}
	for i := range want {
		if !strings.HasSuffix(got[i], want[i]) {
			t.Errorf("got %q, want %q", got[i], want[i])
		}
	}
}
