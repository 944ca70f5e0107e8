package pack

// Stored returns how many bytes an object takes on disk.
func (s *Store) Stored(id ID) (int64, error) {
	data, err := s.Get(id)
	return int64(len(data)), err
}
