package cli

import (
	"context"
	"io"
	"os"

	"pawl/internal/cli/workercmd"
)

// Courier carries the attempt that this process belongs to, to a worker of the queue in the user's database.
func Courier(ctx context.Context, out, errs io.Writer) error {
	open, closeAll := workercmd.Postgres(os.Getenv)
	defer closeAll()
	return workercmd.Courier(ctx, open, out, errs)
}
