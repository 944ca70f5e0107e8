package notify

import (
	"net/http"
	"testing"
)

// TestPublicOnly: a name that has an address of this machine or of its network leads nowhere.
func TestPublicOnly(t *testing.T) {
	t.Parallel()
	for address, ok := range map[string]bool{
		"93.184.216.34:443": true, "[2606:2800:220:1::1]:443": true,
		"127.0.0.1:443": false, "10.1.2.3:443": false, "172.16.0.1:443": false, "192.168.1.1:443": false, "169.254.169.254:80": false,
		"100.64.0.1:443": false, "0.0.0.0:443": false, "224.0.0.1:443": false, "[::1]:443": false, "[fe80::1]:443": false, "[fd00::1]:443": false,
		"[::ffff:10.0.0.1]:443": false, "[64:ff9b::a00:1]:443": false, "nonsense": false,
	} {
		if err := publicOnly("tcp", address, nil); (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// TestNamed: what the user names is as the user means it.
func TestNamed(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]bool{"http://127.0.0.1:1": true, "http://localhost:1": true, "https://[fd00::1]": true, "https://hooks.example": false} {
		r, err := http.NewRequest(http.MethodPost, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if named(r) != want {
			t.Errorf("%s: %t", url, !want)
		}
	}
}
