//go:build !linux

package main

import (
	"context"
	"errors"
	"io"
)

func isolated(context.Context, []string, bool, io.Writer) error {
	return errors.New("only Linux can keep the agents from the network")
}

func loopbackOnly() error { return nil }
