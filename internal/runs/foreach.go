package runs

import (
	"fmt"
	"path/filepath"
	"pawl"
	"pawl/internal/disk"
	"pawl/internal/journal"
	"pawl/internal/outputs"
	"strings"
)

// maxValue is the maximum size of an item's value in bytes.
const maxValue = 4096

func ListValues(root string, step *pawl.Step) ([]string, error) {
	values, err := rawValues(root, step.Foreach)
	if err != nil {
		return nil, fmt.Errorf("item list: %w", err)
	}
	lines := map[pawl.ItemID]int{}
	for i, v := range values {
		if len(v) > maxValue {
			return nil, fmt.Errorf("item list: value %d has %d bytes; the maximum is %d", i+1, len(v), maxValue)
		}
		id := pawl.ItemIDOf(v)
		if first, twice := lines[id]; twice {
			return nil, fmt.Errorf("item list: value %d, %q, is a duplicate of value %d; values must be unique", i+1, v, first)
		}
		lines[id] = i + 1
	}
	return values, nil
}

func rawValues(root string, f *pawl.Foreach) ([]string, error) {
	switch {
	case f.Files != "":
		return outputs.Matches(root, f.Files)
	case f.Lines == "":
		return f.Items, nil
	}
	data, err := disk.ReadFile(filepath.Join(root, filepath.FromSlash(f.Lines)), disk.ViewLimit)
	if err != nil {
		return nil, err
	}
	var values []string
	for line := range strings.Lines(string(data)) {
		if v := strings.TrimRight(line, "\r\n"); strings.TrimSpace(v) != "" {
			values = append(values, v)
		}
	}
	return values, nil
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
