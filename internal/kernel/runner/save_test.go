package runner

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"pawl/internal/kernel"
)

// dyingKernel is a kernel that is killed while it saves its variables. That it does not answer is noticed before its death is.
type dyingKernel struct {
	kernel.Kernel
	lost error // what Execute returns; nil: an ending
	done chan struct{}
}

func (k *dyingKernel) Info() kernel.Info     { return kernel.Info{PID: 1} }
func (k *dyingKernel) Done() <-chan struct{} { return k.done }
func (k *dyingKernel) Death() kernel.Death   { return kernel.Death{Why: "killed by SIGKILL"} }

func (*dyingKernel) Close(context.Context) error { return nil }

func (k *dyingKernel) Execute(context.Context, kernel.Cell) (kernel.Ending, error) {
	time.AfterFunc(time.Second, func() { close(k.done) })
	return kernel.Ending{Status: kernel.Lost, Why: "killed by SIGKILL"}, k.lost
}

// savingSaver executes code to save.
type savingSaver struct{ stubSaver }

func (*savingSaver) Save(ctx context.Context, in Evaluator, _ Key) (string, string, error) {
	_, err := in.Run(ctx, "save")
	return "", "", err
}

// TestKilledWhileSaving: a cell whose kernel is killed before the variables are saved is not finished.
func TestKilledWhileSaving(t *testing.T) {
	t.Parallel()
	for _, lost := range []error{nil, errors.New("broken pipe")} {
		synctest.Test(t, func(t *testing.T) {
			h := &host{cfg: Config{Saver: &savingSaver{}}, captured: map[kernel.CellID][]kernel.Message{}}
			end := &End{Key: "a", Ending: kernel.Ending{Status: kernel.OK}}
			h.save(t.Context(), &dyingKernel{lost: lost, done: make(chan struct{})}, &Begin{Step: "s"}, end)
			if end.Status != kernel.Lost || end.Key != "" || end.Death == nil {
				t.Errorf("%v: %+v", lost, end)
			}
		})
	}
}
