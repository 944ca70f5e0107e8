package runner

import (
	"encoding/base64"
	"encoding/json"
	"strings"
)

// environCode returns code that sets variables of the environment; "" for a language that pawl does not know. The values are
// data, never code.
func environCode(language string, env []string) string {
	values := map[string]string{}
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		values[name] = value
	}
	data, err := json.Marshal(values)
	if err != nil {
		panic("a map of strings is JSON: " + err.Error())
	}
	text := base64.StdEncoding.EncodeToString(data)
	switch language {
	case "python":
		return "__import__('os').environ.update(__import__('json').loads(__import__('base64').b64decode('" + text + "')))"
	case "r":
		return "invisible(do.call(Sys.setenv, as.list(jsonlite::fromJSON(rawToChar(jsonlite::base64_dec('" + text + "'))))))" // IRkernel needs jsonlite
	}
	return ""
}
