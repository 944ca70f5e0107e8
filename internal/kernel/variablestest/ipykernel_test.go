package variablestest

import "testing"

func TestExactInIPython(t *testing.T) {
	t.Parallel()
	RunExact(t, Exact, "ipykernel")
}

func TestUnsaveableInIPython(t *testing.T) {
	t.Parallel()
	RunUnsaveable(t, Unsaveable, "ipykernel")
}

func TestLibrariesInIPython(t *testing.T) {
	t.Parallel()
	RunExact(t, Libraries, "ipykernel")
}
