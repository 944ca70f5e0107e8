package durable_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"pawl/durable"
)

type page struct {
	Title string
	Words int
}

// tempProject returns a folder for an example, and what removes it.
func tempProject() (dir string, remove func()) {
	dir, err := os.MkdirTemp("", "durable")
	if err != nil {
		panic(err)
	}
	return dir, func() { os.RemoveAll(dir) }
}

// A run whose function returned an error resumes at the first step that was not finished.
func Example() {
	dir, remove := tempProject()
	defer remove()

	online := false
	publish := func(ctx context.Context) error {
		p, err := durable.Step(ctx, "fetch the page", func(context.Context) (page, error) {
			fmt.Println("fetching")
			return page{Title: "Ratchets", Words: 1200}, nil
		})
		if err != nil {
			return err
		}
		_, err = durable.Step(ctx, "publish", func(context.Context) (string, error) {
			if !online {
				return "", errors.New("no network")
			}
			fmt.Printf("publishing %s, %d words\n", p.Title, p.Words)
			return "https://example.com/ratchets", nil
		})
		return err
	}

	ctx := context.Background()
	fmt.Println("first try: ", durable.Run(ctx, dir, "publish the page", publish))
	online = true
	fmt.Println("second try:", durable.Run(ctx, dir, "publish the page", publish))

	// Output:
	// fetching
	// first try:  no network
	// publishing Ratchets, 1200 words
	// second try: <nil>
}

// A workflow has an input and a result. The name of a run is its idempotency key: a finished run returns its recorded result.
func ExampleRegister() {
	dir, remove := tempProject()
	defer remove()
	engine, err := durable.Open(dir)
	if err != nil {
		panic(err)
	}
	defer engine.Close()
	ctx := context.Background()

	double := durable.Register(engine, "double", func(ctx context.Context, n int) (int, error) {
		return durable.Step(ctx, "multiply", func(context.Context) (int, error) {
			fmt.Println("multiplying", n)
			return 2 * n, nil
		})
	})
	fmt.Println(double.Run(ctx, "of 21", 21))
	fmt.Println(double.Run(ctx, "of 21", 21))

	// Output:
	// multiplying 21
	// 42 <nil>
	// 42 <nil>
}

// Recover resumes the runs that a crash interrupted, here the end of an engine.
func ExampleEngine_Recover() {
	dir, remove := tempProject()
	defer remove()
	ctx := context.Background()
	open := func() (*durable.Engine, *durable.Workflow[string, string]) {
		engine, err := durable.Open(dir)
		if err != nil {
			panic(err)
		}
		return engine, durable.Register(engine, "greet", func(ctx context.Context, name string) (string, error) {
			greeting, err := durable.Await[string](ctx, "greeting", 0)
			return greeting + ", " + name, err
		})
	}

	engine, greet := open()
	run := greet.Start(ctx, "greet Ada", "Ada")
	engine.Close()
	_, err := run.Wait(ctx)
	fmt.Println(errors.Is(err, durable.ErrClosed))

	engine, greet = open()
	defer engine.Close()
	interrupted, err := engine.Recover(ctx)
	fmt.Println(len(interrupted), interrupted[0].Name, err)
	if err := engine.Signal(ctx, "greet Ada", "greeting", "Hello"); err != nil {
		panic(err)
	}
	fmt.Println(greet.Run(ctx, "greet Ada", "Ada"))

	// Output:
	// true
	// 1 greet Ada <nil>
	// Hello, Ada <nil>
}

// Each call of Await gets one signal. A signal may come before the call, also from another process with the function Signal.
func ExampleAwait() {
	dir, remove := tempProject()
	defer remove()
	ctx := context.Background()

	err := durable.Run(ctx, dir, "order 7", func(ctx context.Context) error {
		if err := durable.Signal(ctx, dir, "order 7", "paid", 42); err != nil {
			return err
		}
		amount, err := durable.Await[int](ctx, "paid", time.Hour)
		if err != nil {
			return err
		}
		fmt.Println("paid", amount)
		_, err = durable.Await[int](ctx, "shipped", time.Millisecond)
		return err
	})
	fmt.Println(errors.Is(err, durable.ErrTimeout))

	// Output:
	// paid 42
	// true
}

// The pauses between attempts are recorded: after a crash, the run waits for the rest of the pause.
func ExampleRetry() {
	dir, remove := tempProject()
	defer remove()

	attempts := 0
	err := durable.Run(context.Background(), dir, "download", func(ctx context.Context) error {
		_, err := durable.Step(ctx, "fetch", func(context.Context) (string, error) {
			if attempts++; attempts < 3 {
				return "", fmt.Errorf("attempt %d failed", attempts)
			}
			return "content", nil
		}, durable.Retry{Attempts: 5, Pause: time.Millisecond})
		return err
	})
	fmt.Println(attempts, err)

	// Output:
	// 3 <nil>
}

// A run inside of a run is a child run. Start runs several at the same time.
func ExampleWorkflow_Start() {
	dir, remove := tempProject()
	defer remove()
	engine, err := durable.Open(dir)
	if err != nil {
		panic(err)
	}
	defer engine.Close()
	ctx := context.Background()

	square := durable.Register(engine, "square", func(ctx context.Context, n int) (int, error) {
		return durable.Step(ctx, "multiply", func(context.Context) (int, error) { return n * n, nil })
	})
	sum := durable.Register(engine, "sum of squares", func(ctx context.Context, numbers []int) (sum int, err error) {
		var all []*durable.Future[int]
		for i, n := range numbers {
			all = append(all, square.Start(ctx, fmt.Sprint("number ", i), n))
		}
		for _, f := range all {
			square, failed := f.Wait(ctx)
			sum, err = sum+square, errors.Join(err, failed)
		}
		return sum, err
	})
	fmt.Println(sum.Run(ctx, "up to 3", []int{1, 2, 3}))

	// Output:
	// 14 <nil>
}

// Sleep survives a crash: a run that resumes waits for the rest of the time.
func ExampleSleep() {
	dir, remove := tempProject()
	defer remove()
	err := durable.Run(context.Background(), dir, "reminder", func(ctx context.Context) error {
		return durable.Sleep(ctx, "a moment", 10*time.Millisecond)
	})
	fmt.Println(err)

	// Output:
	// <nil>
}
