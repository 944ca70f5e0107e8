package pawl_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pawl"
	"pawl/internal/redact"
)

// verbatim are the texts in payloads that are never redacted, because they are compared, executed or looked up later. All
// other texts are prose, which package redact lists. A field that is in neither list, or in both, fails TestProse.
var verbatim = map[string]string{
	"AttemptEnded":     "Outcome Reason Unmet Gate",
	"AttemptRef":       "Step Item Token",
	"AttemptStarted":   "Seal Input",
	"AttemptRejoined":  "Seal",
	"Trace":            "ID Parent",
	"UndoStarted":      "Seal",
	"Blocker":          "Step",
	"BudgetSpent":      "Budget Used Limit",
	"CheckRun":         "Name",
	"Checkpoint":       "ID Kind Step Item",
	"Content":          "SHA256",
	"Conversation":     "Agent ID Definition",
	"Decision":         "By Step",
	"EngineStarted":    "Host Home Boot",
	"NoticeSent":       "Notice Kind To",
	"Expected":         "Path Was Will",
	"FilesRestored":    "Checkpoint From Before Paths",
	"Finding":          "Level Where",
	"Fork":             "Run Checkpoint Origin",
	"Gate":             "ID Step Item Type Purpose Budget Plan Options Default",
	"Given":            "Value Hash",
	"GateAnswered":     "Gate Step Answer Option Where Plan Via",
	"GateExpired":      "Gate",
	"GateWithdrawn":    "Gate",
	"Heartbeat":        "Health",
	"ItemDone":         "Accept",
	"ItemNamed":        "Step Item Status Outputs Commit",
	"Key":              "Definition Needs",
	"Marker":           "Type Subtype",
	"Memory":           "Kind",
	"Operation":        "ID Session Tool Kind Digest Paths Named Gone Dir Head",
	"OperationEnded":   "Operation Session Digest Answer Source",
	"OperationJudged":  "Operation Verdict Traces Told Paths",
	"OperationLeft":    "Session Tool Dir",
	"OperationSettled": "Operation",
	"OutputsChanged":   "Step Paths",
	"Parallel":         "From Step",
	"Process":          "BootID PIDNS",
	"RecoveredPart":    "Step Item Status Confidence",
	"RestoreIntent":    "Checkpoint From Paths",
	"RollbackEnded":    "Checkpoint",
	"RollbackStarted":  "Checkpoint",
	"Earlier":          "Run",
	"ResultsAdopted":   "Run Origin",
	"RunCreated":       "Run Project Kind Name Mode Pawl Shell Request Proof",
	"RunEnded":         "Handler Status",
	"RunImported":      "System Path Place Name ID Status",
	"RunMirrored":      "System Path",
	"RunPlanned":       "File SHA256 Source Mode",
	"SessionBegan":     "Session Source Dir Worktree Transcript Model Step",
	"SessionCompacted": "Session Trigger",
	"SessionEnded":     "Session",
	"SessionPrompted":  "Session Digest",
	"SessionTold":      "Session Open",
	"SessionTurned":    "Session Doing Digest",
	"Snapshot":         "Record Tree",
	"Source":           "File",
	"StepChecked":      "Step Accept",
	"StepDone":         "Step Token Digest Accept Result Blob Undo",
	"StepFailed":       "Step",
	"StepListed":       "Step Items",
	"StepReopened":     "Step",
	"StepReviewed":     "Step Reviewer",
	"StepSkipped":      "Step Condition",
	"ItemsSkipped":     "Step",
	"UndoFailed":       "Outcome Reason",
	"Verdict":          "Word Rule Open By",
	"WatchdogActed":    "Health Action",

	"CheckpointsPruned": "Checkpoints",
}

// secret is the text that fills each field. It is assembled so that nobody takes it for a real one.
var secret = "gh" + "p_" + "0123456789abcdefghijABCDEFGHIJ012345"

// Each text in each payload is either redacted or declared as verbatim.
func TestProse(t *testing.T) {
	t.Parallel()
	payloads, err := pawl.EveryPayload()
	if err != nil {
		t.Fatal(err)
	}
	declared, met := map[string]bool{}, map[string]bool{}
	for name, fields := range verbatim {
		for field := range strings.FieldsSeq(fields) {
			declared[name+"."+field] = true
		}
	}
	for _, empty := range payloads {
		full := reflect.New(reflect.TypeOf(empty)).Elem()
		fill(full)
		before := texts(full, "")
		event, err := redact.New(nil).Event(pawl.Author{}, full.Interface().(pawl.Payload))
		if err != nil {
			t.Fatal(err)
		}
		if again := texts(full, ""); !reflect.DeepEqual(before, again) {
			t.Errorf("%s: the given payload was changed", event.Type)
		}
		after, err := event.Payload()
		if err != nil {
			t.Fatal(err)
		}
		for field, all := range texts(reflect.ValueOf(after), "") {
			same := declared[field]
			met[field] = true
			switch kept := slices.ContainsFunc(all, func(text string) bool { return strings.Contains(text, secret) }); {
			case kept && !same:
				t.Errorf("%s is not redacted: add it to the list of package redact if it is prose, or to verbatim in this test if it is compared or executed", field)
			case !kept && same:
				t.Errorf("%s is redacted, and declared as verbatim", field)
			}
		}
	}
	for field := range declared {
		if !met[field] {
			t.Errorf("verbatim has %s, which no payload has", field)
		}
	}
}

// fill sets all texts in v to the secret.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(secret)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes([]byte(`"` + secret + `"`))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		value := reflect.New(v.Type().Elem()).Elem()
		fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("name").Convert(v.Type().Key()), value)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type() != reflect.TypeFor[time.Time]() {
				fill(v.Field(i))
			}
		}
	}
}

// texts returns all texts in v by the field that holds them. Keys of maps are identifiers.
func texts(v reflect.Value, field string) map[string][]string {
	all := map[string][]string{}
	add := func(more map[string][]string) {
		for name, list := range more {
			all[name] = append(all[name], list...)
		}
	}
	switch v.Kind() {
	case reflect.String:
		all[field] = []string{v.String()}
	case reflect.Pointer:
		if !v.IsNil() {
			return texts(v.Elem(), field)
		}
	case reflect.Slice:
		if data, ok := v.Interface().(json.RawMessage); ok {
			all[field] = []string{string(data)}
			return all
		}
		for i := range v.Len() {
			add(texts(v.Index(i), field))
		}
	case reflect.Map:
		for _, value := range v.Seq2() {
			add(texts(value, field))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type() != reflect.TypeFor[time.Time]() {
				add(texts(v.Field(i), v.Type().Name()+"."+v.Type().Field(i).Name))
			}
		}
	}
	return all
}

// Only package redact makes events: all others leave the prose to it.
func TestOnlyRedactMakesEvents(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if p.ImportPath == "pawl/internal/redact" || layerOf[p.ImportPath] == "tests" || strings.HasSuffix(p.ImportPath, "test") {
			continue
		}
		for _, name := range append(slices.Clone(p.GoFiles), p.IgnoredGoFiles...) {
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.SelectorExpr)
				if !ok || call.Sel.Name != "NewEvent" {
					return true
				}
				if in, ok := call.X.(*ast.Ident); ok && in.Name == "pawl" {
					t.Errorf("%s: make events with redact.Redactor.Event, which redacts them", files.Position(n.Pos()))
				}
				return true
			})
		}
	}
}
