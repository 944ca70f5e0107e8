package journal

import (
	"bytes"
	"os"
	"runtime"
	"sync"

	"pawl"
)

// scanned is what is known of the lines that were checked.
type scanned struct {
	chain chain          // behind the last good line
	ends  []int64        // where each line ends
	newer pawl.EventType // the first of an unknown type
}

func newScanned() scanned { return scanned{chain: chain{sum: noSum}} }

// take checks lines up to the first bad one, which it returns with what is wrong, or to the end.
func (s *scanned) take(in *lines) (bad []byte, why, err error) {
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
		s.ends = append(s.ends, s.chain.end)
	}
}

// minPart is how much a processor must have to check for that to be worth a goroutine.
const minPart = 4 << 20

// inParts checks a long stretch in parts, side by side. A line's checksum builds on the text of the one before it,
// so a part can begin behind any line, taking that line at its word; joining the parts makes the word good. At the
// least trouble it reports false and has changed nothing: checking line by line finds the place.
func (l *Log) inParts() bool {
	n := min(int64(runtime.GOMAXPROCS(0)), (l.size-l.chain.end)/minPart)
	if n < 2 {
		return false
	}
	parts := []scanned{l.scanned}
	for i := int64(1); i < n; i++ {
		before, ok := chainNear(l.file.File, l.chain.end+i*(l.size-l.chain.end)/n)
		if !ok {
			return false
		}
		parts = append(parts, scanned{chain: before})
	}
	whole, ok := join(parts, l.checkParts(parts))
	if !ok || whole.chain.end != l.size {
		return false
	}
	l.scanned = whole
	return true
}

// checkParts returns the parts as they are when all their lines are checked.
func (l *Log) checkParts(parts []scanned) []scanned {
	checked := make([]scanned, len(parts))
	var all sync.WaitGroup
	for i, part := range parts {
		to := l.size
		if i+1 < len(parts) {
			to = parts[i+1].chain.end
		}
		all.Go(func() {
			in := newLines(l.file, part.chain.end, to)
			part.ends = append(make([]int64, 0, len(part.ends)+int(to-in.at)/256), part.ends...)
			if _, _, err := part.take(in); err == nil {
				checked[i] = part
			}
		})
	}
	all.Wait()
	return checked
}

// join puts checked parts together. It is false unless each ends just as the next one assumed.
func join(assumed, checked []scanned) (whole scanned, ok bool) {
	whole = checked[0]
	for i, part := range checked[1:] {
		before, start := assumed[i+1].chain, whole.chain.start
		if before.start = start; before != whole.chain {
			return whole, false
		}
		if part.chain.start < 0 { // one batch, which began in an earlier part
			part.chain.start = start
		}
		whole.chain = part.chain
		whole.ends = append(whole.ends, part.ends...)
		if whole.newer == "" {
			whole.newer = part.newer
		}
	}
	return whole, true
}

// chainNear returns the place behind the first whole line after offset, as that line says. It cannot know where the
// line's batch begins.
func chainNear(file *os.File, offset int64) (c chain, ok bool) {
	text := make([]byte, 2*maxLine)
	n, _ := file.ReadAt(text, offset) // less is no trouble
	cutOff, text, _ := bytes.Cut(text[:n], []byte{'\n'})
	line, _, ok := bytes.Cut(text, []byte{'\n'})
	if !ok {
		return c, false
	}
	from := offset + int64(len(cutOff)) + 1
	line = text[:len(line)+1]
	r, ok := cut(line)
	return chain{seq: r.seq, epoch: r.epoch, sum: r.sum, batch: r.batch, start: -1, end: from + int64(len(line))}, ok
}
