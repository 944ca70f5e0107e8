//go:build !faults && !windows

package main

func injectFaults() {}
