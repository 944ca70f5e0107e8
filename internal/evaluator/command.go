package evaluator

import (
	"context"

	program "pawl/internal/command"
)

// command asks any program: it gets the evidence on standard input and prints the opinion. PAWL_PROMPT contains the prompt
// for language models.
type command struct {
	text    string
	dir     string
	environ []string
}

func (c command) ask(ctx context.Context, evidence []byte) (answer, error) {
	text, err := program.Run(ctx, program.Command{
		Args: []string{"/bin/sh", "-c", c.text}, Dir: c.dir,
		Environ: append(c.environ[:len(c.environ):len(c.environ)], "PAWL_PROMPT="+Prompt),
		Input:   append(evidence, '\n'), MaxOutput: maxAnswer, MaxError: maxReason,
	})
	return answer{text: text}, err
}
