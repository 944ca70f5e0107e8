package kernelcmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"pawl/internal/cli/layout"
)

func (x *Commands) list() *cobra.Command {
	all := false
	c := &cobra.Command{Use: "list", Short: "List the kernels of this project", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			list, err := x.listKernels(c.Context(), all)
			if err != nil {
				return err
			}
			return x.print(list, func() {
				if len(list) == 0 {
					fmt.Fprintln(x.Out, "no kernel is running")
				}
				for _, e := range list {
					fmt.Fprintln(x.Out, line(e))
				}
			})
		}}
	c.Flags().BoolVar(&all, "all", false, "also list kernels that have ended")
	return c
}

// line describes a kernel in one line.
func line(e entry) string {
	if !e.Alive || e.Status == nil {
		return e.Session + "  ended"
	}
	s := e.Status
	text := fmt.Sprintf("%s  %s", e.Session, s.State)
	if s.Info.Language != "" {
		text += "  " + describe(s.Info)
	}
	if s.Running != nil {
		text += "  executes " + clean(s.Running.Title()) + " since " + layout.UTCWithZone(s.Running.Time)
	}
	return text
}
