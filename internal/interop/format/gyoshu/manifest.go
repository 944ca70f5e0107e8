package gyoshu

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/textedit/jsonedit"
)

// Manifest is what a checkpoint's checkpoint.json says, in the order in which Gyoshu writes it. It is the commit record of
// a checkpoint: without it there is none.
type Manifest struct {
	CheckpointID string      `json:"checkpointId"`
	Session      string      `json:"researchSessionID"`
	Title        string      `json:"reportTitle"`
	Run          string      `json:"runId"`
	Stage        string      `json:"stageId"`
	Status       Status      `json:"status"`
	Reason       Reason      `json:"reason,omitempty"`
	Trust        Trust       `json:"trustLevel,omitempty"` // what it says of itself, which is believed by nobody
	Created      string      `json:"createdAt"`
	Executions   int64       `json:"executionCount"`
	Notebook     NotebookRef `json:"notebook"`
	Python       Python      `json:"pythonEnv"`
	Artifacts    []Artifact  `json:"artifacts"`
	Rehydration  Rehydration `json:"rehydration"`
	SHA256       string      `json:"manifestSha256,omitempty"` // of all the rest, by Sum

	sum   string            // what SHA256 should be, of a manifest that was read
	odd   int               // how many of its problems are ways in which Gyoshu is particular, and no reason to doubt what it says
	twins []jsonedit.Member // whose keys come twice
}

// Status is how a checkpoint came about.
type Status string

// The statuses.
const (
	Saved       Status = "saved"
	Interrupted Status = "interrupted" // in the middle of a stage
	Emergency   Status = "emergency"   // likewise, by the watchdog
)

// Reason is why a checkpoint was taken in the middle of a stage.
type Reason string

// The reasons.
const (
	Timeout Reason = "timeout"
	Abort   Reason = "abort"
	Failure Reason = "error"
)

// Trust is how far a checkpoint is trusted.
type Trust string

// The levels of trust.
const (
	Local     Trust = "local"
	Imported  Trust = "imported"
	Untrusted Trust = "untrusted"
)

// NotebookRef is the cell that speaks of a checkpoint.
type NotebookRef struct {
	Path string `json:"path"`
	Cell string `json:"checkpointCellId"`
}

// Python is what a checkpoint ran in.
type Python struct {
	Path     string   `json:"pythonPath"`
	Packages []string `json:"packages"` // name==version
	Platform string   `json:"platform"`
	Seeds    Seeds    `json:"randomSeeds,omitzero"`
}

// Artifact is a file that a stage made.
type Artifact struct {
	Path   string `json:"relativePath"` // to the project's root
	SHA256 string `json:"sha256"`
	Size   int64  `json:"sizeBytes"`
}

// Rehydration is how a session is brought back to a checkpoint. The source is never executed: see Rehydrate.
type Rehydration struct {
	Mode   Mode     `json:"mode"`
	Source []string `json:"rehydrationCellSource"`
}

// Mode is what is brought back.
type Mode string

// The modes. The second does nothing else than the first.
const (
	ArtifactsOnly Mode = "artifacts_only"
	WithVars      Mode = "with_vars"
)

// unsafe reports whether a checkpoint was taken in the middle of a stage: it is information, never a base to resume from.
func (s Status) unsafe() bool { return s != Saved }

// Time returns when the checkpoint was taken; zero where the manifest does not say.
func (m *Manifest) Time() time.Time {
	at, _, _ := format.ParseTime(m.Created)
	return at
}

// Intact reports whether the manifest is what was written.
func (m *Manifest) Intact() bool { return m.SHA256 == m.sum }

// Encode returns the manifest as a file, with its own hash as the last key.
func (m Manifest) Encode() []byte {
	m = m.unsigned()
	m.SHA256 = Sum(encoded(m))
	return encoded(m).Stringify("  ")
}

// unsigned returns the manifest as it is hashed.
func (m Manifest) unsigned() Manifest {
	m.SHA256 = ""
	m.Python.Packages = notNil(m.Python.Packages)
	m.Artifacts = notNil(m.Artifacts)
	m.Rehydration.Source = notNil(m.Rehydration.Source)
	return m
}

func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// encoded returns plain data as JSON.
func encoded(data any) *jsonedit.Value {
	text, err := json.Marshal(data)
	if err != nil {
		panic("it is plain data: " + err.Error())
	}
	v, err := jsonedit.Read(text)
	if err != nil {
		panic("what was encoded is JSON: " + err.Error())
	}
	return v
}

// Sum returns the hash that a manifest has to name: that of JSON.stringify(manifest, null, 2) without the hash itself, so
// by the order of its keys, unknown ones too, and not by its white space.
func Sum(manifest *jsonedit.Value) string {
	rest := *manifest
	rest.Members = slices.DeleteFunc(slices.Clone(manifest.Members), func(m jsonedit.Member) bool { return m.Key == "manifestSha256" })
	sum := sha256.Sum256(rest.Stringify("  "))
	return hex.EncodeToString(sum[:])
}

// mark is a byte order mark.
var mark = []byte("\xef\xbb\xbf")

// plannedReasons are those of the plan that Gyoshu was made by, which it does not take itself.
var plannedReasons = []Reason{"watchdog_timeout", "manual_abort"}

// ReadManifest returns what a manifest says, as far as it can be understood, and all because of which Gyoshu does not load
// it: "Manifest failed to parse or validate". It is nil where nothing can be understood.
func ReadManifest(path string, data []byte) (*Manifest, []pawl.Finding) {
	f := &findings{path: path}
	if bytes.HasPrefix(data, mark) {
		f.bad(1, "it starts with a byte order mark, which Gyoshu rejects")
	}
	root, err := jsonedit.Read(asNode(data))
	switch {
	case err != nil:
		f.broken(err)
		return nil, f.list
	case root.Kind != jsonedit.Object:
		f.bad(root.Line(), "not a JSON object")
		return nil, f.list
	}
	for _, r := range manifestRules {
		r.check(f, root)
	}
	m := manifestOf(root)
	for _, odd := range []bool{bytes.HasPrefix(data, mark), m.Stage != "" && !IsStage(m.Stage), slices.Contains(plannedReasons, m.Reason)} {
		if odd {
			m.odd++
		}
	}
	if m.Status == Emergency && m.Reason == "" {
		f.bad(root.Get("status").Line(), "reason: an emergency checkpoint must say why")
	}
	return m, f.list
}

func manifestOf(root *jsonedit.Value) *Manifest {
	text := func(path ...string) string { return root.Get(path...).Text() }
	count, _ := root.Get("executionCount").Int()
	return &Manifest{
		CheckpointID: text("checkpointId"),
		Session:      text("researchSessionID"),
		Title:        text("reportTitle"),
		Run:          text("runId"),
		Stage:        text("stageId"),
		Status:       Status(text("status")),
		Reason:       Reason(text("reason")),
		Trust:        Trust(text("trustLevel")),
		Created:      text("createdAt"),
		Executions:   count,
		Notebook:     NotebookRef{Path: text("notebook", "path"), Cell: text("notebook", "checkpointCellId")},
		Python:       pythonOf(root.Get("pythonEnv")),
		Artifacts:    artifactsOf(root.Get("artifacts")),
		Rehydration:  Rehydration{Mode: Mode(text("rehydration", "mode")), Source: textsOf(root.Get("rehydration", "rehydrationCellSource"))},
		SHA256:       text("manifestSha256"),
		sum:          Sum(root),
		twins:        root.Twins(),
	}
}

func pythonOf(v *jsonedit.Value) Python {
	return Python{Path: v.Get("pythonPath").Text(), Packages: textsOf(v.Get("packages")), Platform: v.Get("platform").Text(),
		Seeds: seedsOf(v.Get("randomSeeds"))}
}

func artifactsOf(v *jsonedit.Value) []Artifact {
	if v == nil {
		return nil
	}
	var list []Artifact
	for _, item := range v.Items {
		size, _ := item.Get("sizeBytes").Int()
		list = append(list, Artifact{Path: item.Get("relativePath").Text(), SHA256: item.Get("sha256").Text(), Size: size})
	}
	return list
}

func textsOf(v *jsonedit.Value) []string {
	if v == nil {
		return nil
	}
	var list []string
	for _, item := range v.Items {
		list = append(list, item.Text())
	}
	return list
}
