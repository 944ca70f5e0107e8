package runs

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/redact"
)

// PlanSecrets returns where a plan contains what is certainly a secret, one line each. A plan is executed as it is
// written, so it cannot be redacted.
func PlanSecrets(plan *pawl.Plan) []string {
	var found []string
	secretsIn(reflect.ValueOf(plan).Elem(), "", func(where, kind string) {
		found = append(found, fmt.Sprintf("%s contains a secret (%s)", where, kind))
	})
	return found
}

// secretsHint says what to do instead.
const secretsHint = "set the secret in the environment of pawl, and name it in the plan: env: {NAME: $NAME}"

// RefuseSecrets returns an error if a plan contains secrets that the plan of which it is an edit does not contain. was is
// nil for a new plan. source is the plan's file, "" for a command.
func RefuseSecrets(source string, was, plan *pawl.Plan) error {
	found := PlanSecrets(plan)
	if was != nil {
		known := PlanSecrets(was)
		found = slices.DeleteFunc(found, func(secret string) bool { return slices.Contains(known, secret) })
	}
	if len(found) == 0 {
		return nil
	}
	return &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("%s: %s", cmp.Or(source, "command"), strings.Join(found, "; ")), Hint: secretsHint}
}

// secretsIn reports the secrets in all texts within v, which is at where in a plan.
func secretsIn(v reflect.Value, where string, report func(where, kind string)) {
	switch v.Kind() {
	case reflect.String:
		if kind := redact.Sure(v.String()); kind != "" {
			report(where, kind)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			secretsIn(v.Elem(), where, report)
		}
	case reflect.Slice:
		for i := range v.Len() {
			at := fmt.Sprintf("%s[%d]", where, i)
			switch of := v.Index(i).Interface().(type) {
			case pawl.Step:
				at = fmt.Sprintf("step %q", of.ID)
			case pawl.Phase:
				at = ""
			}
			secretsIn(v.Index(i), at, report)
		}
	case reflect.Map:
		for _, key := range slices.Sorted(maps.Keys(textKeys(v))) {
			secretsIn(textKeys(v)[key], where+"."+key, report)
		}
	case reflect.Struct:
		if value, ok := v.Interface().(pawl.Variable); ok {
			secretsIn(reflect.ValueOf(value.Value), where, report)
			return
		}
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
			secretsIn(v.Field(i), fieldOf(where, name), report)
		}
	}
}

// textKeys returns the values of a map by the text of their keys.
func textKeys(v reflect.Value) map[string]reflect.Value {
	all := map[string]reflect.Value{}
	for key, value := range v.Seq2() {
		all[key.String()] = value
	}
	return all
}

// fieldOf returns the name of a field: of a step "step \"x\": run", within it "step \"x\": agent.prompt".
func fieldOf(where, name string) string {
	switch {
	case where == "":
		return name
	case strings.HasSuffix(where, `"`):
		return where + ": " + name
	}
	return where + "." + name
}

// RefuseSecretValues returns an error if a value of a foreach list is certainly a secret: values are compared and executed.
func RefuseSecretValues(values []string) error {
	if redact.Sure(strings.Join(values, "\n")) == "" {
		return nil
	}
	for i, value := range values {
		if kind := redact.Sure(value); kind != "" {
			return UsageError("", "item list: value %d is a secret (%s); list names, and let the step read each secret by its name", i+1, kind)
		}
	}
	return nil
}
