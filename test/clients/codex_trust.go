package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// codexTrusts does what a user does in Codex under /hooks: it lists the hooks and trusts them. Until then Codex does not run them,
// without a message.
func codexTrusts(ctx context.Context, p place, program []string) error {
	hooks, err := codexHooks(ctx, p, program)
	if err != nil {
		return fmt.Errorf("ask codex for its hooks: %w", err)
	}
	var trusted strings.Builder
	for _, h := range hooks {
		fmt.Fprintf(&trusted, "\n[hooks.state.%q]\ntrusted_hash = %q\n", h.Key, h.CurrentHash)
	}
	config, err := os.OpenFile(p.home(".codex", "config.toml"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = config.WriteString(trusted.String())
	return errors.Join(err, config.Close())
}

// codexHook is a hook as Codex lists it.
type codexHook struct{ Key, CurrentHash, TrustStatus string }

// codexHooks asks Codex's app-server, which speaks JSON-RPC in lines.
func codexHooks(ctx context.Context, p place, program []string) ([]codexHook, error) {
	server := p.command(ctx, nil, append(program, "app-server")...)
	in, err := server.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := server.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := server.Start(); err != nil {
		return nil, err
	}
	defer server.Wait() // it was killed
	defer server.Process.Kill()
	for _, said := range []object{
		{"id": 1, "method": "initialize", "params": object{"clientInfo": object{"name": "clients", "version": "1"}}},
		{"method": "initialized"},
		{"id": 2, "method": "hooks/list", "params": object{"cwds": []string{p.project()}}},
	} {
		if _, err := in.Write(append(inJSON(said), '\n')); err != nil {
			return nil, err
		}
	}
	return codexAnswer(out)
}

// codexAnswer reads up to the answer to the second question.
func codexAnswer(out io.Reader) ([]codexHook, error) {
	lines := bufio.NewScanner(out)
	for lines.Buffer(nil, 1<<20); lines.Scan(); {
		var answer struct {
			ID     int
			Result struct{ Data []struct{ Hooks []codexHook } }
		}
		if err := json.Unmarshal(lines.Bytes(), &answer); err != nil {
			return nil, err
		}
		if answer.ID == 2 && len(answer.Result.Data) == 1 {
			return answer.Result.Data[0].Hooks, nil
		}
	}
	return nil, errors.New("its answer does not list them")
}
