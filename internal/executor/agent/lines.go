package agent

import (
	"bufio"
	"errors"
	"io"
)

// maxLine is the maximum length of an agent's output line in bytes. A line can contain the whole output of a tool.
const maxLine = 16 << 20

// eachLine calls do with each line of r, without its newline, until the end. It skips lines longer than maxLine, because part
// of a message is useless.
func eachLine(r io.Reader, do func([]byte)) {
	buffered := bufio.NewReaderSize(r, 64<<10)
	var buf []byte
	tooLong := false
	for {
		piece, err := buffered.ReadSlice('\n')
		if tooLong = tooLong || len(buf)+len(piece) > maxLine; !tooLong {
			buf = append(buf, piece...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if !tooLong && len(buf) > 0 {
			do(trimEnd(buf))
		}
		if err != nil {
			return
		}
		buf, tooLong = nil, false
	}
}

func trimEnd(line []byte) []byte {
	for len(line) > 0 && (line[len(line)-1] == '\n' || line[len(line)-1] == '\r') {
		line = line[:len(line)-1]
	}
	return line
}
