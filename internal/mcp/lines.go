package mcp

import (
	"bufio"
	"errors"
	"io"
)

// line is an input line, or the error that ended the input.
type line struct {
	data []byte
	long bool // it exceeded maxMessage and was dropped
	err  error
}

// maxMessage is the maximum size of a message in bytes. Tools accept far less, but report that as a result.
const maxMessage = 16 << 20

// readLines sends lines until the input ends or the transport is closed. It runs in its own goroutine, because a blocked read
// cannot be canceled.
func readLines(in io.Reader, to chan<- line, closed <-chan struct{}) {
	buffered := bufio.NewReaderSize(in, 64<<10)
	for {
		l := nextLine(buffered)
		select {
		case to <- l:
		case <-closed:
			return
		}
		if l.err != nil {
			return
		}
	}
}

// nextLine returns the next line. The last one may lack a newline.
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
		default: // the next read returns EOF again
			return l
		}
	}
}
