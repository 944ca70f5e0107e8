package courier_test

import (
	"os"
	"path/filepath"
	"testing"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/dispatch/courier"
	"pawl/internal/snapshot"
)

// elsewhere returns a courier for the attempt in another project, which has neither its folder nor its files.
func (a *attempt) elsewhere() (c *courier.Courier, root string) {
	a.Helper()
	root = filepath.Join(a.TempDir(), "other")
	a.check(os.Mkdir(root, 0o700))
	objects, err := snapshot.Open(a.Context(), snapshot.Config{Root: root, Dir: filepath.Join(root, ".pawl", "snapshots")})
	a.check(err)
	a.Cleanup(func() { a.check(objects.Close()) })
	c = a.courier()
	c.Dir = filepath.Join(root, ".pawl", "runs", string(run), "steps", "train", "1")
	c.Job.Root, c.Job.Dir, c.Objects = root, root, objects
	c.Job.Env = append([]string{"PAWL_OUT=" + root + "/out"}, a.job.Env[1:]...)
	a.check(disk.MakeFolders(c.Dir))
	c.Events.Path = filepath.Join(c.Dir, pawl.EventsFile)
	return c, root
}

// TestEngineElsewhere: an engine on another machine joins the attempt by its token: its script runs once, and its files come there.
func TestEngineElsewhere(t *testing.T) {
	s := newSite(t)
	s.serve(s.worker("w1"))
	a := s.attempt(1, `echo ran >>"$HERE/begun"; until test -e "$HERE/go"; do sleep 0.02; done; echo x > made.txt`)
	here := a.here()
	first := make(chan error, 1)
	go func() { first <- a.courier().Run(t.Context()) }()
	a.eventually("it runs", a.exists(here, "begun"))
	c, root := a.elsewhere()
	over := make(chan error, 1)
	go func() { over <- c.Run(t.Context()) }()
	s.check(os.WriteFile(filepath.Join(here, "go"), nil, 0o600))
	s.check(<-over)
	s.check(<-first)
	made, err := os.ReadFile(filepath.Join(root, "made.txt"))
	ran, ranErr := os.ReadFile(filepath.Join(here, "begun"))
	if err != nil || ranErr != nil || string(made) != "x\n" || string(ran) != "ran\n" {
		t.Errorf("made %q, ran %q, %v, %v", made, ran, err, ranErr)
	}
}

// TestNeverSentElsewhere: an attempt whose files were never sent was never submitted, and without them it is lost.
func TestNeverSentElsewhere(t *testing.T) {
	s := newSite(t)
	a := s.attempt(1, "true")
	c, _ := a.elsewhere()
	s.check(c.Run(t.Context()))
	a.dir = c.Dir
	if exit := a.delivered(); exit.Reason != pawl.ReasonLost {
		t.Errorf("exit %+v", exit)
	}
}

// TestForeignOrder: an order that somebody else stored under the token of an attempt is not performed.
func TestForeignOrder(t *testing.T) {
	s := newSite(t)
	s.serve(s.worker("w1"))
	a := s.attempt(1, "true")
	a.carry()
	c, _ := a.elsewhere()
	c.Job.Script = "false"
	s.check(c.Run(t.Context()))
	a.dir = c.Dir
	if exit := a.delivered(); exit.Reason != pawl.ReasonError {
		t.Errorf("exit %+v", exit)
	}
}
