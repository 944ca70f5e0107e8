package mcp

import (
	"bufio"
	"errors"
	"io"
)

// line is a line as it came, or why none comes any more.
type line struct {
	data []byte
	long bool // it was too long, and is left out
	err  error
}

// maxMessage is how long a message may be, in bytes. What a tool takes is far less, but that is told to who called it.
const maxMessage = 16 << 20

// takeLines reads lines until the input ends, or nobody takes them any more: a read cannot be called off, so it stands in
// the way of nothing.
func takeLines(in io.Reader, to chan<- line, gone <-chan struct{}) {
	buffered := bufio.NewReaderSize(in, 64<<10)
	for {
		l := nextLine(buffered)
		select {
		case to <- l:
		case <-gone:
			return
		}
		if l.err != nil {
			return
		}
	}
}

// nextLine returns the next line. The last one need not be ended.
func nextLine(in *bufio.Reader) line {
	var l line
	for {
		part, err := in.ReadSlice('\n')
		if l.long = l.long || len(l.data)+len(part) > maxMessage; l.long {
			l.data = nil
		} else {
			l.data = append(l.data, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil && len(l.data) == 0 && !l.long:
			return line{err: err}
		default: // an end of the input comes again
			return l
		}
	}
}
