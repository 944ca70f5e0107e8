package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/config"
)

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRead(t *testing.T) {
	t.Parallel()
	minutes := func(n int) pawl.Duration { return pawl.Duration(time.Duration(n) * time.Minute) }
	cases := map[string]config.Config{
		"":             {},
		"# nothing\n":  {},
		"{}":           {},
		"\uFEFF{}":     {},
		"parallel: 3":  {Parallel: 3},
		"stalled: 12m": {Stalled: minutes(12)},
		"parallel: 4\noutput_cap: 1MiB\nheartbeat: 1m\nwarning: 2m\nstalled: 3m\n": {
			Parallel: 4, OutputCap: 1 << 20, Heartbeat: minutes(1), Warning: minutes(2), Stalled: minutes(3)},
		"evaluator: {provider: command, command: ask --json}": {
			Evaluator: config.Evaluator{Provider: config.Command, Command: "ask --json"}},
		"evaluator:\n  provider: openai\n  model: m\n  base_url: http://localhost:11434/v1\n  timeout: 2m\n  confidence: 0.8\n  price: {input: 3, output: 15.5}\n": {
			Evaluator: config.Evaluator{Provider: config.OpenAI, Model: "m", BaseURL: "http://localhost:11434/v1", Timeout: minutes(2), Confidence: 0.8,
				Price: config.Price{Input: 3, Output: 15.5}}},
		"evaluator: {}":                      {},
		"pid_namespace: true":                {PIDNamespace: true},
		"output_cap: 4096":                   {OutputCap: 4096},
		"output_cap: 7B":                     {OutputCap: 7},
		"output_cap: 2 GiB":                  {OutputCap: 2 << 30},
		`output_cap: "9223372036854775807B"`: {OutputCap: 1<<63 - 1},
	}
	for text, want := range cases {
		got, err := config.Read(write(t, text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: -want +got\n%s", text, diff)
		}
	}
}

func TestReadMissingFileGivesDefaults(t *testing.T) {
	t.Parallel()
	got, err := config.Read(filepath.Join(t.TempDir(), "config.yaml"))
	if err != nil || !cmp.Equal(got, config.Config{}) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	cases := map[string]string{ // text → line:column: message
		"paralel: 3":                        `1:1: unknown key "paralel" in config; did you mean "parallel"?`,
		"parallel: many":                    `1:11: "parallel" must be an integer, not a string`,
		"parallel: 0":                       `1:11: "parallel" must be at least 1`,
		"\n\noutput_cap: 256XB":             `3:13: "output_cap": invalid size "256XB"; use a form such as 256MiB`,
		"output_cap: -1":                    `1:13: "output_cap": invalid size "-1"; use a form such as 256MiB`,
		"output_cap: 8388608TiB":            `1:13: "output_cap": invalid size "8388608TiB"; use a form such as 256MiB`,
		"output_cap: MiB":                   `1:13: "output_cap": invalid size "MiB"; use a form such as 256MiB`,
		"output_cap: [1]":                   `1:13: "output_cap" must be a size, not a list; use a form such as 256MiB`,
		"output_cap: 0":                     `1:13: "output_cap" must be greater than 0; use a form such as 256MiB`,
		"heartbeat: 5":                      `1:12: "heartbeat": "5" is not a duration; use a form such as 90s, 4m or 1h30m`,
		"snapshots: {every: 0s}":            `1:20: "every" must be greater than 0; use a form such as 90s, 4m or 1h30m`,
		"heartbeat: 0s":                     `1:12: "heartbeat" must be greater than 0; use a form such as 90s, 4m or 1h30m`,
		"heartbeat: -5m":                    `1:12: "heartbeat": "-5m" is not a duration; use a form such as 90s, 4m or 1h30m`,
		"warning: 11m\nstalled: 11m":        `2:10: "stalled" (11m) must be more than "warning" (11m)`,
		"heartbeat: 10m":                    `1:12: "warning" (10m) must be more than "heartbeat" (10m)`,
		"stalled: 9m":                       `1:10: "stalled" (9m) must be more than "warning" (10m)`,
		"pid_namespace: maybe":              `1:16: "pid_namespace" must be true or false, not a string`,
		"\npid_namespace: 1":                `2:16: "pid_namespace" must be true or false, not an integer`,
		"heartbeat:":                        `1:11: "heartbeat" has no value; set one or remove the key`,
		"stalled: 1h\nstalled: 2h":          `2:1: duplicate key "stalled" (first used on line 1)`,
		"evaluator: {model: m}":             `1:1: "provider" is missing: command, anthropic or openai`,
		"evaluator: {provider: gpt}":        `1:23: "provider" must be command, anthropic or openai, not "gpt"`,
		"evaluator: {provider: command}":    `1:23: "command" is missing: set the command to run`,
		"evaluator:\n  provider: anthropic": `2:13: "model" is missing: set the provider's model to ask`,
		"evaluator: {provider: openai, model: m, base_url: x.com/v1}":                                                      `"base_url" must be a URL such as https://example.com/v1`,
		"evaluator: {provider: openai, model: m, timeout: 0s}":                                                             `"timeout" must be greater than 0`,
		"evaluator: {provider: openai, model: m, confidence: 2}":                                                           `"confidence" must be greater than 0 and at most 1`,
		"evaluator: {provider: openai, model: m, confidence: .nan}":                                                        `"confidence" must be greater than 0 and at most 1`,
		"evaluator: {provider: openai, model: m, confidence: high}":                                                        `"confidence" must be a number, not a string`,
		"evaluator: {provider: openai, model: m, price: {input: -1}}":                                                      `"input" must be the price in dollars of a million tokens`,
		"evaluator: {provider: openai, model: m, key: x}":                                                                  `unknown key "key" in`,
		"webhooks: [{name: ops, url: \"https://x.com\", secret_file: key}]":                                                `1:1: "webhooks" counts only in your own settings`,
		"webhooks: [{name: a/b, url: \"https://x.com\", secret_file: key}]":                                                `1:19: invalid name "a/b" of a webhook`,
		"webhooks: [{name: a, url: \"https://x.com\", secret_file: k}, {name: A, url: \"https://y.com\", secret_file: k}]": `duplicate webhook "A"`,
		"webhooks: [{name: a, url: \"http://x.com\", secret_file: k}]":                                                     `a webhook must use https`,
		"webhooks: [{name: a, url: \"https://x.com\"}]":                                                                    `a webhook needs "secret_file"`,
		"webhooks: [{name: a, url: \"https://x.com\", secret_file: k, on: [ending]}]":                                      `unknown kind of message "ending"`,
		"notify: [{on: [expiry], command: x}]":                                                                             `unknown kind of notification "expiry"`,
		"- parallel":                                                                                                       `1:1: a config file must be a mapping, not a list`,
		"parallel: [":                                                                                                      `invalid YAML`,
		"parallel: 1\n---\nwarning: 1":                                                                                     `a config file must be a single document`,
		"parallel: 1\x00":                                                                                                  `not a text file: byte 11 is 0x00; a config file must be YAML in UTF-8`,
		"take_over: 10m":                                                                                                   `"take_over" counts only in your own settings`,
		"gates: server-only":                                                                                               `"gates" counts only in your own settings`,
		"run_as: agent":                                                                                                    `"run_as" counts only in your own settings`,
		"proxy: {peers: [10.0.0.2], header: X-User, users: {ann: [read]}}":                                                 `"proxy" counts only in your own settings`,
	}
	for text, want := range cases {
		path := write(t, text)
		got, err := config.Read(path)
		if err == nil {
			t.Errorf("%q: accepted as %+v", text, got)
			continue
		}
		if !cmp.Equal(got, config.Config{}) {
			t.Errorf("%q: refused, and yet %+v", text, got)
		}
		if !strings.HasPrefix(err.Error(), path+":") || !strings.Contains(err.Error(), want) || pawl.KindOf(err) != pawl.KindUsage {
			t.Errorf("%q:\ngot  %v (%s)\nwant …%s", text, err, pawl.KindOf(err), want)
		}
	}
}

func TestReadNamesAllErrors(t *testing.T) {
	t.Parallel()
	_, err := config.Read(write(t, "parallel: 0\nwarning: x\nspeed: 3\n"))
	if err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("want three errors, got %v", err)
	}
}

func TestReadUnreadableFile(t *testing.T) {
	t.Parallel()
	_, err := config.Read(t.TempDir())
	if err == nil || pawl.KindOf(err) != pawl.KindInternal {
		t.Errorf("a folder: %v", err)
	}
}
