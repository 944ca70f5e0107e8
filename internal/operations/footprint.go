package operations

import (
	"path"
	"slices"
	"strings"
)

// footprint says where a command leaves traces.
type footprint int

const (
	noFootprint    footprint = iota // it only reads or waits
	localFootprint                  // in files of this machine
	anyFootprint                    // unknown: files, another system, or nothing
)

// The known commands, by footprint.
var (
	readers = wordSet(`: true false test [ ls ll cat head tail grep egrep fgrep rg ag wc stat file echo printf pwd cd env date ps df du
		sleep tree sort uniq diff cmp which type whoami uname id less more jq cut tr nl od hexdump strings basename dirname realpath
		readlink seq export set wait printenv md5sum sha1sum sha256sum hostname uptime free nproc tac rev column expr exit`)
	writers = wordSet(`touch mkdir rmdir rm mv cp ln tee dd install truncate split sed awk gawk patch tar unzip zip gzip gunzip bzip2 xz zstd
		chmod chown make cmake ninja gcc g++ cc c++ clang ld ar go cargo rustc gofmt prettier eslint black ruff tsc javac mvn gradle
		npm pnpm yarn pip pip3 poetry uv bundle composer mktemp csplit shuf find xargs git`)
)

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		set[word] = true
	}
	return set
}

// remoteVerbs are subcommands that act on other systems.
var remoteVerbs = wordSet("push pull fetch clone publish deploy release login remote submodule ls-remote upload run exec start dev serve dlx test bench")

// gitReads are the commands of git that change nothing.
var gitReads = wordSet("status log diff show rev-parse ls-files blame grep describe shortlog cat-file ls-tree reflog help version")

// footprintOf returns where a command leaves traces.
func footprintOf(c command) footprint {
	found := noFootprint
	if len(c.redirects) > 0 {
		found = localFootprint
	}
	words := unwrapped(c.words)
	if len(words) == 0 {
		return found
	}
	name := path.Base(words[0])
	second := ""
	for _, word := range words[1:] {
		if !strings.HasPrefix(word, "-") {
			second = word
			break
		}
	}
	switch {
	case readers[name]:
		return found
	case name == "git" && gitReads[second]:
		return found
	case name == "sed" && !slices.ContainsFunc(words[1:], inPlace), name == "awk", name == "gawk":
		return found
	case name == "find" && !slices.ContainsFunc(words, func(w string) bool {
		return strings.HasPrefix(w, "-exec") || w == "-delete" || strings.HasPrefix(w, "-ok") || strings.HasPrefix(w, "-fprint")
	}):
		return found
	case name == "find" || name == "xargs" || !writers[name]:
		return anyFootprint
	case name != "cp" && name != "mv" && name != "rm" && name != "mkdir" && name != "touch" && remoteVerbs[second]:
		return anyFootprint
	}
	return localFootprint
}

func inPlace(word string) bool { return strings.HasPrefix(word, "-i") || word == "--in-place" }

// isDuration reports whether a word is a number, as nice takes one, or a duration, as timeout does.
func isDuration(word string) bool {
	return strings.IndexAny(word, "0123456789.") == 0 && strings.Trim(word, "0123456789.smhd") == ""
}

// unwrapped returns a command without wrappers such as sudo and timeout.
func unwrapped(words []string) []string {
	for len(words) > 1 {
		switch words[0] {
		case "sudo", "nohup", "command", "nice", "env", "setsid", "stdbuf", "timeout":
		default:
			return words
		}
		words = words[1:]
		for len(words) > 1 && (strings.HasPrefix(words[0], "-") || assigns(words[0]) || isDuration(words[0])) {
			words = words[1:]
		}
	}
	return words
}
