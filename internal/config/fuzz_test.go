package config

import (
	"testing"

	"pawl"
)

// FuzzRead reads anything as config.yaml, of a project and of the user. Invalid settings are an error of the user.
func FuzzRead(f *testing.F) {
	f.Add([]byte("snapshots:\n  keep: 3\n"))
	f.Add([]byte("evaluator: {command: [sh, -c, x]}\n"))
	f.Add([]byte("a: &a [*a]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, own := range []bool{false, true} {
			if _, err := parse("config.yaml", data, own); err != nil && pawl.KindOf(err) != pawl.KindUsage {
				t.Error(err)
			}
		}
	})
}
