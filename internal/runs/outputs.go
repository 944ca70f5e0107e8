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
	if err := outputs.Sync(root, declared); err != nil {
		return nil, err
	}
	found, err := outputs.Hash(root, declared)
	if err == nil {
		err = CheckSize(found)
	}
	return found, err
}
