package hints

import (
	"slices"
	"strings"

	"pawl/internal/strictyaml"
)

// foreign are words of git, make, docker, kubectl and systemctl, each with the command of pawl that does the same.
var foreign = map[string]string{
	"abort": "stop", "accept": "approve", "cancel": "stop", "check": "plan check", "checkout": "restore", "clean": "prune",
	"commit": "checkpoint", "continue": "resume", "deny": "reject", "describe": "status", "down": "stop", "events": "log",
	"exec": "run", "follow": "watch", "fsck": "verify", "gc": "prune", "history": "log", "info": "status", "inspect": "status",
	"jobs": "runs", "kill": "stop", "lint": "plan check", "list": "runs", "ls": "runs", "new": "init",
	"notes": "memory", "ps": "status", "redo": "retry", "remember": "learn", "repair": "recover", "rerun": "retry", "reset": "restore",
	"revert": "restore", "rm": "archive", "save": "checkpoint", "snapshot": "checkpoint", "st": "status", "start": "run",
	"suspend": "pause", "tail": "watch", "undo": "rollback", "unpause": "resume", "up": "run", "validate": "plan check",
}

// minPrefix is the least length of the beginning of a command that stands for it.
const minPrefix = 3

// Meant returns the command that a user probably meant by an unknown word, "" if no guess is good: another tool's word for it, the
// nearest one by typos, or the one that begins with the word.
func Meant(word string, commands []string) string {
	if command := foreign[strings.ToLower(word)]; command != "" && slices.Contains(commands, strings.Fields(command)[0]) {
		return command
	}
	if near := strictyaml.Nearest(word, commands); near != "" {
		return near
	}
	longer := slices.DeleteFunc(slices.Clone(commands), func(c string) bool { return !strings.HasPrefix(c, word) })
	slices.SortFunc(longer, func(a, b string) int { return len(a) - len(b) })
	if len(word) < minPrefix || len(longer) == 0 || slices.ContainsFunc(longer, func(c string) bool { return !strings.HasPrefix(c, longer[0]) }) {
		return ""
	}
	return longer[0]
}

// NthWord returns the index of the argument that is the nth one, from 0, without flags and the value of -C; -1 if there are fewer.
func NthWord(args []string, n int) int {
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		switch {
		case args[i] == "-C" || args[i] == "--directory":
			i++
		case strings.HasPrefix(args[i], "-"):
		case n == 0:
			return i
		default:
			n--
		}
	}
	return -1
}

// Replace returns a command line of pawl, ready for a shell, with other words in place of the argument at i.
func Replace(args []string, i int, with string) string {
	words := []string{"pawl"}
	for j, arg := range args {
		if j == i {
			words = append(words, with)
			continue
		}
		words = append(words, shellWord(arg))
	}
	return strings.Join(words, " ")
}

// shellWord returns s as one word of a shell.
func shellWord(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/=:,@%+") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
