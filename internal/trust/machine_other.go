//go:build !darwin

package trust

// machineID returns "": the system has no id besides the files that Host reads.
func machineID() string { return "" }
