package runs

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/journal"
	"pawl/internal/outputs"
)

// ListValues reads the current item list of a foreach step.
func ListValues(root string, step *pawl.Step) ([]string, error) {
	values, err := rawValues(root, step.Foreach)
	if err != nil {
		return nil, fmt.Errorf("item list: %w", err)
	}
	if err := checkValues(values); err != nil {
		return nil, err
	}
	if len(values) == 0 && step.Foreach.Empty == pawl.EmptyFails {
		return nil, fmt.Errorf("item list: %s, and the plan sets empty: fail", step.Foreach.NoItems())
	}
	return values, nil
}

// checkValues fails for values that are too long or not UTF-8, and for values with the same id.
func checkValues(values []string) error {
	lines := map[pawl.ItemID]int{}
	for i, v := range values {
		if len(v) > pawl.MaxItemValue {
			return fmt.Errorf("item list: value %d has %d bytes; the maximum is %d", i+1, len(v), pawl.MaxItemValue)
		}
		if !utf8.ValidString(v) {
			return fmt.Errorf("item list: value %d, %q, is not UTF-8", i+1, v)
		}
		id := pawl.ItemIDOf(v)
		if first, twice := lines[id]; twice {
			return fmt.Errorf("item list: value %d, %q, is a duplicate of value %d; values must be unique", i+1, v, first)
		}
		lines[id] = i + 1
	}
	return nil
}

func rawValues(root string, f *pawl.Foreach) ([]string, error) {
	switch {
	case f.HasMatrix():
		return matrixValues(f), nil
	case f.Files != "":
		return outputs.Matches(root, f.Files)
	case f.Lines == "":
		return f.Items, nil
	}
	data, err := outputs.Read(root, f.Lines, disk.ViewLimit)
	if _, outside := errors.AsType[*outputs.EscapeError](err); outside {
		return nil, fmt.Errorf("%w; replace the link by a copy of that file", err)
	}
	if err != nil {
		return nil, err
	}
	return valuesIn(data), nil
}

func matrixValues(f *pawl.Foreach) []string {
	combinations := f.Combinations()
	values := make([]string, len(combinations))
	for i, c := range combinations {
		values[i] = c.Item()
	}
	return values
}

// valuesIn returns the lines of a file that are not blank.
func valuesIn(data []byte) (values []string) {
	for line := range strings.Lines(string(data)) {
		if v := strings.TrimRight(line, "\r\n"); strings.TrimSpace(v) != "" {
			values = append(values, v)
		}
	}
	return values
}

// ReadItemDone returns the event that finished an item. index is its position in the item list.
func ReadItemDone(log *journal.Log, items *pawl.ItemsState, index int) (pawl.ItemDone, error) {
	event, err := log.Event(items.Done.At(index))
	if err != nil {
		return pawl.ItemDone{}, err
	}
	payload, err := event.Payload()
	if err != nil {
		return pawl.ItemDone{}, err
	}
	done, ok := payload.(pawl.ItemDone)
	if !ok {
		return done, fmt.Errorf("event %d is %s, not item.done", event.Seq, event.Type)
	}
	return done, nil
}

// maxListed is the maximum size in bytes of the values in one step.listed event, well below the limit of a journal
// line.
const maxListed = 32 << 10

// ListPayloads returns the events that add values to a step's item list, from an index on. It splits them over as many
// events as needed. An empty list is one event.
func ListPayloads(id pawl.StepID, key pawl.Key, from int, values []string) (all []pawl.Payload) {
	for {
		n, size := 0, 0
		for n < len(values) && size < maxListed {
			size += EncodedSize(values[n]) + 1
			n++
		}
		all = append(all, pawl.StepListed{Step: id, Key: key, From: from, Items: values[:n]})
		from, values = from+n, values[n:]
		if len(values) == 0 {
			return all
		}
	}
}
