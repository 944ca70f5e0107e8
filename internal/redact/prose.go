package redact

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"pawl"
)

// OfProcess returns the Redactor that knows the secret variables of this process, and what Learn was given.
func OfProcess() *Redactor {
	if r := learned.Load(); r != nil {
		return r
	}
	return ofEnvironment()
}

var ofEnvironment = sync.OnceValue(func() *Redactor { return New(os.Environ()) })

// learned is the Redactor that Learn made, nil for none.
var learned atomic.Pointer[Redactor]

// Learn makes OfProcess redact the values of more secrets, by name: those that a run was given.
func Learn(secrets map[string]string) {
	if len(secrets) > 0 {
		learned.Store(newRedactor(newTable(values(os.Environ(), secrets)), general()))
	}
}

// Event returns the event that carries payload, with its prose redacted. All events are made here, so that no prose gets
// into a journal with its secrets.
func (r *Redactor) Event(by pawl.Author, payload pawl.Payload) (pawl.Event, error) {
	clean, ok := r.redacted(reflect.ValueOf(payload), proseOf).Interface().(pawl.Payload)
	if !ok {
		panic("redaction changes the type of " + string(payload.Event()))
	}
	return pawl.NewEvent(by, clean)
}

// prose are the fields of payloads that are text for people and models, by type. Nothing ever compares or executes them.
// All other fields stay as they are: identifiers, paths, hashes, commands, options, items. A test at the module's root
// knows the fields of all payloads, and fails for one that is in neither list.
var prose = map[string]string{
	"AttemptEnded":      "Why Value Summary Blockers",
	"AttemptStats":      "Leftovers",
	"Blocker":           "Text Needs How",
	"BlockerCleared":    "How",
	"CheckRun":          "Output",
	"ServiceWait":       "Output",
	"Checkpoint":        "Why",
	"CheckpointsPruned": "Why",
	"Decision":          "Question Options Choice Why",
	"EngineStarted":     "Why",
	"EngineStopped":     "Why",
	"Finding":           "What Evidence Hint",
	"Gate":              "Ask Expect",
	"GateAnswered":      "Why",
	"GateWithdrawn":     "Why",
	"Heartbeat":         "Evidence",
	"ItemDone":          "Summary Adopted",
	"ItemNamed":         "Title",
	"Marker":            "Attributes Content",
	"Memory":            "Text",
	"MemoryLearned":     "Unwritten",
	"NoticeSent":        "Error",
	"Operation":         "Summary",
	"OperationEnded":    "Error",
	"OperationJudged":   "Evidence",
	"OperationLeft":     "Summary",
	"OperationSettled":  "Why",
	"Progressed":        "Text Cell",
	"RecoveredPart":     "What Evidence",
	"RollbackEnded":     "Stopped",
	"RunCreated":        "Goal",
	"RunEnded":          "Why",
	"RunImported":       "Next Facts",
	"RunPaused":         "Why",
	"RunPlanned":        "Goal",
	"RunRecovered":      "Why Accepted",
	"RunReopened":       "Why",
	"RunStopped":        "Why",
	"ServiceReleased":   "Why",
	"SessionEnded":      "Why",
	"SessionPrompted":   "Text",
	"SessionTurned":     "Why Said",
	"Snapshot":          "None",
	"StepDone":          "Summary Adopted",
	"StepFailed":        "Why",
	"StepReopened":      "Why",
	"StepReviewed":      "Comment",
	"StepSkipped":       "Why",
	"ItemsSkipped":      "Why",
	"UndoFailed":        "Why",
	"UndoSkipped":       "Why",
	"Verdict":           "Reasons Doubt",
	"WatchdogActed":     "Evidence",
}

// use says what redaction does with a field.
type use int

const (
	verbatim use = iota // nothing
	proseOf             // redacts the prose in a struct, or in several
	allText             // redacts each text
)

// uses caches the uses of the fields of a struct type.
var uses sync.Map // reflect.Type → []use

func usesOf(t reflect.Type) []use {
	if known, ok := uses.Load(t); ok {
		return known.([]use)
	}
	names := strings.Fields(prose[t.Name()])
	all := make([]use, t.NumField())
	for i := range all {
		switch field := t.Field(i); {
		case slices.Contains(names, field.Name):
			all[i] = allText
		case hasProse(field.Type):
			all[i] = proseOf
		}
	}
	uses.Store(t, all)
	return all
}

// hasProse reports whether values of a type contain prose.
func hasProse(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return hasProse(t.Elem())
	case reflect.Struct:
		ours := t.PkgPath() == reflect.TypeFor[pawl.Event]().PkgPath()
		return ours && slices.ContainsFunc(usesOf(t), func(how use) bool { return how != verbatim })
	}
	return false
}

// redacted returns a redacted copy of v.
func (r *Redactor) redacted(v reflect.Value, how use) reflect.Value {
	clean := reflect.New(v.Type()).Elem()
	clean.Set(v)
	switch v.Kind() {
	case reflect.String:
		clean.SetString(r.Text(v.String()))
	case reflect.Pointer:
		if !v.IsNil() {
			clean.Set(reflect.New(v.Type().Elem()))
			clean.Elem().Set(r.redacted(v.Elem(), how))
		}
	case reflect.Slice:
		if !v.IsNil() {
			clean.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		}
		for i := range v.Len() {
			clean.Index(i).Set(r.redacted(v.Index(i), how))
		}
	case reflect.Map:
		if !v.IsNil() {
			clean.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
		}
		for key, value := range v.Seq2() {
			clean.SetMapIndex(key, r.redacted(value, how))
		}
	case reflect.Struct:
		for i, how := range usesOf(v.Type()) {
			if how != verbatim {
				clean.Field(i).Set(r.redacted(v.Field(i), how))
			}
		}
	}
	return clean
}
