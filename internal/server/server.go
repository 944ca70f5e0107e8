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
	"slices"
	"sync"
	"time"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/httpaccess"
	"pawl/internal/project"
	"pawl/internal/runs"
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

	// Post posts JSON to a webhook once. Unless private is true, a name in the URL must not have a private address.
	Post func(ctx context.Context, url string, headers map[string]string, body []byte, private bool) error

	// Variables returns the variables of the kernel in which a step runs or ran, as far as they are known. Defaults to none.
	Variables func(ctx context.Context, p *project.Project, run pawl.RunID, step pawl.StepID) ([]Variable, error)
}

// Limits of a request.
const (
	maxBody     = 1 << 20  // bytes
	maxHeader   = 64 << 10 // bytes
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

	Gates       config.GatePolicy `json:"gates,omitempty"`
	Unprotected string            `json:"unprotected,omitempty"` // why Gates does not protect against steps
}

// readiness returns what the server says of itself once it listens.
func (a *api) readiness(url string, own config.Config) (Ready, error) {
	ready := Ready{URL: url, TokenFile: a.TokenFile, Ready: true}
	local, err := a.proxied.local()
	if err != nil {
		return ready, err
	}
	if local != "" {
		local = fmt.Sprintf("every program that can connect from %s can approve in the name of anybody: it is a peer in \"proxy\", and an address of this machine", local)
		a.say("%s", local)
	}
	if own.Gates == "" {
		return ready, nil
	}
	ready.Gates = own.Gates
	var projects []*project.Project
	served, _ := entries() // the first look reports what cannot be read
	for _, e := range served {
		if p, err := project.Find(e.Path); err == nil && p.Trust.Trusted() {
			projects = append(projects, p)
		}
	}
	secrets := slices.DeleteFunc([]string{a.TokenFile, a.Private}, func(path string) bool { return path == "" })
	if ready.Unprotected = runs.Unprotected(own, secrets, projects...); ready.Unprotected != "" {
		a.say("%s", ready.Unprotected)
	} else {
		ready.Unprotected = local
	}
	return ready, nil
}

// configure reads the user's own settings.
func (a *api) configure(site *httpaccess.Site) (own config.Config, err error) {
	if own, err = config.ReadUser(""); err == nil {
		err = a.openHooks(own.Webhooks)
	}
	if err == nil && site.Forwarded {
		a.proxied, err = newProxied(own.Proxy)
	}
	return own, err
}

// Run serves until ctx ends. Engines that it started continue.
func Run(ctx context.Context, c Config) (err error) {
	manager := managerOfProcess()
	site, err := c.Remote.Listen(ctx, c.Address, "pawl serve --help")
	if err != nil {
		return err
	}
	r := newRecovery(c)
	a, err := newAPI(r, time.Now())
	if err != nil {
		return errors.Join(err, site.Close())
	}
	own, err := a.configure(site)
	if err != nil {
		return errors.Join(err, site.Close())
	}
	s := &http.Server{
		Handler: a.handler(site), ReadHeaderTimeout: readHeader, ReadTimeout: readRequest, WriteTimeout: writeAnswer, MaxHeaderBytes: maxHeader,
	}
	s.RegisterOnShutdown(r.hub.close)
	withdraw, err := a.store.Announce(site.URL, time.Now())
	if err != nil {
		return errors.Join(err, site.Close())
	}
	defer func() { err = errors.Join(err, withdraw()) }()
	ready, err := a.readiness(site.URL, own)
	if err != nil {
		return errors.Join(err, site.Close())
	}
	line, err := json.Marshal(ready)
	if err != nil {
		return errors.Join(err, site.Close())
	}
	served := make(chan error, 1)
	go func() { served <- site.Serve(s) }()
	fmt.Fprintf(c.Out, "%s\n", line)
	manager.tell("READY=1")
	recovering, stop := context.WithCancel(ctx)
	defer stop()
	var loops sync.WaitGroup
	loops.Go(func() { r.run(recovering) })
	loops.Go(func() { r.watch(recovering) })
	loops.Go(func() { a.actInBulk(recovering) })
	loops.Go(func() { r.hooks.Run(recovering, r.projects) })
	select {
	case err = <-served:
	case <-ctx.Done():
		manager.tell("STOPPING=1")
		draining, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
		err = s.Shutdown(draining)
		cancel()
		if end := <-served; !errors.Is(end, http.ErrServerClosed) {
			err = errors.Join(err, end)
		}
	}
	stop()
	loops.Wait()
	return errors.Join(err, r.hooks.Close())
}
