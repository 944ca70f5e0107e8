package variables

import (
	"embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"pawl/internal/kernel"
)

//go:embed python/*.py
var programs embed.FS

// parts are the files of the program for Python, in the order in which they are executed.
const parts = "names canonical formats definitions sharing save load listing serve"

// program returns the program for Python.
var program = sync.OnceValue(func() string {
	var text strings.Builder
	for _, name := range strings.Fields(parts) {
		data, err := programs.ReadFile("python/" + name + ".py")
		if err != nil {
			panic(err) // it is embedded
		}
		text.Write(data)
	}
	return text.String()
})

// Supports reports whether variables of kernels of a language are saved.
func Supports(language string) bool { return strings.EqualFold(language, "python") }

// SetupCell returns the cell that has to be executed once after each start of a kernel, before the first other one of this package.
func SetupCell() string {
	code := base64.StdEncoding.EncodeToString([]byte(program() + "\ninstall()\n"))
	return cell(`_pawl_.exec(_pawl_.compile(_pawl_.__import__("base64").b64decode("` + code +
		`"), "<pawl variables>", "exec", 0, True), {"__name__": "_pawl_variables"})`)
}

// callCell returns a cell that hands a request to the program. Names of the user may hide those of Python's own functions, so it uses none.
func callCell(request any) (string, error) {
	data, err := json.Marshal(request)
	if err != nil {
		return "", err
	}
	argument := base64.StdEncoding.EncodeToString(data)
	return cell(`_pawl_.__import__("sys").modules["_pawl_variables"].run("` + argument + `", _pawl_.globals())`), nil
}

func cell(statement string) string {
	return "import builtins as _pawl_\ntry:\n    " + statement + "\nfinally:\n    del _pawl_\n"
}

// answer decodes the answer to the request with an id from the messages of its cell.
func answer(messages []kernel.Message, id string, into any) error {
	for _, m := range messages {
		data, ok := m.Data[MIME]
		if m.Kind != kernel.KindDisplay || !ok {
			continue
		}
		var head struct{ ID, Error string }
		if err := json.Unmarshal(data, &head); err != nil {
			return fmt.Errorf("read the kernel's answer: %w", err)
		}
		if head.ID != id {
			continue
		}
		if head.Error != "" {
			return errors.New(head.Error)
		}
		return json.Unmarshal(data, into)
	}
	return ErrNoAnswer
}

// Listing asks for the variables of a kernel.
type Listing struct {
	ID   string `json:"id"`
	Code string `json:"-"`
}

// Listed is a variable of a kernel.
type Listed struct {
	Name  string  `json:"name"`
	Type  string  `json:"type"`
	Shape []int64 `json:"shape,omitempty"`
	Dtype string  `json:"dtype,omitempty"`
	Bytes int64   `json:"bytes"` // in memory; of containers without their content
	Hash  string  `json:"hash,omitempty"`
	Saved bool    `json:"saved"`         // the newest checkpoint has it as it is
	Why   string  `json:"why,omitempty"` // why the newest checkpoint does not have it
}

// ListCell returns a cell that lists the variables without saving them.
func ListCell(id string) (Listing, error) {
	limits := Limits{}.withDefaults()
	code, err := callCell(map[string]any{"action": "list", "id": id, "limits": limits.json()})
	return Listing{ID: id, Code: code}, err
}

// Result returns the variables, and how many more there are.
func (l Listing) Result(messages []kernel.Message) (list []Listed, more int, err error) {
	var result struct {
		Variables []Listed
		More      int
	}
	err = answer(messages, l.ID, &result)
	return result.Variables, result.More, err
}
