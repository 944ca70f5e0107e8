package recovery

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"pawl"
)

var update = flag.Bool("update", false, "rewrite the table in the documentation")

// TestEveryCase judges all combinations that there are, and says what must hold of each.
func TestEveryCase(t *testing.T) {
	t.Parallel()
	count := 0
	hit := map[string]bool{}
	for c := range Cases() {
		count++
		v := Judge(c)
		hit[v.Rule] = true
		for _, broken := range breaches(c, v) {
			t.Errorf("%+v is %s by %s: %s", c, v.Word, v.Rule, broken)
		}
	}
	if count != 7*4*4*3*2*2*2*2 {
		t.Errorf("%d cases", count)
	}
	for _, r := range rules {
		if !hit[r.name] {
			t.Errorf("rule %s decides nothing", r.name)
		}
	}
	t.Logf("%d combinations judged by %d rules", count, len(rules))
}

// breaches says what a verdict, or a choice that it leaves to an evaluator, does wrong.
func breaches(c Case, v pawl.Verdict) (broken []string) {
	began := c.Attempt != NoAttempt && c.Attempt != NotBegun
	goesOn := c.Attempt == Live || c.Attempt == Away // the same attempt
	say := func(holds bool, what string) {
		if !holds {
			broken = append(broken, what)
		}
	}
	for _, word := range append([]pawl.VerdictWord{v.Word}, v.Open...) {
		switch word {
		case pawl.Next:
			say(c.Attempt == ExitZero || c.Attempt == Lost, "done without having run")
			say(c.SamePlace && c.SameStep, "done somewhere else, or by another definition")
			say(c.Checks != ChecksFail && c.Outputs != SomeOutputs && c.Outputs != NoOutputs, "done although something speaks against it")
			say(c.Result == NoResult || c.Result == SaysDone, "done although it said otherwise")
			say(c.Attempt == ExitZero || c.Result == SaysDone || word != v.Word, "done without having said so")
		case pawl.Restart:
			say(!began || c.Idempotent, "begun again although it must not be repeated")
			say(!began || c.SamePlace, "begun again in another place")
		case pawl.Continue:
			say(began, "gone on with what never began")
			say(goesOn || c.Idempotent, "gone on with although it must not be repeated")
			say(c.SamePlace && c.SameStep, "gone on with elsewhere, or by another definition")
		}
	}
	if began && !goesOn && c.SameStep && !c.TriesLeft {
		say(v.Word == pawl.Next || v.Word == pawl.HumanReview, "tried again although no tries are left")
	}
	if len(v.Open) > 0 {
		say(slices.Contains(v.Open, pawl.HumanReview), "an evaluator cannot leave it to a person")
		say(slices.Contains(v.Open, v.Word), "an evaluator cannot agree")
	}
	say(len(v.Reasons) > 0, "without a reason")
	return broken
}

// TestWorseIsNeverDone: what is not done with good evidence is not done with worse.
func TestWorseIsNeverDone(t *testing.T) {
	t.Parallel()
	for c := range Cases() {
		if Judge(c).Word == pawl.Next {
			continue
		}
		for _, worse := range worsened(c) {
			if Judge(worse).Word == pawl.Next {
				t.Errorf("%+v is not done, but %+v is", c, worse)
			}
		}
	}
}

func worsened(c Case) (all []Case) {
	change := func(do func(*Case)) {
		w := c
		do(&w)
		all = append(all, w)
	}
	change(func(c *Case) { c.SamePlace = false })
	change(func(c *Case) { c.SameStep = false })
	if c.Outputs == AllOutputs {
		change(func(c *Case) { c.Outputs = SomeOutputs })
		change(func(c *Case) { c.Outputs = NoOutputs })
	}
	if c.Checks == ChecksPass {
		change(func(c *Case) { c.Checks = ChecksFail })
	}
	if c.Attempt == ExitZero {
		change(func(c *Case) { c.Attempt = Lost })
		change(func(c *Case) { c.Attempt = ExitOther })
	}
	return all
}

const doc = "../../docs/recovery.md"

// TestTableInTheDocument: the documentation has the table as the code has it.
func TestTableInTheDocument(t *testing.T) {
	data, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- table: go test ./internal/recovery -update -->\n", "<!-- end -->"
	before, rest, ok := strings.Cut(string(data), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the table", doc)
	}
	want := before + begin + Markdown() + end + after
	if want == string(data) {
		return
	}
	if !*update {
		t.Fatalf("the table in %s is not that of the code: go test ./internal/recovery -update", doc)
	}
	if err := os.WriteFile(doc, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}
