package gyoshu

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"pawl/internal/textedit/jsonedit"
)

// rule is a condition for the values at a path, in which "*" stands for each element of an array.
type rule struct {
	path     []string
	optional bool
	wrong    func(v *jsonedit.Value) string // the fault, "" for none
}

// manifestRules are Gyoshu's own conditions for loading a manifest. It may have other keys.
var manifestRules = []rule{
	{path: []string{"checkpointId"}, wrong: filled},
	{path: []string{"researchSessionID"}, wrong: filled},
	{path: []string{"reportTitle"}, wrong: filled},
	{path: []string{"runId"}, wrong: filled},
	{path: []string{"stageId"}, wrong: stage},
	{path: []string{"status"}, wrong: oneOf(Saved, Interrupted, Emergency)},
	{path: []string{"reason"}, wrong: oneOf(Timeout, Abort, Failure), optional: true},
	{path: []string{"trustLevel"}, wrong: oneOf(Local, Imported, Untrusted), optional: true},
	{path: []string{"createdAt"}, wrong: instant},
	{path: []string{"executionCount"}, wrong: count},
	{path: []string{"notebook", "path"}, wrong: filled},
	{path: []string{"notebook", "checkpointCellId"}, wrong: filled},
	{path: []string{"pythonEnv", "pythonPath"}, wrong: filled},
	{path: []string{"pythonEnv", "packages"}, wrong: array},
	{path: []string{"pythonEnv", "packages", "*"}, wrong: text},
	{path: []string{"pythonEnv", "platform"}, wrong: filled},
	{path: []string{"pythonEnv", "randomSeeds"}, wrong: numbers, optional: true},
	{path: []string{"artifacts"}, wrong: array},
	{path: []string{"artifacts", "*", "relativePath"}, wrong: filled},
	{path: []string{"artifacts", "*", "sha256"}, wrong: hash},
	{path: []string{"artifacts", "*", "sizeBytes"}, wrong: count},
	{path: []string{"rehydration", "mode"}, wrong: oneOf(ArtifactsOnly, WithVars)},
	{path: []string{"rehydration", "rehydrationCellSource"}, wrong: array},
	{path: []string{"rehydration", "rehydrationCellSource", "*"}, wrong: text},
	{path: []string{"manifestSha256"}, wrong: hash},
}

// check adds a finding for each invalid value at the rule's path. If a parent is missing, the finding names the whole path.
func (r rule) check(f *findings, root *jsonedit.Value) {
	star := slices.Index(r.path, "*")
	if star < 0 {
		r.checkAt(f, root, r.path)
		return
	}
	list := root.Get(r.path[:star]...)
	if !list.Is(jsonedit.Array) {
		return // another rule reports it
	}
	for i := range list.Items {
		path := slices.Clone(r.path)
		path[star] = strconv.Itoa(i)
		r.checkAt(f, root, path)
	}
}

func (r rule) checkAt(f *findings, root *jsonedit.Value, path []string) {
	v, name := root.Get(path...), strings.Join(path, ".")
	if v == nil {
		if !r.optional {
			f.bad(nearest(root, path), "%s: it is missing", name)
		}
		return
	}
	if wrong := r.wrong(v); wrong != "" {
		f.bad(v.Line(), "%s: %s", name, wrong)
	}
}

// nearest returns the line of the closest existing parent of a missing value.
func nearest(root *jsonedit.Value, path []string) int {
	for n := len(path) - 1; n > 0; n-- {
		if v := root.Get(path[:n]...); v != nil {
			return v.Line()
		}
	}
	return root.Line()
}

func text(v *jsonedit.Value) string {
	if v.Kind != jsonedit.String {
		return "it is not a string"
	}
	return ""
}

func filled(v *jsonedit.Value) string {
	if wrong := text(v); wrong != "" {
		return wrong
	}
	if v.Text() == "" {
		return "it is empty"
	}
	return ""
}

func array(v *jsonedit.Value) string {
	if v.Kind != jsonedit.Array {
		return "it is not a list"
	}
	return ""
}

func stage(v *jsonedit.Value) string {
	if wrong := text(v); wrong != "" {
		return wrong
	}
	if !IsStage(v.Text()) {
		return fmt.Sprintf("%q is not S{NN}_{verb}_{noun}: two digits, then small letters only", v.Text())
	}
	return ""
}

func oneOf[T ~string](words ...T) func(*jsonedit.Value) string {
	return func(v *jsonedit.Value) string {
		if v.Kind == jsonedit.String && slices.Contains(words, T(v.Text())) {
			return ""
		}
		return fmt.Sprintf("%s is not one of %s", v.Raw(), listed(words))
	}
}

func listed[T ~string](words []T) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(w))
	}
	return b.String()
}

func instant(v *jsonedit.Value) string {
	if wrong := text(v); wrong != "" {
		return wrong
	}
	if !isInstant(v.Text()) {
		return fmt.Sprintf("%q is not a time such as 2026-01-02T10:30:00.000Z", v.Text())
	}
	return ""
}

func count(v *jsonedit.Value) string {
	f, ok := v.Float()
	switch {
	case !ok:
		return "it is not a number"
	case f < 0 || f != math.Trunc(f) || math.IsInf(f, 0):
		return "it is not a non-negative integer"
	}
	return ""
}

func numbers(v *jsonedit.Value) string {
	if v.Kind != jsonedit.Object {
		return "it is not an object"
	}
	for _, m := range v.Members {
		if m.Value.Kind != jsonedit.Number {
			return fmt.Sprintf("%s: it is not a number", m.Key)
		}
	}
	return ""
}

func hash(v *jsonedit.Value) string {
	if wrong := text(v); wrong != "" {
		return wrong
	}
	s := v.Text()
	if len(s) != 64 || strings.Trim(s, "0123456789abcdefABCDEF") != "" {
		return "it is not the 64 hexadecimal digits of a SHA-256"
	}
	return ""
}
