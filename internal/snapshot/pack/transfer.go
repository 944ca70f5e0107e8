package pack

import (
	"errors"
	"fmt"
)

// EntrySize is the largest size of an encoded object.
const EntrySize = entryHeader + MaxObject

// Encoded returns an object as packs store it: a header, and the content, compressed or not. It is verified.
func (s *Store) Encoded(id ID) ([]byte, error) {
	var encoded []byte
	err := s.read(id, func(e fetched, stored, _ []byte) {
		encoded = append(e.append(make([]byte, 0, e.size())), stored...)
	})
	return encoded, err
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

// Verified is an encoded object whose content has its hash.
type Verified struct {
	entry  entry
	stored []byte
}

// Verify verifies an encoded object. The result refers to it.
func Verify(id ID, encoded []byte) (Verified, error) {
	e, _, err := decode(id, encoded)
	if err != nil {
		return Verified{}, fmt.Errorf("object %s: %w", id, err)
	}
	return Verified{e, encoded[entryHeader:]}, nil
}

// PutVerified is Put for an object that Verify returned.
func (b *Batch) PutVerified(v Verified) error {
	has, err := b.Has(v.entry.id)
	if has || err != nil {
		return err
	}
	return b.add(v.entry, v.stored)
}
