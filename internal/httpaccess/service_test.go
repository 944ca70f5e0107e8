package httpaccess

import (
	"sync"
	"testing"
)

// TestOwnToken has several servers start together in a new state folder. All of them use one token.
func TestOwnToken(t *testing.T) {
	t.Setenv("PAWL_STATE", t.TempDir())
	var all sync.WaitGroup
	services := make([]Service, 8)
	for i := range services {
		all.Go(func() {
			if err := services[i].ReadToken("serve"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, s := range services {
		if s.Token == "" || s.Token != services[0].Token {
			t.Errorf("tokens %q and %q", s.Token, services[0].Token)
		}
	}
}
