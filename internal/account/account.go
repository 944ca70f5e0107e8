// Package account lets steps run as another system user than pawl, and finds out what that user can do to pawl's files.
//
// Only root can start programs as another user. Such a program has the ids and the groups of its user, that user's home, and no
// capabilities.
package account

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"pawl"
)

// Find returns the user with a name; nil for the empty name.
func Find(name string) (*pawl.Account, error) {
	if name == "" {
		return nil, nil
	}
	a, err := find(name)
	if err != nil {
		return nil, &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("run_as: %w", err)}
	}
	return a, nil
}

func find(name string) (*pawl.Account, error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("only root can run steps as another user, and pawl does not run as root")
	}
	u, err := user.Lookup(name)
	if err != nil {
		return nil, err
	}
	groups, err := u.GroupIds()
	if err != nil {
		return nil, err
	}
	ids, err := numbers(append([]string{u.Uid, u.Gid}, groups...))
	if err != nil {
		return nil, fmt.Errorf("user %s: %w", name, err)
	}
	if ids[0] == 0 {
		return nil, fmt.Errorf("user %s is root", name)
	}
	if slices.Contains(ids[1:], 0) {
		return nil, fmt.Errorf("user %s is in the group of root", name)
	}
	return &pawl.Account{Name: u.Username, UID: ids[0], GID: ids[1], Groups: ids[2:], Home: u.HomeDir}, nil
}

func numbers(texts []string) (ids []uint32, err error) {
	for _, text := range texts {
		id, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return nil, err
		}
		ids = append(ids, uint32(id))
	}
	return ids, nil
}

// Credential returns what makes a child a process of the user; nil for no user.
func Credential(a *pawl.Account) *syscall.Credential {
	if a == nil {
		return nil
	}
	return &syscall.Credential{Uid: a.UID, Gid: a.GID, Groups: a.Groups}
}

// foreign are variables about the user of pawl that mean nothing to another one, or lead to what belongs to the first.
var foreign = []string{"PAWL_STATE", "MAIL", "DBUS_SESSION_BUS_ADDRESS", "SSH_AUTH_SOCK"}

// Environ returns an environment for the user: with the user's home and name, and without variables that name folders of the user of
// pawl. Variables among given stay as they are. Without a user, it returns environ.
func Environ(a *pawl.Account, environ, given []string) []string {
	if a == nil {
		return environ
	}
	keeps := map[string]bool{}
	for _, v := range given {
		name, _, _ := strings.Cut(v, "=")
		keeps[name] = true
	}
	own := map[string]string{"HOME": a.Home, "USER": a.Name, "LOGNAME": a.Name}
	var all []string
	for _, v := range environ {
		name, _, _ := strings.Cut(v, "=")
		_, replaced := own[name]
		if keeps[name] || !replaced && !slices.Contains(foreign, name) && !strings.HasPrefix(name, "XDG_") && !strings.HasPrefix(name, "SUDO_") {
			all = append(all, v)
		}
	}
	for _, name := range []string{"HOME", "USER", "LOGNAME"} {
		if !keeps[name] {
			all = append(all, name+"="+own[name])
		}
	}
	return all
}
