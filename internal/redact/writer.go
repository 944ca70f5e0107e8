package redact

import (
	"bytes"
	"io"
	"strings"
)

// A Writer redacts what is written to it and passes it on. It holds an unfinished line, and an unfinished private key, until
// the rest arrives or Flush is called.
type Writer struct {
	redactor *Redactor
	to       io.Writer
	held     []byte
}

// Writer returns a Writer that passes redacted text on to w.
func (r *Redactor) Writer(w io.Writer) *Writer { return &Writer{redactor: r, to: w} }

// maxHeld is how much text a Writer holds at most, in bytes.
const maxHeld = 64 << 10

func (w *Writer) Write(data []byte) (int, error) {
	w.held = append(w.held, data...)
	end := bytes.LastIndexAny(w.held, "\r\n") + 1
	if begin := strings.LastIndex(string(w.held[:end]), "-----BEGIN "); begin >= 0 && !bytes.Contains(w.held[begin:end], []byte("-----END ")) {
		end = begin
	}
	if end == 0 && len(w.held) > maxHeld {
		end = len(w.held)
	}
	return len(data), w.pass(end)
}

// Flush passes on what is held.
func (w *Writer) Flush() error { return w.pass(len(w.held)) }

// pass redacts and passes on the first n bytes that are held.
func (w *Writer) pass(n int) error {
	if n == 0 {
		return nil
	}
	text := w.redactor.Text(string(w.held[:n]))
	w.held = append(w.held[:0], w.held[n:]...)
	_, err := io.WriteString(w.to, text)
	return err
}
