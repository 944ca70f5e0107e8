package durable_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"pawl/durable"
)

// TestContinuesAfter: a function that continues after a step has failed gets the same error when it is resumed, also if what it calls next
// cannot be recorded, and if the step panicked.
func TestContinuesAfter(t *testing.T) {
	t.Parallel()
	for name, step := range map[string]func(context.Context) error{
		"an error, and a question that is too large": func(ctx context.Context) error {
			_, err := durable.Step(ctx, "first", fails)
			if _, failed := durable.Ask(ctx, "ask", durable.Question{Text: strings.Repeat("x", 100_000)}); failed == nil {
				t.Error("asked")
			}
			return err
		},
		"a panic": func(ctx context.Context) (err error) {
			defer func() {
				if p := recover(); p != nil {
					err = errBroken
				}
			}()
			_, err = durable.Step(ctx, "first", func(context.Context) (int, error) { panic("broken") })
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, end := range []error{errors.New("later"), nil} {
				err := durable.Run(t.Context(), dir, "test", func(ctx context.Context) error {
					if err := step(ctx); err == nil || errors.Is(err, durable.ErrNondeterministic) {
						t.Errorf("the first step: %v", err)
					}
					if _, err := durable.Step(ctx, "second", func(context.Context) (int, error) { return 1, nil }); err != nil {
						return err
					}
					return end
				})
				if err != end {
					t.Errorf("Run: %v, want %v", err, end)
				}
			}
			fsck(t, dir)
		})
	}
}
