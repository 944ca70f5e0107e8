package durable_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"pawl/durable"
)

type page struct {
	Title string
	Words int
}

// A program that dies goes on at the first step that was not finished.
func Example() {
	dir, err := os.MkdirTemp("", "durable")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

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
