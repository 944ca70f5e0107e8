package httpaccess

import (
	"errors"
	"io/fs"
	"path/filepath"

	"pawl/internal/disk"
	"pawl/internal/project"
	"pawl/internal/userdir"
)

// Service is where a server listens, and the token that its clients must send.
type Service struct {
	Address   string // host:port, a loopback one unless Remote is given. Defaults to a free port of 127.0.0.1.
	TokenFile string // has Token
	Token     string

	Private string // another file that gives access to what the server serves

	Remote
}

// ReadToken reads the token from its file, by default from one of this name in the user's state folder, which it creates.
func (s *Service) ReadToken(name string) (err error) {
	if s.TokenFile == "" {
		s.TokenFile, err = ownToken(name)
	}
	if err == nil {
		s.Token, err = ReadToken(s.TokenFile)
	}
	return err
}

// ownToken returns a file with a token in the user's state folder. It creates the file if there is none; of two servers that start
// together, one does.
func ownToken(name string) (string, error) {
	path, err := userdir.State(name, "token")
	if err == nil {
		err = disk.MakeFolders(filepath.Dir(path))
	}
	if err != nil {
		return "", err
	}
	return path, project.WithFolderLock(filepath.Dir(path), func() error {
		if _, err := disk.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return disk.Put(path, []byte(disk.RandomHex(32)+"\n"))
	})
}
