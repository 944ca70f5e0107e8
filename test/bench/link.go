package main

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// The link between two machines, and what crosses it.
const (
	linkRate  = 100_000_000 / 8 // bytes a second, in each direction
	linkDelay = 10 * time.Millisecond
	linkName  = "100 Mbit/s, 20 ms for a round trip"
)

// link is a relay to a server on this machine, as slow as a network. All connections through it share its rate.
type link struct {
	Address  string
	listener net.Listener
	target   string
	there    lane // to the target
	back     lane
}

// lane is one direction of a link.
type lane struct {
	mu    sync.Mutex // guards free
	free  time.Time  // when the last byte so far has left
	bytes atomic.Int64
}

// newLink begins to relay to a target.
func newLink(target string) (*link, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	k := &link{Address: l.Addr().String(), listener: l, target: target}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _ = k.carry(conn) }() // the client notices
		}
	}()
	return k, nil
}

func (k *link) close() error { return k.listener.Close() }

// bytes is how much went through so far, in both directions.
func (k *link) bytes() int64 { return k.there.bytes.Load() + k.back.bytes.Load() }

// carry relays a connection until both ends have closed it.
func (k *link) carry(from net.Conn) error {
	defer from.Close()
	time.Sleep(2 * linkDelay) // the handshake
	to, err := net.Dial("tcp", k.target)
	if err != nil {
		return err
	}
	defer to.Close()
	errs := make(chan error, 2)
	go func() { errs <- k.there.pump(to, from) }()
	go func() { errs <- k.back.pump(from, to) }()
	return errors.Join(<-errs, <-errs)
}

// parcel is what arrives at some time.
type parcel struct {
	data []byte
	at   time.Time
}

// pump copies what one end of a connection sends to the other.
func (l *lane) pump(to io.Writer, from io.Reader) error {
	const size = 32 << 10
	parcels := make(chan parcel, 64) // more than fits on the link
	var read error
	go func() {
		defer close(parcels)
		for read == nil {
			var n int
			buf := make([]byte, size)
			if n, read = from.Read(buf); n > 0 {
				left := l.send(n)
				time.Sleep(time.Until(left))
				parcels <- parcel{buf[:n], left.Add(linkDelay)}
			}
		}
	}()
	var wrote error
	for p := range parcels {
		time.Sleep(time.Until(p.at))
		if wrote == nil {
			_, wrote = to.Write(p.data)
		}
	}
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		wrote = errors.Join(wrote, half.CloseWrite())
	}
	return wrote
}

// send returns when n more bytes have left. What a late sleeper missed, it may make up for.
func (l *lane) send(n int) time.Time {
	const late = 5 * time.Millisecond
	l.bytes.Add(int64(n))
	l.mu.Lock()
	defer l.mu.Unlock()
	if earliest := time.Now().Add(-late); l.free.Before(earliest) {
		l.free = earliest
	}
	l.free = l.free.Add(time.Duration(n) * time.Second / linkRate)
	return l.free
}
