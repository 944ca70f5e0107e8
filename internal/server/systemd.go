package server

import (
	"net"
	"os"
)

// manager is the socket of the service manager that started this process with Type=notify; empty: none did.
type manager string

// managerOfProcess returns the service manager of this process. The engines that the server starts do not inherit the socket: only the
// server reports its state.
func managerOfProcess() manager {
	const variable = "NOTIFY_SOCKET"
	socket := os.Getenv(variable)
	_ = os.Unsetenv(variable)
	return manager(socket)
}

// tell reports a change of state to the service manager, as sd_notify(3) does. A manager that does not answer ends the service by its
// own limits.
func (m manager) tell(state string) {
	if m == "" {
		return
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: string(m), Net: "unixgram"}) // a name with @ is abstract
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = conn.Write([]byte(state))
}
