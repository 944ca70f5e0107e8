package pawl

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
)

// Positions maps an item's index to the event that finished it; 0 means not finished.
// In JSON it is one base64 string of varints (differences to the seq before), so that 20,000 of them decode in no time.
type Positions []Seq

// Set stores seq at index, growing the list as needed.
func (p *Positions) Set(index int, seq Seq) {
	for len(*p) <= index {
		*p = append(*p, 0)
	}
	(*p)[index] = seq
}

// At returns the seq at index, 0 where none is.
func (p Positions) At(index int) Seq {
	if index < 0 || index >= len(p) {
		return 0
	}
	return p[index]
}

// MarshalJSON writes the positions as one string.
func (p Positions) MarshalJSON() ([]byte, error) {
	packed := make([]byte, 0, 2*len(p))
	last := Seq(0)
	for _, seq := range p {
		packed = binary.AppendVarint(packed, int64(seq-last))
		last = seq
	}
	return json.Marshal(base64.RawStdEncoding.EncodeToString(packed))
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (p *Positions) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	packed, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		return err
	}
	list := make(Positions, 0, len(packed))
	last := Seq(0)
	for len(packed) > 0 {
		delta, width := binary.Varint(packed)
		if width <= 0 {
			return errors.New("positions: cut short")
		}
		packed = packed[width:]
		last += Seq(delta)
		list = append(list, last)
	}
	*p = list
	return nil
}
