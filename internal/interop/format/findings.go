package format

import (
	"strconv"

	"pawl"
)

// Findings are what was found in files, each once, in the order in which it was. The zero one holds none.
type Findings struct {
	list []pawl.Finding
	held map[pawl.Finding]bool
}

// Find adds those that are not there yet.
func (f *Findings) Find(found ...pawl.Finding) {
	if f.held == nil {
		f.held = map[pawl.Finding]bool{}
	}
	for _, one := range found {
		if !f.held[one] {
			f.held[one] = true
			f.list = append(f.list, one)
		}
	}
}

// Check adds the faults of one validation or, where there are none, that it is met.
func (f *Findings) Check(met string, faults []pawl.Finding) {
	if len(faults) == 0 {
		faults = []pawl.Finding{{Level: pawl.OK, What: met}}
	}
	f.Find(faults...)
}

// Found returns all of them.
func (f *Findings) Found() []pawl.Finding { return f.list }

// Where names a line of a file as findings do; 0: the file as a whole.
func Where(file string, line int) string {
	if line <= 0 {
		return file
	}
	return file + ":" + strconv.Itoa(line)
}
