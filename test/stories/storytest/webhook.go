package storytest

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"
)

// Webhook makes the fake agent serve a webhook until it is killed: fake-agent -webhook URLFILE LOG. It writes its URL into one file,
// and a line for each request into the other: the idempotency key, the authorization and the body. While there is a file named
// "hold" in its folder it does not answer; if there is one named "down" it answers 503.
const Webhook = "-webhook"

func serveWebhook(urlFile, log string) int {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil {
		err = os.WriteFile(urlFile+".new", []byte("http://"+listener.Addr().String()+"/hook\n"), 0o600)
	}
	if err == nil {
		err = os.Rename(urlFile+".new", urlFile)
	}
	if err == nil {
		err = http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answerWebhook(w, r, log) }))
	}
	fmt.Fprintln(os.Stderr, "webhook:", err)
	return 1
}

func answerWebhook(w http.ResponseWriter, r *http.Request, log string) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	f, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	fmt.Fprintf(f, "%s %s %q %s\n", r.Method, r.Header.Get("Idempotency-Key"), r.Header.Get("Authorization"), body)
	f.Close()
	exists := func(name string) bool { _, err := os.Stat(name); return err == nil }
	for exists("hold") && r.Context().Err() == nil {
		time.Sleep(10 * time.Millisecond) // the other side waits, not this test
	}
	if exists("down") {
		http.Error(w, "down for maintenance", http.StatusServiceUnavailable)
	}
}
