// Package flags has values of flags whose errors are complete sentences that name the flag.
package flags

import (
	"errors"
	"fmt"
	"strconv"
)

// NumberFlag is the value of a flag that takes a whole number.
type NumberFlag struct {
	name  string
	value *int
	min   int
}

// Number returns the value of the flag --name, a whole number of at least min. The default may be smaller: it stands for "not
// given".
func Number(value *int, name string, byDefault, min int) *NumberFlag {
	*value = byDefault
	return &NumberFlag{name: name, value: value, min: min}
}

// badNumber is the error of a NumberFlag.
type badNumber string

func (b badNumber) Error() string { return string(b) }

func (f *NumberFlag) Set(text string) error {
	n, err := strconv.Atoi(text)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return badNumber(fmt.Sprintf("--%s %s is out of range", f.name, text))
	case err != nil:
		return badNumber(fmt.Sprintf("--%s must be a number, not %q", f.name, text))
	case n < f.min:
		return badNumber(fmt.Sprintf("--%s must be %d or more", f.name, f.min))
	}
	*f.value = n
	return nil
}

func (f *NumberFlag) String() string {
	if f.value == nil { // pflag calls it on a zero value
		return "0"
	}
	return strconv.Itoa(*f.value)
}

// Type is what help prints as the name of the value.
func (f *NumberFlag) Type() string { return "N" }
