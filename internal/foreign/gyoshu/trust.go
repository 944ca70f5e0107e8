package gyoshu

import "fmt"

// Provenance is how a checkpoint came to be where it lies. What a manifest says of itself is no evidence of that.
type Provenance string

// Where a checkpoint can come from.
const (
	MadeHere  Provenance = "made here"  // pawl wrote it, and its journal says so
	FoundHere Provenance = "found here" // it lies in this project, and somebody else wrote it
	BroughtIn Provenance = "brought in" // it came from elsewhere: a copy, an archive, a download
)

// Trust returns how far a checkpoint of this provenance is trusted.
func (p Provenance) Trust() Trust {
	switch p {
	case MadeHere:
		return Local
	case FoundHere:
		return Imported
	}
	return Untrusted
}

// warning returns Gyoshu's words of caution before a checkpoint is resumed from: for its provenance, and where the
// manifest itself asks for more of it. A manifest can cast doubt on itself, but not take it away.
func (p Provenance) warning(claimed Trust) string {
	trust := p.Trust()
	if claimed == Untrusted || trust == Local && claimed == Imported {
		trust = claimed
	}
	if trust == Local {
		return ""
	}
	return fmt.Sprintf("Checkpoint is %s - verify source before resuming", trust)
}
