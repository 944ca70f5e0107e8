package disk

import (
	"os"
	"strconv"
	"sync"
)

// ownerAllowed reports whether files of a user count as this user's own. Root's do. For root, those of the user who
// called sudo do too.
func ownerAllowed(uid uint32) bool { return uid == 0 || uid == thisUser() || sudoUser() == int64(uid) }

var thisUser = sync.OnceValue(func() uint32 { return uint32(os.Geteuid()) })

// sudoUser returns the user who called sudo if this is root, otherwise -1.
var sudoUser = sync.OnceValue(func() int64 {
	if thisUser() != 0 {
		return -1
	}
	uid, err := strconv.ParseUint(os.Getenv("SUDO_UID"), 10, 32)
	if err != nil {
		return -1
	}
	return int64(uid)
})
