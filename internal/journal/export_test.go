package journal

// SetSegmentSize sets at which size journals that are opened later seal their segment.
func SetSegmentSize(size int64) { segmentSize = size }

// Limit sets at which size the open segment is sealed.
func (l *Log) Limit(size int64) *Log {
	l.limit = size
	return l
}
