package main

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"pawl/durable"
)

// TestMain lets the test binary be the program: it takes the arguments that ordersArgs has.
const ordersArgs = "ORDERS_TEST_ARGS"

func TestMain(m *testing.M) {
	if args, ok := os.LookupEnv(ordersArgs); ok {
		os.Args = append(os.Args[:1], strings.Fields(args)...)
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), ordersArgs+"="+strings.Join(args, " "))
	c.Stderr = os.Stderr
	return c
}

// TestKilledAndRecovered kills the program with SIGKILL while its orders wait, and starts it again.
func TestKilledAndRecovered(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := program(t, dir, "a", "b")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for said := []string{}; !slices.Contains(said, "a reserved") || !slices.Contains(said, "b reserved"); {
		if !lines.Scan() {
			t.Fatalf("the program ended: %v", said)
		}
		said = append(said, lines.Text())
	}
	if err := durable.Signal(context.Background(), dir, "a", "paid", 7); err != nil {
		t.Fatal(err)
	}
	for want := "a label printed"; lines.Text() != want; {
		if !lines.Scan() {
			t.Fatalf("the program ended before %q", want)
		}
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	if err := program(t, "-paid", dir, "b").Run(); err != nil {
		t.Fatal(err)
	}

	again, err := program(t, dir).Output()
	if err != nil {
		t.Fatal(err)
	}
	said := strings.Split(strings.TrimSpace(string(again)), "\n")
	for _, want := range []string{"resumed b <nil>", "b paid 100", "b label printed", "b label printed <nil>"} {
		if !slices.Contains(said, want) {
			t.Errorf("no line %q in %q", want, said)
		}
	}
	for _, wrong := range []string{"a reserved", "b reserved", "a paid 7"} {
		if slices.Contains(said, wrong) {
			t.Errorf("a finished step ran again: %q in %q", wrong, said)
		}
	}
}
