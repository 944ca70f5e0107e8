package oci

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"pawl/internal/remote/request"
)

// TestTokensWithoutTLS: a registry that is reached by https cannot send the user's login elsewhere in the clear, not even to this machine.
func TestTokensWithoutTLS(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s was sent", r.URL) }))
	t.Cleanup(other.Close)
	a := &access{client: request.New(nil), host: "registry.example.com"}
	_, err := a.token(t.Context(), login{name: "ann", password: "secret"}, map[string]string{"realm": other.URL})
	if err == nil || !strings.Contains(err.Error(), "not encrypted") {
		t.Errorf("%v", err)
	}
}
