package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"strconv"
	"sync"
	"time"

	"pawl"
)

// Layout of a line. The order of the fields and the bytes between them never change, so that a line can be verified
// without decoding it.
const (
	MaxLine    = 64 << 10 // of an event, in bytes, including its newline
	maxHead    = 192      // upper bound for seq, batch, time, epoch and crc
	timeLayout = "2006-01-02T15:04:05.000000000Z"
	sumField   = `,"crc":"`
	lineEnd    = "\"}\n"
	sumSize    = len(sumField) + len(sum{}) + len(lineEnd)
)

// castagnoli is computed on first use: most pawl processes are supervisors, which use no journal.
var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

// sum is a line's checksum in its written form: 8 lower-case hex digits.
type sum [8]byte

// noSum is the checksum before the first line.
var noSum = sum([]byte("00000000"))

// next returns the checksum of a line that follows s; body is the line up to its crc.
func (s sum) next(body []byte) sum {
	table := castagnoli()
	crc := ^uint32(0)
	for _, b := range s {
		crc = table[byte(crc)^b] ^ crc>>8
	}
	crc = crc32.Update(^crc, table, body)
	var next sum
	for i := range next {
		next[i] = "0123456789abcdef"[crc>>28]
		crc <<= 4
	}
	return next
}

// rawLine is a line split into its fields. The slices are parts of the line.
type rawLine struct {
	seq, batch           pawl.Seq
	epoch                pawl.Epoch
	time, by, kind, data []byte
	body                 []byte // what the checksum covers
	sum                  sum
}

// splitLine splits a line, including its newline, without verifying the checksum.
func splitLine(line []byte) (r rawLine, ok bool) {
	if len(line) <= sumSize || len(line) > MaxLine {
		return r, false
	}
	end := len(line) - sumSize
	r.body = line[:end]
	tail := cursor{rest: line[end:]}
	tail.skip(sumField)
	r.sum = sum(line[end+len(sumField):])
	tail.next(len(r.sum))
	tail.skip(lineEnd)

	c := cursor{rest: r.body}
	c.skip(`{"seq":`)
	r.seq = pawl.Seq(c.number())
	c.skip(`,"batch":`)
	r.batch = pawl.Seq(c.number())
	c.skip(`,"time":"`)
	r.time = c.next(len(timeLayout))
	c.skip(`","epoch":`)
	r.epoch = pawl.Epoch(c.number())
	c.skip(`,"by":`)
	r.by = c.next(byLength(c.rest))
	c.skip(typeField)
	r.kind = c.next(bytes.IndexByte(c.rest, '"'))
	c.skip(`","data":`)
	r.data = c.rest
	return r, !c.bad && !tail.bad && len(r.data) > 0
}

// Content returns the type and the data of a journal line, as every reader of journals sees them. It does not verify the checksum.
func Content(line []byte) (kind pawl.EventType, data []byte, ok bool) {
	r, ok := splitLine(line)
	return pawl.EventType(r.kind), r.data, ok
}

const typeField = `,"type":"`

// byLength returns the length of the "by" object at the start of text. The object is flat, and quotes in its strings
// are escaped, so the first match of the following bytes is its end.
func byLength(text []byte) (n int) {
	for {
		brace := bytes.IndexByte(text[n:], '}')
		if brace < 0 {
			return 0
		}
		n += brace + 1
		if len(text) > n+len(typeField) && string(text[n:n+len(typeField)]) == typeField {
			return n
		}
	}
}

// cursor parses a line. After the first mismatch bad stays true.
type cursor struct {
	rest []byte
	bad  bool
}

func (c *cursor) skip(text string) {
	if len(c.rest) < len(text) || string(c.rest[:len(text)]) != text {
		c.bad = true
		return
	}
	c.rest = c.rest[len(text):]
}

func (c *cursor) number() (n int64) {
	i := 0
	for ; i < len(c.rest) && i < 18 && '0' <= c.rest[i] && c.rest[i] <= '9'; i++ {
		n = n*10 + int64(c.rest[i]-'0')
	}
	c.bad = c.bad || i == 0
	c.rest = c.rest[i:]
	return n
}

func (c *cursor) next(n int) []byte {
	if n <= 0 || n > len(c.rest) {
		c.bad = true
		return nil
	}
	taken := c.rest[:n]
	c.rest = c.rest[n:]
	return taken
}

// decoder decodes lines. It caches the last author, since most lines have the same one as the line before.
type decoder struct {
	by     []byte
	author pawl.Author
}

func (d *decoder) event(r rawLine) (pawl.Event, error) {
	at, err := time.Parse(timeLayout, string(r.time))
	if err != nil {
		return pawl.Event{}, fmt.Errorf("time: %w", err)
	}
	if !bytes.Equal(d.by, r.by) {
		var author pawl.Author
		if err := json.Unmarshal(r.by, &author); err != nil {
			return pawl.Event{}, fmt.Errorf("by: %w", err)
		}
		d.by, d.author = bytes.Clone(r.by), author
	}
	return pawl.Event{
		Seq: r.seq, Batch: r.batch, Time: at, Epoch: r.epoch, By: d.author, Type: pawl.EventType(r.kind), Data: bytes.Clone(r.data),
	}, nil
}

// lineContent is the part of a line that a writer supplies; the journal adds the rest.
type lineContent struct {
	time time.Time
	kind pawl.EventType
	data []byte // as passed to Append
	tail []byte // from "by" to the end of data
}

// encode returns the event as a line's content, or why it is not a valid event.
func encode(e pawl.Event) (lineContent, error) {
	if !e.Type.Known() {
		return lineContent{}, fmt.Errorf("append %q: unknown event type", e.Type)
	}
	if len(e.Data) == 0 {
		return lineContent{}, fmt.Errorf("append %s: event without data", e.Type)
	}
	if year := e.Time.Year(); year < 0 || year > 9999 {
		return lineContent{}, fmt.Errorf("append %s: year %d", e.Type, year)
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(struct {
		By   pawl.Author     `json:"by"`
		Type pawl.EventType  `json:"type"`
		Data json.RawMessage `json:"data"`
	}{e.By, e.Type, e.Data})
	if err != nil {
		return lineContent{}, fmt.Errorf("append %s: %w", e.Type, err)
	}
	tail := buf.Bytes()[1 : buf.Len()-len("}\n")]
	if size := len(tail) + maxHead; size > MaxLine {
		return lineContent{}, fmt.Errorf("append %s: the event has %d bytes, more than the maximum of %d: store large data as a blob", e.Type, len(e.Data), MaxLine-maxHead)
	}
	return lineContent{time: e.Time, kind: e.Type, data: e.Data, tail: tail}, nil
}

// chain is a position after a line, with everything needed to verify or write the next line.
type chain struct {
	seq   pawl.Seq
	epoch pawl.Epoch
	sum   sum
	batch pawl.Seq // batch of the last line
	start int64    // offset of the last batch
	end   int64    // offset after the last line
}

// follow advances the chain past line and returns the event's type, or returns why line is not a valid next line.
func (c *chain) follow(line []byte) (kind []byte, err error) {
	r, ok := splitLine(line)
	switch {
	case !ok:
		return nil, fmt.Errorf("not a journal line%s", describe(line))
	case r.seq != c.seq+1:
		return nil, fmt.Errorf("found event %d, want event %d", r.seq, c.seq+1)
	case r.sum != c.sum.next(r.body):
		return nil, fmt.Errorf("checksum is %s, want %s", string(r.sum[:]), c.sum.next(r.body))
	case r.batch != r.seq && (r.batch != c.batch || c.seq == 0):
		return nil, fmt.Errorf("event %d of batch %d follows one of batch %d", r.seq, r.batch, c.batch)
	case r.epoch < c.epoch:
		return nil, fmt.Errorf("epoch %d follows epoch %d", r.epoch, c.epoch)
	}
	c.advance(r, len(line))
	return r.kind, nil
}

func (c *chain) advance(r rawLine, size int) {
	if r.batch != c.batch {
		c.start = c.end
	}
	c.seq, c.batch, c.epoch, c.sum = r.seq, r.batch, r.epoch, r.sum
	c.end += int64(size)
}

// add appends the next line to buf and advances the chain past it.
func (c *chain) add(buf []byte, batch pawl.Seq, epoch pawl.Epoch, now time.Time, what lineContent) []byte {
	at := what.time
	if at.IsZero() {
		at = now
	}
	from := len(buf)
	buf = append(buf, `{"seq":`...)
	buf = strconv.AppendInt(buf, int64(c.seq+1), 10)
	buf = append(buf, `,"batch":`...)
	buf = strconv.AppendInt(buf, int64(batch), 10)
	buf = append(buf, `,"time":"`...)
	buf = at.UTC().AppendFormat(buf, timeLayout)
	buf = append(buf, `","epoch":`...)
	buf = strconv.AppendInt(buf, int64(epoch), 10)
	buf = append(buf, ',')
	buf = append(buf, what.tail...)
	s := c.sum.next(buf[from:])
	buf = append(buf, sumField...)
	buf = append(buf, s[:]...)
	buf = append(buf, lineEnd...)
	c.advance(rawLine{seq: c.seq + 1, batch: batch, epoch: epoch, sum: s}, len(buf)-from)
	return buf
}

// describe returns what is visibly wrong with a line that cannot be split, or "".
func describe(line []byte) string {
	switch {
	case len(line) > MaxLine:
		return fmt.Sprintf(": longer than %d bytes", MaxLine)
	case bytes.IndexByte(line, 0) >= 0:
		return ": it contains NUL bytes"
	case len(line) == 0 || line[len(line)-1] != '\n':
		return ": it has no newline"
	}
	return ""
}
