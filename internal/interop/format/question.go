package format

// Question is what a system asks before it resumes the work that was found.
type Question struct {
	Workflow string // its own id
	Tell     string // printed before the question, in lines
	Ask      string // without the possible answers
	Yes      bool   // the default answer
	Fresh    bool   // yes means start over, and no means resume; else the other way round
}

// Afresh reports whether an answer means that the state that was found is archived.
func (q Question) Afresh(yes bool) bool { return yes == q.Fresh }
