package pawl

// Finding is one checked fact about the world, with its evidence.
type Finding struct {
	Level    Level  `json:"level"`
	What     string `json:"what"`            // the fact, in one line
	Where    string `json:"where,omitempty"` // a file with line and byte, a step, a path
	Evidence string `json:"evidence,omitempty"`
	Hint     string `json:"hint,omitempty"` // a command that helps
}

// Level is how bad a finding is.
type Level string

// The levels.
const (
	OK   Level = "ok"
	Warn Level = "warn"
	Bad  Level = "bad"
)
