package journal

import (
	"bytes"
	"os"
	"runtime"
	"sync"

	"pawl"
)

// verified is the result of verifying the lines of a file.
type verified struct {
	chain chain          // after the last good line
	first pawl.Seq       // number of the file's first event; 0 if only the end of the file was read
	head  int64          // size of the header before it
	ends  []int64        // end offset of each event's line
	newer pawl.EventType // first unknown event type, or ""
	marks
}

func newVerified() verified { return verified{chain: chain{sum: noSum}, first: 1} }

// startOf returns the offset of an event's line. For the number after the last event it returns the end.
func (s *verified) startOf(seq pawl.Seq) int64 {
	if seq <= s.first {
		return s.head
	}
	return s.ends[seq-s.first-1]
}

// endOf returns the offset after an event's line. For the number before the first event it returns the header's end.
func (s *verified) endOf(seq pawl.Seq) int64 { return s.startOf(seq + 1) }

// lineNumber returns the number of the line after the last good one, in the file.
func (s *verified) lineNumber() pawl.Seq {
	n := s.chain.seq + 1 - (max(s.first, 1) - 1)
	if s.head > 0 {
		n++
	}
	return n
}

// check verifies lines up to the first bad one, which it returns with its fault, or up to the end.
func (s *verified) check(in *lines) (bad []byte, why, err error) {
	for {
		line, err := in.next()
		if line == nil || err != nil {
			return nil, nil, err
		}
		kind, why := s.chain.follow(line)
		if why != nil {
			return line, why, nil
		}
		if s.newer == "" && !pawl.EventType(kind).Known() {
			s.newer = pawl.EventType(kind)
		}
		s.marks.add(kind, func() []byte {
			r, _ := splitLine(line)
			return r.data
		})
		s.ends = append(s.ends, s.chain.end)
	}
}

// minPart is the minimum number of bytes per goroutine in a parallel scan.
const minPart = 4 << 20

// scanParallel verifies a long range in parallel parts. A line's checksum depends on that of the previous line. So each
// part starts after some line and assumes that line's own checksum; joining the parts verifies the assumption. If
// anything does not match, scanParallel returns false and changes nothing; a sequential scan then finds the fault.
func (l *Log) scanParallel() bool {
	n := min(int64(runtime.GOMAXPROCS(0)), (l.size-l.chain.end)/minPart)
	if n < 2 {
		return false
	}
	parts := []verified{l.verified}
	for i := int64(1); i < n; i++ {
		before, ok := chainNear(l.file.File, l.chain.end+i*(l.size-l.chain.end)/n)
		if !ok {
			return false
		}
		parts = append(parts, verified{chain: before})
	}
	whole, ok := join(parts, l.checkParts(parts))
	if !ok || whole.chain.end != l.size {
		return false
	}
	l.verified = whole
	return true
}

// checkParts verifies the lines of all parts.
func (l *Log) checkParts(parts []verified) []verified {
	checked := make([]verified, len(parts))
	var all sync.WaitGroup
	for i, part := range parts {
		to := l.size
		if i+1 < len(parts) {
			to = parts[i+1].chain.end
		}
		all.Go(func() {
			in := newLines(l.file, part.chain.end, to)
			part.ends = append(make([]int64, 0, len(part.ends)+int(min((to-in.at)/256, 1<<22))), part.ends...)
			if _, _, err := part.check(in); err == nil {
				checked[i] = part
			}
		})
	}
	all.Wait()
	return checked
}

// join joins the verified parts. It returns false unless each part ends where the next one assumed.
func join(assumed, checked []verified) (whole verified, ok bool) {
	whole = checked[0]
	for i, part := range checked[1:] {
		before, start := assumed[i+1].chain, whole.chain.start
		if before.start = start; before != whole.chain {
			return whole, false
		}
		if part.chain.start < 0 { // a single batch that started in an earlier part
			part.chain.start = start
		}
		whole.chain = part.chain
		whole.ends = append(whole.ends, part.ends...)
		whole.marks.join(part.marks)
		if whole.newer == "" {
			whole.newer = part.newer
		}
	}
	return whole, true
}

// chainNear returns the position after the first complete line after offset, according to that line. The start of the
// line's batch is unknown.
func chainNear(file *os.File, offset int64) (c chain, ok bool) {
	text := make([]byte, 2*MaxLine)
	n, _ := file.ReadAt(text, offset) // reading less is not a problem
	cutOff, text, _ := bytes.Cut(text[:n], []byte{'\n'})
	line, _, ok := bytes.Cut(text, []byte{'\n'})
	if !ok {
		return c, false
	}
	from := offset + int64(len(cutOff)) + 1
	line = text[:len(line)+1]
	r, ok := splitLine(line)
	return chain{seq: r.seq, epoch: r.epoch, sum: r.sum, batch: r.batch, start: -1, end: from + int64(len(line))}, ok
}
