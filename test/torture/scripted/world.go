package scripted

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Node is the content of a path. The zero Node is a missing path.
type Node struct {
	Kind Kind   `json:"kind,omitempty"`
	Text string `json:"text,omitempty"` // a file's content, or the hash of a long one; a link's target; what git has
}

// Kind says what sort of thing is at a path.
type Kind string

// The kinds of nodes.
const (
	File   Kind = "file"
	Folder Kind = "folder"
	Link   Kind = "link"
	Entry  Kind = "entry" // one of git's
)

// World is what is at some paths. Paths are relative to a project, or absolute; three sorts of them are git's: gitHead,
// and those that begin with gitIndex or gitRef.
type World map[string]Node

const (
	gitHead  = "git:head"   // the first line of the newest commit's message
	gitIndex = "git:index:" // and a path: the blob that is staged
	gitRef   = "git:ref:"   // and the full name of a ref
)

// inRepository begins the folder of the repository at the end of one of git's paths. Without it, that is the root.
const inRepository = "@"

// Seen is a node with the metadata that changes at each write.
type Seen struct {
	Node
	Inode   uint64 `json:"inode,omitempty"`
	Changed int64  `json:"changed,omitempty"` // ctime, in nanoseconds
}

// longText is from how many bytes on only the hash of a file is kept.
const longText = 4 << 10

// fileOf returns the node of a file with this content.
func fileOf(content string) Node {
	if len(content) > longText {
		sum := sha256.Sum256([]byte(content))
		content = fmt.Sprintf("%d bytes, SHA-256 %s", len(content), hex.EncodeToString(sum[:]))
	}
	return Node{Kind: File, Text: content}
}

// Observe reads the current content of paths.
func Observe(root string, paths []string) (map[string]Seen, error) {
	seen := map[string]Seen{}
	for _, path := range paths {
		var err error
		if seen[path], err = observe(root, path); err != nil {
			return nil, err
		}
	}
	return seen, nil
}

func observe(root, path string) (Seen, error) {
	if strings.HasPrefix(path, "git:") {
		return Seen{Node: gitNode(root, path)}, nil
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(root, path)
	}
	var st unix.Stat_t
	err := unix.Lstat(path, &st)
	if err == unix.ENOENT || err == unix.ENOTDIR {
		return Seen{}, nil
	}
	if err != nil {
		return Seen{}, err
	}
	s := Seen{Inode: st.Ino, Changed: st.Ctim.Nano()}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		s.Kind = Folder
	case unix.S_IFLNK:
		s.Kind = Link
		s.Text, err = os.Readlink(path)
	default:
		var data []byte
		data, err = os.ReadFile(path)
		s.Node = fileOf(string(data))
	}
	if os.IsNotExist(err) { // it was removed meanwhile
		return Seen{}, nil
	}
	return s, err
}

// gitNode reads a node from git without taking locks.
func gitNode(root, path string) Node {
	path, top, is := strings.Cut(path, inRepository)
	if is {
		root = top
	}
	var args []string
	switch {
	case path == gitHead:
		args = []string{"log", "-1", "--format=%s"}
	case strings.HasPrefix(path, gitRef):
		args = []string{"rev-parse", "-q", "--verify", strings.TrimPrefix(path, gitRef)}
	default:
		args = []string{"ls-files", "-s", "--", strings.TrimPrefix(path, gitIndex)}
	}
	git := exec.Command("git", args...)
	git.Dir, git.Env = root, append(os.Environ(), "GIT_OPTIONAL_LOCKS=0")
	out, err := git.Output()
	text := string(bytes.TrimSpace(out))
	switch {
	case err != nil || text == "":
		return Node{}
	case strings.HasPrefix(path, gitRef):
		text = "there"
	case strings.HasPrefix(path, gitIndex):
		text = strings.Fields(text)[1]
	}
	return Node{Kind: Entry, Text: text}
}
