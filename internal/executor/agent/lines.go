package agent

import (
	"bufio"
	"errors"
	"io"
)

// maxLine is how long a line of an agent may be. What tools print may be told in one.
const maxLine = 16 << 20

// eachLine calls do with each line of r, without its end, and returns when there are no more. Of a line that is longer
// than maxLine nothing is told: what is left of a message says nothing.
func eachLine(r io.Reader, do func([]byte)) {
	buffered := bufio.NewReaderSize(r, 64<<10)
	var kept []byte
	tooLong := false
	for {
		piece, err := buffered.ReadSlice('\n')
		if tooLong = tooLong || len(kept)+len(piece) > maxLine; !tooLong {
			kept = append(kept, piece...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if !tooLong && len(kept) > 0 {
			do(trimEnd(kept))
		}
		if err != nil {
			return
		}
		kept, tooLong = nil, false
	}
}

func trimEnd(line []byte) []byte {
	for len(line) > 0 && (line[len(line)-1] == '\n' || line[len(line)-1] == '\r') {
		line = line[:len(line)-1]
	}
	return line
}
