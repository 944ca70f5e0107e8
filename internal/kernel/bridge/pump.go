package bridge

import (
	"bytes"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"pawl/internal/kernel"
	"pawl/internal/oneline"
)

// maxMerged is the size up to which consecutive texts of a stream become one message, in bytes.
const maxMerged = 64 << 10

// maxEarly is how much of what an interpreter prints before it is ready goes into the error, in bytes.
const maxEarly = 16 << 10

// pump reads the pipes of a kernel and emits its messages. It is used by one goroutine.
type pump struct {
	kernel *bridged
	emit   func(kernel.Message)

	fds   [4]unix.PollFd // messages, standard output, standard error, and the end of the process
	line  []byte         // the beginning of a line
	over  bool           // the line is longer than maxLine; its rest is skipped
	held  *held
	cell  kernel.CellID // to which output of child processes and native code belongs
	last  kernel.CellID // the last cell that is not silent
	tails [2][]byte     // of standard output and error: the beginning of a character
}

// held is a message of a stream that the next ones are added to.
type held struct {
	message kernel.Message
	text    []byte
}

// Indexes of pump.fds.
const (
	atMessages = iota
	atStdout
	atStderr
	atExit
)

func (p *pump) run() {
	k := p.kernel
	for i, f := range []int{int(k.pipes.ours[messages].Fd()), int(k.pipes.ours[stdout].Fd()), int(k.pipes.ours[stderr].Fd()), int(k.child.exited.Fd())} {
		p.fds[i] = unix.PollFd{Fd: int32(f), Events: unix.POLLIN}
	}
	for p.fds[atExit].Revents == 0 {
		if _, err := unix.Poll(p.fds[:], -1); err != nil && err != unix.EINTR {
			break // the system refuses: the kernel cannot be read any more
		}
		if p.read() {
			continue
		}
		p.dropClosed()
	}
	_ = k.child.signal(unix.SIGKILL) // it has ended, unless poll failed
	p.read()                         // what it has left. Processes outside its group may still write.
	p.finish()
}

// read reads what is in the pipes now, in the order in which it was written, and reports whether there was anything. bridge.py writes a
// message only after the outputs before it were read. So what is in the outputs now was written after the messages that are there now.
func (p *pump) read() bool {
	out, errs := p.pending(atStdout), p.pending(atStderr)
	lines := p.pending(atMessages)
	p.readMessages(lines)
	p.flush()
	p.readOutput(atStdout, out)
	p.readOutput(atStderr, errs)
	return lines+out+errs > 0
}

func (p *pump) pending(at int) int {
	if p.fds[at].Fd < 0 {
		return 0
	}
	n, err := pending(int(p.fds[at].Fd))
	if err != nil {
		return 0
	}
	return n
}

// dropClosed stops polling pipes that nobody can write to any more.
func (p *pump) dropClosed() {
	for at := range atExit {
		if fd := &p.fds[at]; fd.Revents&(unix.POLLHUP|unix.POLLERR|unix.POLLNVAL) != 0 {
			fd.Fd, fd.Revents = -1, 0
		}
	}
}

// take reads up to n bytes that are in a pipe.
func (p *pump) take(at, n int) []byte {
	if n = min(n, p.pending(at)); n == 0 {
		return nil
	}
	data := make([]byte, n)
	n, err := unix.Read(int(p.fds[at].Fd), data)
	if err != nil {
		return nil
	}
	return data[:n]
}

func (p *pump) readMessages(n int) {
	data := p.take(atMessages, n)
	for len(data) > 0 {
		part, rest, whole := bytes.Cut(data, []byte("\n"))
		if p.over = p.over || len(p.line)+len(part) > maxLine; !p.over {
			p.line = append(p.line, part...)
		}
		if !whole {
			return
		}
		switch {
		case p.over:
			p.complain(fmt.Sprintf("a message of more than %d MiB was left out", maxLine>>20))
		case len(p.line) > 0:
			p.handleLine(p.line)
		}
		data, p.over = rest, false
		if p.line = p.line[:0]; cap(p.line) > 1<<20 {
			p.line = nil
		}
	}
}

// readOutput emits up to n bytes of standard output or error.
func (p *pump) readOutput(at, n int) {
	data := p.take(at, n)
	if len(data) == 0 {
		return
	}
	tail := &p.tails[at-atStdout]
	text := append(*tail, data...)
	whole := len(text) - incomplete(text)
	*tail = append([]byte(nil), text[whole:]...)
	p.output(at, text[:whole])
}

// incomplete returns how many bytes at the end of text begin a character of UTF-8 without ending it.
func incomplete(text []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if b := text[len(text)-n]; utf8.RuneStart(b) {
			if b >= utf8.RuneSelf && !utf8.FullRune(text[len(text)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

func (p *pump) output(at int, text []byte) {
	if len(text) == 0 {
		return
	}
	stream := kernel.Stdout
	if at == atStderr {
		stream = kernel.Stderr
	}
	if k := p.kernel; !isClosed(k.ready) && len(k.early) < maxEarly {
		k.early += string(text)
	}
	p.handle(line{Message: kernel.Message{Kind: kernel.KindStream, Cell: p.cell, Stream: stream, Text: strings.ToValidUTF8(string(text), "�")}})
	p.flush()
}

// drain emits all that child processes and native code have printed so far.
func (p *pump) drain() {
	for at, tail := range p.tails {
		at += atStdout
		p.readOutput(at, p.pending(at))
		if tail = p.tails[at-atStdout]; len(tail) > 0 {
			p.tails[at-atStdout] = nil
			p.output(at, tail)
		}
	}
}

func (p *pump) handleLine(data []byte) {
	l, err := parse(data)
	if err != nil {
		p.complain("a line of a cell that is no message: " + oneline.Quote(string(data)))
		return
	}
	p.handle(l)
}

// complain emits what is wrong with the kernel's messages as output of the cell.
func (p *pump) complain(text string) {
	p.flush()
	p.send(kernel.Message{Kind: kernel.KindStream, Cell: p.cell, Stream: kernel.Stderr, Text: "pawl: " + text + "\n"})
}

// handle emits a line, or merges it with the one before.
func (p *pump) handle(l line) {
	if h := p.held; h != nil && l.Kind == kernel.KindStream && l.Stream == h.message.Stream && l.Cell == h.message.Cell && len(h.text) < maxMerged {
		h.text = append(h.text, l.Text...)
		return
	}
	p.flush()
	r := p.kernel.current()
	switch l.Kind {
	case kernel.KindStream:
		p.held = &held{l.Message, []byte(l.Text)}
	case kindReady:
		p.ready(l)
	case kindBegun:
		p.begun(l, r)
	case kindEnded:
		p.ended(l, r)
	default:
		if l.Kind == kernel.KindError && r != nil && r.cell.ID == l.Cell {
			r.err = l.Error
		}
		p.send(l.Message)
	}
}

func (p *pump) flush() {
	if h := p.held; h != nil {
		p.held, h.message.Text = nil, string(h.text)
		p.send(h.message)
	}
}

func (p *pump) send(m kernel.Message) {
	m.Time = time.Now()
	p.emit(m)
}

func (p *pump) ready(l line) {
	k := p.kernel
	if isClosed(k.ready) {
		return
	}
	k.notePeak(peakOf(k.child.pid))
	k.info.Version, k.info.LanguageInfo = l.Version, languageInfo(l.Version)
	k.info.Implementation = l.Implementation + " " + l.Version
	close(k.ready)
}

func (p *pump) begun(l line, r *run) {
	if r == nil || r.cell.ID != l.Cell || isClosed(r.begun) {
		return
	}
	p.cell = l.Cell
	p.kernel.notePeak(peakOf(p.kernel.child.pid))
	close(r.begun)
	p.send(kernel.Message{Kind: kernel.KindBusy, Cell: l.Cell})
	if !r.cell.Silent {
		p.last = l.Cell
		p.send(kernel.Message{Kind: kernel.KindStarted, Cell: l.Cell, Count: l.Count})
	}
}

func (p *pump) ended(l line, r *run) {
	if r == nil || r.cell.ID != l.Cell {
		return
	}
	p.drain()
	p.cell = p.last
	ending := kernel.Ending{Status: l.Status, Count: l.Count, Peak: p.kernel.notePeak(peakOf(p.kernel.child.pid))}
	reply := kernel.Message{Kind: kernel.KindReply, Cell: l.Cell, Text: "ok", Count: l.Count}
	if l.Status != kernel.OK {
		ending.Error, reply.Error, reply.Text = r.err, r.err, "error"
	}
	p.send(reply)
	p.send(kernel.Message{Kind: kernel.KindIdle, Cell: l.Cell})
	p.kernel.end(ending)
}

// finish is called when the process has ended and its pipes are empty.
func (p *pump) finish() {
	if l, ok := salvage(p.line); ok {
		p.handle(l)
		p.flush()
	}
	p.drain()
	k := p.kernel
	k.death = k.child.death(k.notePeak(0))
	death := k.death
	p.send(kernel.Message{Kind: kernel.KindStatus, Text: "dead"})
	k.end(kernel.Ending{Status: kernel.Lost, Why: "the kernel died: " + death.Why, Death: &death, Peak: death.Peak})
	k.pipes.close()
	k.child.exited.Close()
	close(k.done)
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
