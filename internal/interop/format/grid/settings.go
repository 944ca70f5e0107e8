package grid

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"pawl"
	"slices"
	"strconv"
	"strings"
)

// readSettings keeps the settings of a JSON file as facts.
func (r *clusterReader) readSettings(name, prefix string) {
	f := r.file(name)
	if f == nil {
		return
	}
	var settings map[string]any
	decoder := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(f.Data, []byte("\uFEFF"))))
	decoder.UseNumber()
	if err := decoder.Decode(&settings); err != nil {
		r.Warn(f.Path, "invalid JSON: %v", err)
		return
	}
	r.flatten(prefix, settings)
}

func (r *clusterReader) flatten(name string, value any) {
	const longest = 500 // of a name: what is nested deeper is no setting
	if len(name) > longest {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			r.flatten(name+"."+key, value[key])
		}
	case []any:
		for i, item := range value {
			r.flatten(name+"."+strconv.Itoa(i+1), item)
		}
	case nil:
	default:
		r.fact(name, fmt.Sprint(value))
	}
}

// mostUSD is the largest limit that is taken for one.
const mostUSD = 1e9

// readBudget takes a limit that the settings want enforced for the run's budget. Only dollars are counted by pawl.
func (r *clusterReader) readBudget(prefix string) {
	limit := r.out.Facts[prefix+".budget_limit"]
	if limit == "" || !strings.EqualFold(r.out.Facts[prefix+".enforcement"], "hard") {
		return
	}
	usd, err := strconv.ParseFloat(limit, 64)
	if currency := r.out.Facts[prefix+".currency"]; err != nil || !(usd > 0 && usd <= mostUSD) || !strings.EqualFold(currency, "USD") {
		r.Find(pawl.Warn, r.grid+prefix+".json", "set budget in the run's plan", "%s is not enforced by pawl", strings.TrimSpace("the budget_limit "+limit+" "+currency))
		return
	}
	r.out.Budget.USD = usd
}
