package pack

import (
	"errors"
	"fmt"
)

// EntrySize is the largest size of an encoded object.
const EntrySize = entryHeader + MaxObject

// Encoded returns an object as packs store it: a header, and the content, compressed or not. It is verified.
func (s *Store) Encoded(id ID) ([]byte, error) {
	if _, err := s.Get(id); err != nil { // finds the object wherever it is now
		return nil, err
	}
	e, stored, err := s.fetch(id)
	if err != nil {
		return nil, err
	}
	return append(e.append(make([]byte, 0, e.size())), stored...), nil
}

// Encode returns content as packs store it, with its ID.
func Encode(content []byte) (ID, []byte, error) {
	id := IDOf(content)
	if len(content) > MaxObject {
		return id, nil, fmt.Errorf("encode object %s, %d bytes: %w", id, len(content), ErrTooLarge)
	}
	enc := encoders.Get().(*encoder)
	defer encoders.Put(enc)
	e, stored := enc.pack(id, content)
	return id, append(e.append(make([]byte, 0, e.size())), stored...), nil
}

// Decode returns the content of an encoded object after verifying its hash.
func Decode(id ID, encoded []byte) ([]byte, error) {
	_, content, err := decode(id, encoded)
	return content, err
}

func decode(id ID, encoded []byte) (entry, []byte, error) {
	e, ok := parseEntry(encoded, 0)
	if !ok || e.kind == kindCommit || e.size() != int64(len(encoded)) || e.born != 0 {
		return entry{}, nil, errors.New("not an object")
	}
	if e.id != id {
		return entry{}, nil, fmt.Errorf("object %s expected, not %s", id, e.id)
	}
	if checksum(encoded[entryHeader:]) != e.sum {
		return entry{}, nil, errors.New("checksum mismatch")
	}
	content, err := e.unpack(encoded[entryHeader:])
	return e, content, err
}

// PutEncoded is Put for an encoded object, which it verifies.
func (b *Batch) PutEncoded(id ID, encoded []byte) error {
	e, _, err := decode(id, encoded)
	if err != nil {
		return fmt.Errorf("put object %s: %w", id, err)
	}
	has, err := b.Has(id)
	if has || err != nil {
		return err
	}
	return b.add(e, encoded[entryHeader:])
}
