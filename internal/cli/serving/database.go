package serving

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"strings"

	"pawl/internal/config"
	"pawl/internal/httpaccess"
	"pawl/internal/postgres"
)

// readDSN returns the DSN in a file that the user names. A DSN in place of the file's name is refused: other users see arguments.
func readDSN(file string) (string, error) {
	if strings.Contains(file, "://") || strings.Contains(file, "password=") {
		return "", usage("pawl serve --help", "--postgres needs the name of a file with the DSN: other users can see the arguments of a program")
	}
	data, err := httpaccess.ReadPrivate(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", usage("pawl serve --help", "--postgres: no such file: %s", file)
	}
	dsn := strings.TrimSpace(string(data))
	if err == nil && (dsn == "" || strings.ContainsAny(dsn, "\r\n")) {
		err = usage("pawl serve --help", "--postgres: %s contains no DSN: expected one line", file)
	}
	return dsn, err
}

// useDatabase has this process, and the engines that it starts, use the database whose DSN is in a file, and creates its schema.
func useDatabase(ctx context.Context, file string) error {
	dsn, err := readDSN(file)
	if err != nil {
		return err
	}
	store, err := postgres.Migrate(ctx, dsn)
	if err != nil {
		return fmt.Errorf("--postgres %s: %w", file, err)
	}
	store.Close()
	return os.Setenv(config.PostgresVariable, dsn)
}
