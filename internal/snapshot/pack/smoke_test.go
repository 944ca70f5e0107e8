package pack

import "testing"

func TestRoundTrip(t *testing.T) {
	s, err := Open(t.Context(), t.TempDir()+"/s")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b, err := s.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	id, err := b.Put([]byte("hello"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Commit(t.Context(), []byte("one")); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Get(id); err != nil || string(got) != "hello" {
		t.Fatal(got, err)
	}
}
