package hints

import (
	"errors"
	"fmt"

	"pawl"
	"pawl/internal/discover"
)

// OrImport returns the error of pawl status or pawl resume without a project or run. If there is unfinished work of another system, it
// names that, and its hint imports it.
func OrImport(err error, command string, unimported func() []discover.Found) error {
	missing := errors.Is(err, pawl.ErrNoProject) || errors.Is(err, pawl.ErrNoRun)
	if !missing || command != "status" && command != "resume" {
		return err
	}
	for _, found := range unimported() {
		return &pawl.Error{Kind: pawl.KindOf(err), Err: fmt.Errorf("%w; %s is not imported", err, found), Hint: found.Command}
	}
	return err
}
