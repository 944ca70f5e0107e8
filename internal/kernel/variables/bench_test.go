package variables_test

import (
	"testing"
	"time"

	"pawl/internal/kernel/variables"
	"pawl/internal/kernel/variablestest"
)

// The time that a checkpoint of 20 small variables and one of 8 MB adds to a cell, until the cell counts as finished.
func BenchmarkSave(b *testing.B) {
	s, k := variablestest.NewStore(b), variablestest.Start(b)
	k.Run("globals().update({'v%d' % i: [i] * i for i in range(20)}); large = bytes(8 << 20); n = 0")
	for b.Loop() {
		b.StopTimer()
		k.Run("n += 1")
		b.StartTimer()
		saving, err := s.SaveCell("one", variables.Limits{}, time.Now())
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.Accept(b.Context(), saving, k.Run(saving.Code)); err != nil {
			b.Fatal(err)
		}
	}
}
