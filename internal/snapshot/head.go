package snapshot

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"pawl/internal/disk"
	"pawl/internal/git"
	"pawl/internal/snapshot/ignore"
)

// Head is the state of git's HEAD.
type Head struct {
	Commit     string `json:"commit,omitempty"` // empty before the first commit
	Branch     string `json:"branch,omitempty"` // the full name of the ref; empty when detached
	InProgress string `json:"doing,omitempty"`  // the operation in progress: rebase, merge, cherry-pick, revert or bisect
}

// String formats the head for output.
func (h Head) String() string {
	commit := "no commit"
	if h.Commit != "" {
		commit = h.Commit[:min(12, len(h.Commit))]
	}
	if branch := strings.TrimPrefix(h.Branch, "refs/heads/"); branch != "" {
		commit += " (" + branch + ")"
	}
	if h.InProgress != "" {
		commit += ", " + h.InProgress + " in progress"
	}
	return commit
}

// HeadOf reads HEAD of the repository that contains root; nil if there is none. It runs git only for repositories that
// keep refs in a reftable.
func HeadOf(ctx context.Context, root string) (*Head, error) {
	repo, _, err := ignore.FindRepository(root)
	if err != nil {
		return nil, err
	}
	return headOf(ctx, repo)
}

// headOf reads HEAD of a repository; nil for the zero one.
func headOf(ctx context.Context, repo ignore.Repository) (*Head, error) {
	if repo.Top == "" {
		return nil, nil
	}
	h := &Head{InProgress: inProgress(repo.Dir)}
	text, err := disk.ReadFile(filepath.Join(repo.Dir, "HEAD"), maxRef)
	if err != nil {
		return nil, err
	}
	line := strings.TrimSpace(string(text))
	branch, isRef := strings.CutPrefix(line, "ref: ")
	if !isRef {
		h.Commit = commitIn(line)
		return h, nil
	}
	if branch == "refs/heads/.invalid" { // what git writes into HEAD when it uses reftable
		return h, h.queryGit(ctx, repo)
	}
	h.Branch = branch
	h.Commit, err = readRef(repo, branch, 5)
	return h, err
}

// GitChanged returns when git's index and its refs, with HEAD, last changed in the repository that contains root; zero if there are
// none. `git status` changes the index, too.
func GitChanged(root string) (index, refs time.Time, err error) {
	repo, ok, err := ignore.FindRepository(root)
	if err != nil || !ok {
		return index, refs, err
	}
	note := func(last *time.Time, path string) {
		var st unix.Stat_t
		if unix.Lstat(path, &st) == nil && time.Unix(st.Ctim.Unix()).After(*last) {
			*last = time.Unix(st.Ctim.Unix())
		}
	}
	note(&index, filepath.Join(repo.Dir, "index"))
	for _, name := range []string{"HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD"} {
		note(&refs, filepath.Join(repo.Dir, name))
	}
	note(&refs, filepath.Join(repo.Common, "packed-refs"))
	for _, name := range []string{"refs", "reftable"} {
		err = errors.Join(err, filepath.WalkDir(filepath.Join(repo.Common, name), func(path string, _ fs.DirEntry, err error) error {
			if err == nil && !strings.HasSuffix(path, ".lock") {
				note(&refs, path)
			}
			return nil // unreadable files are not evidence
		}))
	}
	return index, refs, err
}

// maxRef is the number of bytes that are read of a ref.
const maxRef = 64 << 10

// readRef reads a ref's commit from its own file or from packed-refs. A ref that is in neither has no commit yet. It
// follows symbolic refs, as deep as git does.
func readRef(repo ignore.Repository, ref string, depth int) (string, error) {
	if !strings.HasPrefix(ref, "refs/") || !filepath.IsLocal(ref) { // it would name another file
		return "", nil
	}
	text, err := disk.ReadFile(filepath.Join(repo.Common, ref), maxRef)
	if err == nil {
		commit := strings.TrimSpace(string(text))
		if next, isRef := strings.CutPrefix(commit, "ref: "); isRef && depth > 0 {
			return readRef(repo, next, depth-1)
		}
		return commitIn(commit), nil
	}
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, disk.ErrUnsafe) && !errors.Is(err, unix.ENOTDIR) { // git leaves empty folders of deleted refs
		return "", err
	}
	packed, err := disk.ReadFile(filepath.Join(repo.Common, "packed-refs"), disk.CacheLimit)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	for line := range bytes.Lines(packed) {
		if commit, name, ok := strings.Cut(strings.TrimSpace(string(line)), " "); ok && name == ref {
			return commitIn(commit), nil
		}
	}
	return "", nil
}

// commitIn returns the commit that a file of git names; empty if it holds anything else.
func commitIn(text string) string {
	if hash, err := hex.DecodeString(text); err != nil || len(hash) != 20 && len(hash) != 32 { // SHA-1, SHA-256
		return ""
	}
	return text
}

// queryGit fills in the head by running git.
func (h *Head) queryGit(ctx context.Context, repo ignore.Repository) error {
	ask := func(args ...string) string {
		out, err := git.Output(ctx, repo.Top, args...)
		if err != nil { // detached HEAD, or no commit yet
			return ""
		}
		return strings.TrimSpace(string(out))
	}
	h.Commit, h.Branch = ask("rev-parse", "--verify", "--quiet", "HEAD"), ask("symbolic-ref", "--quiet", "HEAD")
	return ctx.Err()
}

// inProgress returns the operation that git is in the middle of, by the files that git keeps for it (wt-status.c).
func inProgress(dir string) string {
	for _, sign := range []struct{ file, what string }{
		{"rebase-merge", "rebase"}, {"rebase-apply", "rebase"}, {"MERGE_HEAD", "merge"},
		{"CHERRY_PICK_HEAD", "cherry-pick"}, {"REVERT_HEAD", "revert"}, {"BISECT_LOG", "bisect"},
	} {
		if _, err := os.Lstat(filepath.Join(dir, sign.file)); err == nil {
			return sign.what
		}
	}
	return ""
}

// Commit is one commit of git.
type Commit struct {
	Hash    string
	Subject string
	Time    time.Time // committer date, not author date
}

// CommitsOf returns at most n commits reachable from HEAD and made after since, newest first. It returns none without a
// repository or commit.
func CommitsOf(ctx context.Context, root string, since time.Time, n int) ([]Commit, error) {
	repo, ok, err := ignore.FindRepository(root)
	if err != nil || !ok {
		return nil, err
	}
	out, err := git.Output(ctx, repo.Top, "log", "--no-show-signature", "--no-mailmap", "--max-count="+strconv.Itoa(n), "--format=%H%x09%ct%x09%s", "HEAD", "--")
	if err != nil { // before the first commit
		return nil, ctx.Err()
	}
	var commits []Commit
	for line := range strings.Lines(string(out)) {
		fields := strings.SplitN(strings.TrimRight(line, "\n"), "\t", 3)
		if len(fields) < 3 {
			continue
		}
		seconds, err := strconv.ParseInt(fields[1], 10, 64)
		if at := time.Unix(seconds, 0); err == nil && !at.Before(since) {
			commits = append(commits, Commit{Hash: fields[0], Subject: fields[2], Time: at})
		}
	}
	return commits, nil
}
