package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"pawl"
)

// segmentFormat is the format of a journal with sealed segments. Its number makes an older pawl, which knows format 1
// only, refuse the journal with pawl.ErrNewer: the header of a segment looks to it like the first event of a run.
const segmentFormat = 2

// header is the data of the first line of every segment but the first. That line is not an event. Its checksum follows
// noSum, so that an older pawl can verify it.
type header struct {
	Format  int        `json:"format"`
	Run     pawl.RunID `json:"run"`
	Segment *origin    `json:"segment"`
}

// origin ties a segment to the one before it.
type origin struct {
	First    pawl.Seq `json:"first"`    // number of the segment's first event
	Previous pawl.Seq `json:"previous"` // number of the first event of the previous segment, which is in its file's name
	Length   int64    `json:"length"`   // size of the previous segment's file
	LastCRC  string   `json:"last_crc"` // checksum of the last line there
	Fold     *fold    `json:"fold"`     // the state before this segment
	marks
}

// fold names the state after an event, as a blob.
type fold struct {
	Version int    `json:"version"` // of the state, as in the cache
	State   string `json:"state"`   // SHA-256 of the blob with the state as JSON
}

// marks are what a scan notes about the events without folding them.
type marks struct {
	Gated bool   `json:"gated,omitempty"` // there is an event of gates, blockers, budgets, reviews or rollbacks
	Plan  string `json:"plan,omitempty"`  // SHA-256 of the current plan, by the last run.planned
}

// add notes an event's type, and its data if it is a run.planned.
func (m *marks) add(kind []byte, data func() []byte) {
	switch family, _, _ := bytes.Cut(kind, []byte{'.'}); {
	case string(kind) == "run.planned":
		var planned pawl.RunPlanned
		_ = json.Unmarshal(data(), &planned) // without its hash the plan counts as unknown
		m.Plan = planned.SHA256
	case string(kind) == "step.reviewed", string(family) == "gate", string(family) == "blocker", string(family) == "budget", string(family) == "rollback":
		m.Gated = true
	}
}

// join adds the marks of later events.
func (m *marks) join(later marks) {
	m.Gated = m.Gated || later.Gated
	if later.Plan != "" {
		m.Plan = later.Plan
	}
}

// readHeader returns the start of a segment's verification if its first line is a header. Otherwise it returns ok false,
// and the file starts with the first event of the run. An error is damage.
func readHeader(file io.ReaderAt, size int64, run pawl.RunID) (v verified, from *origin, err error) {
	line, err := firstLine(file, size)
	if err != nil || line == nil {
		return newVerified(), nil, err
	}
	at := chain{sum: noSum}
	kind, bad := at.follow(line)
	if bad != nil || string(kind) != string(pawl.RunCreated{}.Event()) {
		return newVerified(), nil, nil
	}
	r, _ := splitLine(line)
	var h header
	if json.Unmarshal(r.data, &h) != nil || h.Segment == nil {
		return newVerified(), nil, nil
	}
	switch {
	case h.Format > segmentFormat:
		return v, nil, fmt.Errorf("format %d; this pawl reads formats up to %d: %w", h.Format, segmentFormat, pawl.ErrNewer)
	case h.Run != run:
		return v, nil, fmt.Errorf("this is the journal of run %s, not %s", h.Run, run)
	case h.Segment.First < 2 || h.Segment.Previous < 1 || h.Segment.Previous >= h.Segment.First:
		return v, nil, fmt.Errorf("its header says that event %d follows a segment that begins with event %d", h.Segment.First, h.Segment.Previous)
	}
	length := int64(len(line))
	v = verified{
		chain: chain{seq: h.Segment.First - 1, epoch: r.epoch, sum: r.sum, start: length, end: length},
		first: h.Segment.First, head: length, marks: h.Segment.marks,
	}
	return v, h.Segment, nil
}

// firstLine returns the first line of a file, or its start if the line is too long; nil for an empty file.
func firstLine(file io.ReaderAt, size int64) ([]byte, error) {
	const usual = 2048 // a header is shorter
	line, err := newLines(file, 0, min(size, usual)).next()
	if err == nil && len(line) == usual {
		line, err = newLines(file, 0, min(size, MaxLine)).next()
	}
	return line, err
}

// follows reports why a segment with this header does not follow the segment that begins with event first and ends at
// end; nil if it does.
func (o *origin) follows(first pawl.Seq, end chain) error {
	switch {
	case first > 0 && o.Previous != first:
		return fmt.Errorf("the segment follows %s, not %s", sealedName(o.Previous), sealedName(first))
	case o.First != end.seq+1:
		return fmt.Errorf("the segment begins with event %d, want event %d", o.First, end.seq+1)
	case o.Length != end.end:
		return fmt.Errorf("%s has %d bytes, want %d", sealedName(o.Previous), end.end, o.Length)
	case o.LastCRC != string(end.sum[:]):
		return fmt.Errorf("the last checksum of %s is %s, want %s", sealedName(o.Previous), string(end.sum[:]), o.LastCRC)
	}
	return nil
}
