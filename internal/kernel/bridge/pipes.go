package bridge

import (
	"fmt"
	"os"
	"strconv"
)

// The pipes between this process and the kernel. The first three are the descriptors 3 to 5 of the kernel.
const (
	requests = iota
	messages
	stacks
	source // standard input of the interpreter until the program has started
	stdout
	stderr
	pipeCount
)

// starter is what the interpreter reads from its standard input, with bridge.py as a literal. The working folder is not in sys.path
// before bridge.py is loaded: a module there must not replace one of the standard library.
const starter = `import sys
if sys.version_info < (3, 8):
    sys.exit("this is Python %%d.%%d; pawl needs Python 3.8 or newer" %% sys.version_info[:2])
folder = [""] if sys.path[0] == "" else []
del sys.path[:len(folder)]
exec(compile(%s, "<pawl bridge>", "exec"), {"__name__": "bridge", "FOLDER": folder})
`

// pipes are the two ends of each pipe.
type pipes struct {
	ours, theirs [pipeCount]*os.File
}

func openPipes() (*pipes, error) {
	p := &pipes{}
	for i := range p.ours {
		r, w, err := os.Pipe()
		if err != nil {
			p.close()
			return nil, err
		}
		if p.ours[i], p.theirs[i] = r, w; i == requests || i == source {
			p.ours[i], p.theirs[i] = w, r
		} else {
			enlarge(r)
		}
	}
	return p, nil
}

// closeTheirs closes the kernel's ends, once it has them.
func (p *pipes) closeTheirs() {
	for _, f := range p.theirs {
		if f != nil {
			f.Close()
		}
	}
}

func (p *pipes) close() {
	p.closeTheirs()
	for _, f := range p.ours {
		if f != nil {
			f.Close()
		}
	}
}

// sendProgram gives the kernel bridge.py. It fails if the kernel has already ended, which others report.
func (p *pipes) sendProgram() {
	_, _ = fmt.Fprintf(p.ours[source], starter, strconv.QuoteToASCII(program))
	p.ours[source].Close()
}
