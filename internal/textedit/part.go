package textedit

import "bytes"

// Part is a part of a file: from one byte up to another, which begins in this line.
type Part struct {
	From, To int
	Line     int // from 1
}

// Bytes returns the part's.
func (p Part) Bytes(file []byte) []byte { return file[p.From:p.To] }

const bom = "\uFEFF"

// Whole returns all of a file but its byte order mark.
func Whole(file []byte) Part {
	from := 0
	if bytes.HasPrefix(file, []byte(bom)) {
		from = len(bom)
	}
	return Part{From: from, To: len(file), Line: 1}
}
