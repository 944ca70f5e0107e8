// Command orders ships orders with package durable. Kill it at any time and start it again: every order is charged and shipped once.
//
//	go run ./examples/orders DIR [ORDER…]   ships orders, and first resumes those that a crash interrupted
//	go run ./examples/orders -paid DIR ORDER  tells a running or stopped program that an order was paid
//
// DIR becomes a project: `pawl -C DIR runs` lists the orders, `pawl -C DIR status RUN` shows one.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"pawl/durable"
)

func main() {
	paid := flag.Bool("paid", false, "tell that an order was paid")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	switch {
	case flag.NArg() < 1 || *paid && flag.NArg() != 2:
		err = errors.New("usage: orders DIR [ORDER…] | orders -paid DIR ORDER")
	case *paid:
		err = durable.Signal(ctx, flag.Arg(0), flag.Arg(1), "paid", 100)
	default:
		err = run(ctx, flag.Arg(0), flag.Args()[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "orders:", err)
		os.Exit(1)
	}
}

// shop is what the workflows use.
type shop struct {
	label *durable.Workflow[string, string]
}

// run resumes the interrupted orders, starts the others, and waits for all.
func run(ctx context.Context, dir string, orders []string) (err error) {
	engine, err := durable.Open(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	s := &shop{}
	s.label = durable.Register(engine, "label", s.print)
	ship := durable.Register(engine, "ship", s.ship)

	interrupted, err := engine.Recover(ctx)
	if err != nil {
		return err
	}
	for _, r := range interrupted {
		fmt.Println("resumed", r.Name, r.Err)
		orders = append(orders, r.Name)
	}
	var shipped []*durable.Future[string]
	for _, order := range orders {
		shipped = append(shipped, ship.Start(ctx, order, order)) // the name of the order is its idempotency key
	}
	for i, f := range shipped {
		label, errOrder := f.Wait(ctx)
		fmt.Println(orders[i], label, errOrder)
		err = errors.Join(err, errOrder)
	}
	return err
}

// ship is the workflow of one order.
func (s *shop) ship(ctx context.Context, order string) (string, error) {
	// The stock answers only sometimes. The pauses between the attempts survive a crash.
	tries := durable.Retry{Attempts: 5, Pause: 10 * time.Millisecond}
	if _, err := durable.Step(ctx, "reserve", s.note(order, "reserved"), tries); err != nil {
		return "", err
	}
	amount, err := durable.Await[int](ctx, "paid", 24*time.Hour)
	if errors.Is(err, durable.ErrTimeout) {
		return "", fmt.Errorf("%s was not paid", order)
	}
	if err != nil {
		return "", err
	}
	if err := durable.Sleep(ctx, "let it settle", 20*time.Millisecond); err != nil {
		return "", err
	}
	// A child run and a step at the same time.
	label := s.label.Start(ctx, "print the label", order)
	receipt := durable.Go(ctx, "receipt", s.note(order, fmt.Sprintf("paid %d", amount)))
	if _, err := receipt.Wait(ctx); err != nil {
		return "", err
	}
	return label.Wait(ctx)
}

// print is the workflow of a label.
func (s *shop) print(ctx context.Context, order string) (string, error) {
	return durable.Step(ctx, "print", s.note(order, "label printed"))
}

// note returns a step's function that does something for an order. To do it twice must do no harm.
func (s *shop) note(order, text string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) {
		fmt.Println(order, text)
		return text, nil
	}
}
