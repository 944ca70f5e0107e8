package storytest

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// patience is how long a story waits for something to happen: several rounds of a server that looks at its projects every 15 seconds.
const patience = time.Minute

// Until waits until something has happened, and reports whether it did in time.
func Until(happened func() bool) bool {
	for end := time.Now().Add(patience); !happened(); {
		if time.Now().After(end) {
			return false
		}
		<-time.After(5 * time.Millisecond)
	}
	return true
}

// keeperVerb is hook.KeeperVerb. Importing that package would link the engine into every test binary of stories, and an
// edit of the engine would cost their links again.
const keeperVerb = "hook-keeper"

// EndKeepers ends the processes that take checkpoints for hooks, and waits until they are gone. They stay for a while on purpose, and may
// die at any time.
func EndKeepers(dir string) {
	for _, pid := range RunningIn(dir) {
		command, err := os.ReadFile("/proc/" + pid + "/cmdline")
		n, _ := strconv.Atoi(pid) // it is a number
		if err == nil && strings.Contains(string(command), "\x00"+keeperVerb+"\x00") {
			syscall.Kill(n, syscall.SIGKILL)
			Until(func() bool { return !alive(n) })
		}
	}
}

// RunningIn returns the processes whose working folder is dir or below.
func RunningIn(dir string) []string {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1) // processes may end meanwhile
	return slices.DeleteFunc(names, func(name string) bool {
		if name[0] < '0' || name[0] > '9' {
			return true
		}
		cwd, err := os.Readlink("/proc/" + name + "/cwd")
		return err != nil || !strings.HasPrefix(cwd+"/", dir+"/")
	})
}

// alive reports whether a process runs. A zombie does not, unless other threads than its first still end.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid)) // gone meanwhile: none
	_, after, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(after, "Z") || len(threads) > 1
}
