package config

import "pawl/internal/userdir"

// UserFile returns the path of the user's own settings, which may be missing.
func UserFile() (string, error) { return userdir.Config("config.yaml") }

// ReadUser returns the user's own settings.
func ReadUser() (Config, error) {
	path, err := UserFile()
	if err != nil {
		return Config{}, nil // without a home folder there are no settings
	}
	return Read(path)
}
