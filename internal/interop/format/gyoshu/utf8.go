package gyoshu

import "unicode/utf8"

// asNode decodes a file as Node does: invalid UTF-8 becomes replacement characters, one for each maximal prefix of a valid
// sequence.
func asNode(data []byte) []byte {
	if utf8.Valid(data) {
		return data
	}
	out := make([]byte, 0, len(data)+8)
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		if r == utf8.RuneError && size == 1 {
			size = brokenSize(data)
		}
		out = utf8.AppendRune(out, r)
		data = data[size:]
	}
	return out
}

// brokenSize returns the length of the maximal prefix of a valid sequence at the start of invalid data.
func brokenSize(data []byte) int {
	low, high, want := byte(0x80), byte(0xbf), 0
	switch c := data[0]; {
	case c >= 0xc2 && c <= 0xdf:
		want = 2
	case c >= 0xe0 && c <= 0xef:
		want = 3
	case c >= 0xf0 && c <= 0xf4:
		want = 4
	}
	switch data[0] { // these restrict the second byte
	case 0xe0:
		low = 0xa0
	case 0xed:
		high = 0x9f
	case 0xf0:
		low = 0x90
	case 0xf4:
		high = 0x8f
	}
	size := 1
	for size < want && size < len(data) && data[size] >= low && data[size] <= high {
		size, low, high = size+1, 0x80, 0xbf
	}
	return size
}
