package supervise

import (
	"path/filepath"

	"pawl"
	"pawl/internal/disk"
)

// admit lets another user write the files with which a step reports, and reach them: the folders above can be passed through, not read.
// Nothing else in them is for that user. So a step of another user can neither read nor change the journal, the job or the exit record.
func admit(dir string, a *pawl.Account) error {
	if a == nil {
		return nil
	}
	for at := dir; ; at = filepath.Dir(at) {
		if err := disk.LetPass(at); err != nil {
			return err
		}
		if filepath.Base(at) == disk.Guarded || at == filepath.Dir(at) {
			break
		}
	}
	for _, name := range []string{pawl.EventsFile, pawl.ResultFile} {
		if err := disk.Share(filepath.Join(dir, name), a.GID); err != nil {
			return err
		}
	}
	return nil
}

// share lets another user read and write a file, which is created if it is missing.
func share(path string, a *pawl.Account) error {
	if a == nil {
		return nil
	}
	return disk.Share(path, a.GID)
}

// ShareScript lets the user who executes the commands of a job read a script, if the job's shell reads it from a file.
func ShareScript(job *pawl.Job, file string) error {
	if !job.Shell.Or(job.RunShell).ReadsFile() {
		return nil
	}
	return share(file, job.RunAs)
}
