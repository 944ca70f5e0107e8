package runs

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"pawl"
)

// CommandPlan returns a plan of one step that runs a command.
func CommandPlan(args []string) CreateOptions {
	quoted := make([]string, len(args))
	for i, arg := range args {
		quoted[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
	}
	data, err := json.Marshal(map[string]any{
		"name":  filepath.Base(args[0]),
		"steps": []any{map[string]any{"id": "command", "name": strings.Join(args, " "), "run": strings.Join(quoted, " "), "idempotent": false}},
	})
	if err != nil {
		panic("a map of strings is JSON, which is YAML too: " + err.Error())
	}
	return CreateOptions{Kind: pawl.CommandRun, Data: data}
}
