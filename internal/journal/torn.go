package journal

import (
	"bytes"
	"fmt"
	"path/filepath"
	"time"

	"pawl/internal/disk"
)

// maxTorn is the largest torn tail. A journal with more behind its last good line was not left by a writer of one batch, and
// is not read to its end: a sparse file can have any size.
const maxTorn = 256 << 20

// torn reports whether the bad line, where event c.seq+1 should be, starts a torn tail, as left by a writer that died
// before its sync: the end of the file is missing, or blocks that never reached the disk read as NUL, and no line of a
// later batch follows. A later batch would prove that this one was synced.
func torn(in *lines, line []byte, c chain) (bool, error) {
	if in.end-c.end > maxTorn || !in.unterminated(line) && !hasNUL(line) || lostNewline(line, c) {
		return false, nil
	}
	for {
		line, err := in.next()
		if line == nil || err != nil {
			return err == nil, err
		}
		if in.unterminated(line) || hasNUL(line) {
			continue
		}
		if r, ok := splitLine(line); !ok || r.seq <= c.seq+1 || r.batch > c.seq+1 {
			return false, nil
		}
	}
}

// unterminated reports whether line is the last one and lacks its newline.
func (in *lines) unterminated(line []byte) bool { return line[len(line)-1] != '\n' && in.done() }

func hasNUL(line []byte) bool { return bytes.IndexByte(line, 0) >= 0 }

// lostNewline reports whether line would be the valid next line if its last byte were a newline.
func lostNewline(line []byte, c chain) bool {
	last := len(line) - 1
	if line[last] == '\n' || line[last] == 0 {
		return false
	}
	_, err := c.follow(append(bytes.Clone(line[:last]), '\n')) // c is a copy
	return err == nil
}

// tornPrefix starts the names of the files for torn tails; offset and time follow.
const tornPrefix = "journal.torn-"

// saveTornTail moves a torn tail to a file of its own. That file is durable before the tail is truncated, and the
// truncation is durable before new events are written.
func (l *Log) saveTornTail() error {
	tail := make([]byte, l.size-l.chain.end)
	if _, err := l.file.ReadAt(tail, l.chain.end); err != nil {
		return fmt.Errorf("read torn tail: %w", err)
	}
	name := fmt.Sprintf("%s%d-%s", tornPrefix, l.chain.end, time.Now().UTC().Format("20060102T150405.000000000Z"))
	if err := disk.Replace(filepath.Join(l.home, name), tail); err != nil {
		return fmt.Errorf("save torn tail: %w", err)
	}
	if err := l.file.Truncate(l.chain.end); err != nil {
		return fmt.Errorf("truncate torn tail: %w", err)
	}
	l.size = l.chain.end
	if err := l.file.Sync(); err != nil {
		return fmt.Errorf("%w: %w", errUnsynced, err)
	}
	return nil
}
