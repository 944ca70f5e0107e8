package format

import "time"

// Asker is a codec whose system asks a person before it goes on with what it finds, and sets that aside where they do not
// want it.
type Asker interface {
	// Question returns what is to be asked of what the files hold; without Ask nothing is.
	Question(files Files, w Env) Question
	// Aside returns the files, as Write does, by which all of the state is in the system's own archive.
	Aside(files Files, now time.Time) []File
}

// Question is asked before what was found is gone on with.
type Question struct {
	Workflow string // its own id
	Tell     string // what is told before, in lines
	Ask      string // without the answers to choose from
	Yes      bool   // the answer of one who only presses return
	Fresh    bool   // yes means that all begins afresh, and no that it goes on; else it is the other way round
}

// Afresh reports whether an answer means that what was found is set aside.
func (q Question) Afresh(yes bool) bool { return yes == q.Fresh }
