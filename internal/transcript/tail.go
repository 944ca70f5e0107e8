package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"
)

// readTail returns the end of a file. If that is not the whole file, it begins after a line break.
func readTail(file io.ReaderAt, size, limit int64) (tail []byte, partial bool, err error) {
	start := max(0, size-limit)
	tail = make([]byte, max(0, size-start))
	n, err := file.ReadAt(tail, start)
	if err != nil && !errors.Is(err, io.EOF) { // a file that has become shorter is not an error
		return nil, false, err
	}
	tail = tail[:n]
	if start == 0 {
		return tail, false, nil
	}
	_, tail, _ = bytes.Cut(tail, []byte("\n"))
	return tail, true, nil
}

// lines splits a text. The last line may lack its line break, because the agent is writing it or died.
func lines(text []byte) [][]byte {
	return bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
}

// decode parses JSON into a struct. Fields of another type than expected stay empty.
func decode(data []byte, into any) bool {
	err := json.Unmarshal(data, into)
	_, odd := errors.AsType[*json.UnmarshalTypeError](err)
	return err == nil || odd
}

// timeOf parses a time; a wrong one is zero.
func timeOf(text string) time.Time {
	at, _ := time.Parse(time.RFC3339Nano, text)
	return at
}

// textOf returns the text of a JSON string, or that of an array of content blocks; "" for anything else.
func textOf(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var blocks []struct {
		Text string `json:"text"`
	}
	if !decode(content, &blocks) {
		return ""
	}
	var texts []string
	for _, b := range blocks {
		if b.Text != "" {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// codeAfter returns the number after a prefix at the beginning of text.
func codeAfter(text, prefix string) (int, bool) {
	rest, found := strings.CutPrefix(text, prefix)
	if !found {
		return 0, false
	}
	digits := rest[:len(rest)-len(strings.TrimLeft(rest, "-0123456789"))]
	code, err := strconv.Atoi(digits)
	return code, err == nil
}

// hasPrefix reports whether text begins with one of the prefixes.
func hasPrefix(text string, prefixes ...string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(text, p) {
			return true
		}
	}
	return false
}
