package runs

import (
	"context"
	"strings"

	"pawl"
	"pawl/internal/journal"
	"pawl/internal/lazyregexp"
	"pawl/internal/oneline"
	"pawl/internal/project"
	"pawl/internal/redact"
)

// ItemNames knows the values of a run's items, for texts that people read: an item whose value is not a valid id has a hash as its
// id. It reads the item list of a step when a text names an item of it.
type ItemNames struct {
	state *pawl.State
	list  func(*pawl.ItemsState) ([]string, error)
	steps map[pawl.StepID]namedItems
}

// namedItems are the values of a step's items whose id is a hash.
type namedItems struct {
	lists  int // how many lists there were
	values map[pawl.ItemID]string
}

// ItemNames returns the names of the run's items.
func (r *Run) ItemNames() *ItemNames {
	return NewItemNames(r.State, func(items *pawl.ItemsState) ([]string, error) { return ListedValues(r.Log, items) })
}

// OpenItemNames returns the names of the items of a run that has this state, which may be applied events to.
func OpenItemNames(p *project.Project, state *pawl.State) *ItemNames {
	return NewItemNames(state, func(items *pawl.ItemsState) ([]string, error) {
		log, err := journal.Open(p.Runs(), state.Run)
		if err != nil {
			return nil, err
		}
		defer log.Close()
		return ListedValues(log, items)
	})
}

// NamesByRun returns a function that replaces the ids of items in texts about several runs. Of a run that cannot be read, the ids stay.
func NamesByRun(ctx context.Context, p *project.Project) func(run pawl.RunID, text string) string {
	known := map[pawl.RunID]*ItemNames{}
	return func(run pawl.RunID, text string) string {
		if !hashedItem.MatchString(text) {
			return text
		}
		if _, loaded := known[run]; !loaded {
			known[run] = nil
			if state, err := LoadState(ctx, p, run); err == nil {
				known[run] = OpenItemNames(p, state)
			}
		}
		return known[run].In(text)
	}
}

// NewItemNames returns the names of the items of a run. list reads the item list of a step.
func NewItemNames(state *pawl.State, list func(*pawl.ItemsState) ([]string, error)) *ItemNames {
	return &ItemNames{state: state, list: list, steps: map[pawl.StepID]namedItems{}}
}

// hashedItem matches STEP/ID where ID may be a hash. Inside of a path it is left alone.
var hashedItem = lazyregexp.New(`(^|[^A-Za-z0-9._/-])([A-Za-z0-9._-]{1,64})/([0-9a-f]{12})($|[^A-Za-z0-9._/-])`)

// In returns a text with the values of items in place of the hashes that stand for them: step/a b.txt for step/6e36b5683f12.
func (n *ItemNames) In(text string) string {
	if n == nil || !strings.Contains(text, "/") {
		return text
	}
	return hashedItem.ReplaceAllStringFunc(text, func(found string) string {
		parts := hashedItem.FindStringSubmatch(found)
		step, id := pawl.StepID(parts[2]), pawl.ItemID(parts[3])
		return parts[1] + string(step) + "/" + n.Of(pawl.AttemptRef{Step: step, Item: id}) + parts[4]
	})
}

// maxItemName is the maximum length of an item's name in a text, in bytes.
const maxItemName = 100

// Of returns the value of an item on one line, without secrets, or, if the value is not known, its id.
func (n *ItemNames) Of(ref pawl.AttemptRef) string {
	if value := n.value(ref); value != "" {
		return oneline.Clip(oneline.Printable(redact.OfProcess().Text(value)), maxItemName)
	}
	return string(ref.Item)
}

func (n *ItemNames) value(ref pawl.AttemptRef) string {
	st := n.state.Steps[ref.Step]
	if st == nil || st.Items == nil {
		return ""
	}
	known := n.steps[ref.Step]
	if value := known.values[ref.Item]; value != "" || known.lists == len(st.Items.Lists) {
		return value
	}
	known = namedItems{lists: len(st.Items.Lists), values: map[pawl.ItemID]string{}}
	values, err := n.list(st.Items)
	if err != nil { // the id is shown
		values = nil
	}
	for _, value := range values {
		if id := pawl.ItemIDOf(value); string(id) != value {
			known.values[id] = value
		}
	}
	n.steps[ref.Step] = known
	return known.values[ref.Item]
}
