package caller

import (
	"os"
	"os/user"
)

// Login returns the user's login name, or "".
func Login() string {
	if name := os.Getenv("USER"); name != "" {
		return name
	}
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.Username
}
