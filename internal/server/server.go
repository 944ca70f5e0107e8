// Package server is the daemon of `pawl serve`. It resumes the runs of all of the user's projects whose engines died, each in a process
// of its own, and serves the state of the projects over HTTP.
//
// It holds no state that matters: what a run is, its journal says. The server may be killed at any time; the engines that it started
// continue, and the next server finds them.
package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"pawl/internal/httpaccess"
)

// Config configures a server.
type Config struct {
	httpaccess.Service
	Version string
	Out     io.Writer // gets one line of JSON once the server listens
	Log     io.Writer // gets one line per project that is recovered, or is not

	// Pawl runs a command of pawl in a folder as a process of its own, and returns what it prints. The error of a command that fails is
	// a *CommandError.
	Pawl func(ctx context.Context, folder string, args ...string) ([]byte, error)
}

// Limits of a request.
const (
	maxBody     = 1 << 20 // bytes
	readHeader  = 5 * time.Second
	readRequest = 30 * time.Second
	writeAnswer = 60 * time.Second
	drain       = 10 * time.Second // for requests that are under way when the server stops
)

// Ready is the line that a server prints once it listens.
type Ready struct {
	URL       string `json:"url"`
	TokenFile string `json:"token_file,omitempty"`
	Ready     bool   `json:"ready"`
}

// Run serves until ctx ends. Engines that it started continue.
func Run(ctx context.Context, c Config) error {
	manager := managerOfProcess()
	listener, err := httpaccess.Listen(ctx, c.Address, "pawl serve")
	if err != nil {
		return err
	}
	address := listener.Addr().String()
	r := newRecovery(c)
	s := &http.Server{
		Handler: r.handler(address, c), ReadHeaderTimeout: readHeader, ReadTimeout: readRequest, WriteTimeout: writeAnswer,
	}
	line, err := json.Marshal(Ready{URL: "http://" + address, TokenFile: c.TokenFile, Ready: true})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(listener) }()
	fmt.Fprintf(c.Out, "%s\n", line)
	manager.tell("READY=1")
	recovering, stop := context.WithCancel(ctx)
	defer stop()
	swept := make(chan struct{})
	go func() { defer close(swept); r.run(recovering) }()
	select {
	case err = <-served:
	case <-ctx.Done():
		manager.tell("STOPPING=1")
		draining, release := context.WithTimeout(context.WithoutCancel(ctx), drain)
		err = s.Shutdown(draining)
		release()
		if end := <-served; !errors.Is(end, http.ErrServerClosed) {
			err = errors.Join(err, end)
		}
	}
	stop()
	<-swept
	return err
}
