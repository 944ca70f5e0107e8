package format

import (
	"pawl"
	"pawl/internal/evidence"
)

// Doubt is a verdict that a system's rules leave open. It waits for a person, unless an evaluator chooses.
type Doubt struct {
	Evidence evidence.Evidence // with the verdicts that an evaluator may choose from
	// Settle returns the project with the chosen verdict, for which the evaluator gave these reasons.
	Settle func(p Project, word pawl.VerdictWord, by string, reasons []string) Project
}
