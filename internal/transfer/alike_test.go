package transfer_test

import (
	"crypto/sha256"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"pawl"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// folderOf returns the object of a folder with one file.
func folderOf(name, content string) []byte {
	sum := sha256.Sum256([]byte(content))
	object := append([]byte("pawl tree 1\nf"), byte(len(name)))
	object = binary.AppendUvarint(append(object, name...), 0o600)
	return append(binary.AppendUvarint(object, uint64(len(content))), sum[:]...)
}

// anyRun makes a run.
func anyRun(t *testing.T, p *project.Project) pawl.RunID {
	t.Helper()
	run, err := runs.Create(t.Context(), p, runs.CreateOptions{Kind: pawl.CommandRun, Plan: &pawl.Plan{Name: "any"}, Data: []byte("name: any\nsteps: [{id: a, run: 'true'}]\n")})
	must(t, err)
	return run
}

// addFolder adds the folder of folderOf, and saves a checkpoint.
func addFolder(t *testing.T, p *project.Project, run pawl.RunID) {
	t.Helper()
	must(t, os.Mkdir(filepath.Join(p.Root, "sub"), 0o700))
	must(t, os.WriteFile(filepath.Join(p.Root, "sub", "below"), []byte("below"), 0o600))
	more(t, p, run, "with the folder")
}

// TestFileLikeAFolder: an earlier file with the bytes of a folder's object hides nothing of what is below the folder, on the remote or in the
// project that pulls.
func TestFileLikeAFolder(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"on the remote", "in the project that pulls"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			url, s := share(t)
			p, run := begun(t, url)
			other := newProject(t, url)
			alike := folderOf("below", "below")
			if where == "on the remote" {
				must(t, os.WriteFile(filepath.Join(p.Root, "alike"), alike, 0o600))
				more(t, p, run, "with the file")
				_, err := push(t.Context(), p, run)
				must(t, err)
				must(t, os.Remove(filepath.Join(p.Root, "alike")))
			} else {
				must(t, os.WriteFile(filepath.Join(other.Root, "alike"), alike, 0o600))
				more(t, other, anyRun(t, other), "with the file")
			}
			addFolder(t, p, run)
			_, err := push(t.Context(), p, run)
			must(t, err)
			verified(t, s)
			_, err = pull(t.Context(), other, run)
			must(t, err)
			sameRun(t, p, other, run)
		})
	}
}
