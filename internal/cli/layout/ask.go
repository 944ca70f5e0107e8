package layout

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"pawl"
)

// AskYesNo asks a yes-or-no question on the terminal. An empty or unknown reply means byDefault. End of input cancels.
func AskYesNo(in io.Reader, out io.Writer, question string, byDefault bool) (yes bool, err error) {
	choice := "[y/N]"
	if byDefault {
		choice = "[Y/n]"
	}
	fmt.Fprintf(out, "%s %s ", question, choice)
	var reply string
	if _, err := fmt.Fscanln(in, &reply); errors.Is(err, io.EOF) {
		return false, &pawl.Error{Kind: pawl.KindUsage, Err: errors.New("canceled; nothing was changed")}
	}
	switch strings.ToLower(reply) {
	case "y", "yes":
		return true, nil
	case "n", "no":
		return false, nil
	}
	return byDefault, nil
}
