package trust

import "golang.org/x/sys/unix"

// machineID returns the id of this machine; empty if it cannot be read.
func machineID() string {
	id, _ := unix.Sysctl("kern.uuid") // without it, machines are not distinguished
	return id
}
