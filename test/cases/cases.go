// Package cases selects the cases that a test tries. A test that crosses long lists tries a share of the combinations; with
// PAWL_ALL_CASES=1, as in `make torture`, it tries all of them.
package cases

import "os"

// AllVar is the environment variable that has tests try every case.
const AllVar = "PAWL_ALL_CASES"

// All reports whether tests try every case.
func All() bool { return os.Getenv(AllVar) != "" }

// Some returns n elements of a list for the i-th case of another one: others for each i, so that all have their turn. It returns the
// whole list if tests try every case.
func Some[T any](list []T, i, n int) []T {
	if All() || n >= len(list) {
		return list
	}
	var part []T
	for k := range n {
		part = append(part, list[(i*n+k)%len(list)])
	}
	return part
}
