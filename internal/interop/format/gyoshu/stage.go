package gyoshu

import (
	"fmt"
	"strings"

	"pawl"
)

// IsStage reports whether Gyoshu accepts a stage's id: S, two digits, a verb and a noun in lower case, separated by
// underscores, such as S01_load_data.
func IsStage(id string) bool {
	_, rest, ok := stageNumber(id)
	verb, noun, both := strings.Cut(rest, "_")
	return ok && both && isWord(verb, "") && isWord(noun, "_")
}

// stageNumber splits S01_load_data into 1 and load_data.
func stageNumber(id string) (number int, rest string, ok bool) {
	if len(id) < 4 || id[0] != 'S' || id[3] != '_' || !isDigit(id[1]) || !isDigit(id[2]) {
		return 0, "", false
	}
	return int(id[1]-'0')*10 + int(id[2]-'0'), id[4:], true
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isWord(s, also string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool { return (r < 'a' || r > 'z') && !strings.ContainsRune(also, r) }) < 0
}

// NextStage returns the prefix of the id of the stage after a finished one: S03_ after S02_explore_data. It is empty after
// the 99th, since no id has three digits, and if the id has no number.
func NextStage(id string) string {
	number, _, ok := stageNumber(id)
	if !ok || number >= lastStage {
		return ""
	}
	return fmt.Sprintf("S%02d_", number+1)
}

// lastStage is the highest number of a stage.
const lastStage = 99

// stageNames returns the stage id of each step of a plan: its own if it is valid, else its index and the valid characters of
// its id. They are unique.
func stageNames(plan *pawl.Plan) map[pawl.StepID]string {
	names := map[pawl.StepID]string{}
	taken := map[string]bool{}
	for _, s := range plan.Steps() {
		if IsStage(string(s.ID)) {
			names[s.ID], taken[string(s.ID)] = string(s.ID), true
		}
	}
	for i, s := range plan.Steps() {
		if names[s.ID] != "" {
			continue
		}
		base := stageOf(i+1, string(s.ID))
		name := base
		for n := 1; taken[name]; n++ {
			name = base + "_" + letters(n)
		}
		names[s.ID], taken[name] = name, true
	}
	return names
}

// stageOf makes a stage's id from a step's index and id. Steps after the 99th share its number: their order is lost, but not
// their checkpoints.
func stageOf(place int, id string) string {
	if _, rest, ok := stageNumber(id); ok {
		id = rest
	}
	words := strings.FieldsFunc(strings.ToLower(id), func(r rune) bool { return r < 'a' || r > 'z' })
	switch len(words) {
	case 0:
		words = []string{"run", "step"}
	case 1:
		words = []string{"run", words[0]}
	}
	return fmt.Sprintf("S%02d_%s", min(place, lastStage), strings.Join(words, "_"))
}

// letters counts without digits: a, b, …, z, aa, …
func letters(n int) string {
	text := ""
	for ; n > 0; n = (n - 1) / 26 {
		text = string(rune('a'+(n-1)%26)) + text
	}
	return text
}
