package runs

import (
	"pawl"
	"pawl/internal/outputs"
)

// DurableOutputs syncs declared outputs and then hashes them.
func DurableOutputs(root string, declared []string) (pawl.Outputs, error) {
	if len(declared) == 0 {
		return nil, nil
	}
	found, err := outputs.Durable(root, declared)
	if err == nil {
		err = CheckSize(found)
	}
	return found, err
}
