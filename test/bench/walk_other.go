//go:build !linux

package main

import "errors"

// walkBare is written for Linux only.
func walkBare(string) (names int, err error) { return 0, errors.ErrUnsupported }
