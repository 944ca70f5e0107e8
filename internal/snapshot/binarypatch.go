package snapshot

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"strings"
)

// binaryPatch writes both contents in full, as `git diff --binary` does, so that `git apply` works in both directions.
func binaryPatch(b *bytes.Buffer, change Change, old, now []byte) error {
	fmt.Fprintf(b, "index %s..%s", blobName(change.Old, old), blobName(change.New, now))
	if change.Old != nil && change.New != nil && gitMode(*change.Old) == gitMode(*change.New) {
		fmt.Fprintf(b, " %s", gitMode(*change.New))
	}
	b.WriteString("\nGIT binary patch\n")
	for _, content := range [][]byte{now, old} {
		if err := literal(b, content); err != nil {
			return err
		}
	}
	return nil
}

// blobName returns git's hash of a blob; zeros for a missing file.
func blobName(e *Entry, content []byte) string {
	if e == nil {
		return strings.Repeat("0", 2*sha1.Size)
	}
	return fmt.Sprintf("%x", sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(content)), content...)))
}

// perLine is the number of compressed bytes in a line.
const perLine = 52

func literal(b *bytes.Buffer, content []byte) error {
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	if _, err := z.Write(content); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	fmt.Fprintf(b, "literal %d\n", len(content))
	for packed.Len() > 0 {
		line := packed.Next(perLine)
		if n := byte(len(line)); n <= 26 {
			b.WriteByte('A' + n - 1)
		} else {
			b.WriteByte('a' + n - 27)
		}
		base85(b, line)
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	return nil
}

const alphabet85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"

// base85 encodes groups of four bytes, the last padded with zeros, as five characters of git's alphabet.
func base85(b *bytes.Buffer, data []byte) {
	for len(data) > 0 {
		var four [4]byte
		data = data[copy(four[:], data):]
		value := binary.BigEndian.Uint32(four[:])
		var five [5]byte
		for i := len(five) - 1; i >= 0; i-- {
			five[i] = alphabet85[value%85]
			value /= 85
		}
		b.Write(five[:])
	}
}
