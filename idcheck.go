package pawl

import (
	"fmt"
	"reflect"
)

// An idCheck returns an error if a value contains an id that is none. Events are read from journals that may come from
// anywhere, and ids become names of files.
type idCheck func(reflect.Value) error

// maxRunID is the maximum length of a run id, in bytes.
const maxRunID = maxID + len("-20060102-150405-0000")

// idTypes are the types of ids with their names and maximum lengths. Ids of sessions and operations are in no path.
var idTypes = map[reflect.Type]struct {
	name string
	most int
}{
	reflect.TypeFor[RunID]():        {"run id", maxRunID},
	reflect.TypeFor[StepID]():       {"step id", maxID},
	reflect.TypeFor[ItemID]():       {"item id", maxID},
	reflect.TypeFor[GateID]():       {"gate id", maxID},
	reflect.TypeFor[CheckpointID](): {"checkpoint id", maxID},
	reflect.TypeFor[Token]():        {"token", maxID},
}

// idCheckOf returns the check of a type; nil if its values contain no ids.
func idCheckOf(t reflect.Type) idCheck {
	if id, is := idTypes[t]; is {
		return func(v reflect.Value) error {
			if s := v.String(); s != "" && (len(s) > id.most || !legalName(s)) {
				return fmt.Errorf("invalid %s %q", id.name, s[:min(len(s), id.most)])
			}
			return nil
		}
	}
	switch t.Kind() {
	case reflect.Struct:
		return fieldsCheck(t)
	case reflect.Pointer:
		return pointerCheck(idCheckOf(t.Elem()))
	case reflect.Slice, reflect.Array:
		return elementsCheck(idCheckOf(t.Elem()))
	case reflect.Map:
		return entriesCheck(idCheckOf(t.Key()), idCheckOf(t.Elem()))
	}
	return nil
}

func fieldsCheck(t reflect.Type) idCheck {
	if t.PkgPath() != reflect.TypeFor[RunID]().PkgPath() { // such as time.Time
		return nil
	}
	var fields []int
	var checks []idCheck
	for i := range t.NumField() {
		if check := idCheckOf(t.Field(i).Type); check != nil {
			fields, checks = append(fields, i), append(checks, check)
		}
	}
	if len(checks) == 0 {
		return nil
	}
	return func(v reflect.Value) error {
		for i, check := range checks {
			if err := check(v.Field(fields[i])); err != nil {
				return err
			}
		}
		return nil
	}
}

func pointerCheck(check idCheck) idCheck {
	if check == nil {
		return nil
	}
	return func(v reflect.Value) error {
		if v.IsNil() {
			return nil
		}
		return check(v.Elem())
	}
}

func elementsCheck(check idCheck) idCheck {
	if check == nil {
		return nil
	}
	return func(v reflect.Value) error {
		for i := range v.Len() {
			if err := check(v.Index(i)); err != nil {
				return err
			}
		}
		return nil
	}
}

func entriesCheck(key, value idCheck) idCheck {
	if key == nil && value == nil {
		return nil
	}
	return func(v reflect.Value) error {
		for entries := v.MapRange(); entries.Next(); {
			if key != nil && entries.Key().String() != AllEntries { // of a compact key
				if err := key(entries.Key()); err != nil {
					return err
				}
			}
			if value != nil {
				if err := value(entries.Value()); err != nil {
					return err
				}
			}
		}
		return nil
	}
}
