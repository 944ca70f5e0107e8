package dispatch_test

import (
	"strings"
	"testing"

	"pawl/internal/dispatch"
)

func sample() dispatch.Task {
	return dispatch.Task{
		Queue: "gpu", Project: "p", Run: "demo-20260101-000000-abcd", Step: "train", Item: "a", Attempt: 2, Token: "0123456789abcdef", Epoch: 3,
		Remote: strings.Repeat("0a", 16), Order: strings.Repeat("0b", 32),
	}
}

func TestTask(t *testing.T) {
	t.Parallel()
	data, err := sample().Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := dispatch.ParseTask(data)
	if err != nil || got.ID() != "demo-20260101-000000-abcd/train/a/0123456789abcdef" {
		t.Errorf("%+v, %v", got, err)
	}
	for name, change := range map[string]func(*dispatch.Task){
		"queue":   func(t *dispatch.Task) { t.Queue = "a b" },
		"run":     func(t *dispatch.Task) { t.Run = "../x" },
		"step":    func(t *dispatch.Task) { t.Step = "a/b" },
		"item":    func(t *dispatch.Task) { t.Item = ".." },
		"token":   func(t *dispatch.Task) { t.Token = "../../x" },
		"remote":  func(t *dispatch.Task) { t.Remote = "/mnt" },
		"order":   func(t *dispatch.Task) { t.Order = "" },
		"attempt": func(t *dispatch.Task) { t.Attempt = 0 },
	} {
		task := sample()
		change(&task)
		if data, err := task.Encode(); err == nil {
			t.Errorf("%s: encoded as %s", name, data)
		}
	}
}

// FuzzTask: whatever is in a queue, a task with parts that could be paths, or that are too long, is refused.
func FuzzTask(f *testing.F) {
	data, err := sample().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"format":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		task, err := dispatch.ParseTask(data)
		if err == nil && (strings.Contains(task.ID(), "..") && strings.Contains(task.ID(), "/../") || strings.ContainsAny(string(task.Token)+task.Remote, "/.")) {
			t.Errorf("accepted %q", data)
		}
	})
}
