package journal

import "pawl"

// SetSegmentSize sets at which size journals that are opened later seal their segment.
func SetSegmentSize(size int64) { segmentSize = size }

// SetCommitsSize sets at which size commit logs are checkpointed.
func SetCommitsSize(size int64) { commitsSize = size }

// Limit sets at which size the open segment is sealed.
func (l *Log) Limit(size int64) *Log {
	l.limit = size
	return l
}

// AppendRecord appends a record of a commit log.
func AppendRecord(buf []byte, run pawl.RunID, data []byte) []byte {
	return appendRecord(buf, run, data)
}
