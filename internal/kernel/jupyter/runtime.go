package jupyter

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/kernel"
)

// maxSocketPath is how long the path of a socket may be: 107 bytes on Linux, 103 on macOS.
const maxSocketPath = 103

// prepare makes the runtime folder, which only the kernel's user may enter.
func prepare(spec kernel.Spec) error {
	if n := len(socketPath(spec, 1)); n > maxSocketPath {
		return fmt.Errorf("runtime folder %s: the path is %d bytes too long for a socket", spec.Runtime, n-maxSocketPath)
	}
	if err := disk.MakeFoldersAs(spec.Runtime, disk.FolderMode); err != nil {
		return err
	}
	f, err := os.OpenFile(spec.Runtime, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if open := info.Mode().Perm() & 0o077; open != 0 {
		return fmt.Errorf("runtime folder %s: mode %04o lets other users in; it must be 0700", spec.Runtime, info.Mode().Perm())
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() && (spec.RunAs == nil || st.Uid != spec.RunAs.UID) {
		return fmt.Errorf("runtime folder %s belongs to another user (uid %d)", spec.Runtime, st.Uid)
	}
	return give(f, spec.RunAs)
}

// writeNew writes a file of the runtime folder, and gives it to the user. It replaces what is there and follows no link: the kernel can
// write to that folder, too.
func writeNew(path string, data []byte, as *pawl.Account) error {
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return err
	}
	f, err := os.OpenFile(path, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW, disk.FileMode)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write(data); err != nil {
		return err
	}
	if err := give(f, as); err != nil {
		return err
	}
	return f.Close()
}

// give gives an open file to a user, unless that is nil.
func give(f *os.File, as *pawl.Account) error {
	if as == nil {
		return nil
	}
	return f.Chown(int(as.UID), int(as.GID))
}

// connection is a connection file, as the kernel reads it.
type connection struct {
	Transport string `json:"transport"`
	IP        string `json:"ip"` // with ipc, the beginning of the sockets' paths
	Shell     int    `json:"shell_port"`
	IOPub     int    `json:"iopub_port"`
	Stdin     int    `json:"stdin_port"`
	Control   int    `json:"control_port"`
	HB        int    `json:"hb_port"`
	Key       string `json:"key"`
	Scheme    string `json:"signature_scheme"`
	Name      string `json:"kernel_name"`
}

// writeConnection writes a connection file with a new key. Unix sockets are below the runtime folder, which no other user can enter. With
// TCP any user of this machine can read what the kernel prints: Jupyter signs messages, but does not ask readers who they are.
func writeConnection(spec kernel.Spec, name string, tcp bool) error {
	c := connection{
		Transport: "ipc", IP: filepath.Join(spec.Runtime, "k"), Shell: 1, IOPub: 2, Stdin: 3, Control: 4, HB: 5,
		Key: disk.RandomHex(32), Scheme: "hmac-sha256", Name: name,
	}
	for port := 1; port <= 5; port++ {
		_ = os.Remove(socketPath(spec, port)) // of a kernel before
	}
	if tcp {
		c.Transport, c.IP = "tcp", "127.0.0.1"
		if err := freePorts(&c.Shell, &c.IOPub, &c.Stdin, &c.Control, &c.HB); err != nil {
			return err
		}
	}
	data, err := json.MarshalIndent(c, "", " ")
	if err != nil {
		return err
	}
	return writeNew(connectionFile(spec), append(data, '\n'), spec.RunAs)
}

func socketPath(spec kernel.Spec, port int) string {
	return filepath.Join(spec.Runtime, fmt.Sprintf("k-%d", port))
}

// freePorts sets ports that no program uses now. One may be taken until the kernel uses it.
func freePorts(ports ...*int) error {
	for _, p := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		defer l.Close()
		*p = l.Addr().(*net.TCPAddr).Port
	}
	return nil
}
