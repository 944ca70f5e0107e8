package runs

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"pawl/internal/disk"
	"pawl/internal/project"
)

// secretFilePatterns match files that usually contain secrets. Snapshots leave them out unless a .pawlignore includes them
// or git tracks them. Examples of such files contain none.
func secretFilePatterns() []string {
	return []string{
		".env", ".env.*", "!.env.example", "!.env.*.example", "!.env.sample", "!.env.template", "!.env.dist", "!.env.defaults",
		".envrc", ".netrc", ".pgpass", ".git-credentials",
	}
}

// RecordDotenv records the dotenv files of a plan, so that the snapshots of this project leave them out from now on. A file
// that one plan calls secret stays so for all runs.
func RecordDotenv(p *project.Project, files []string) error {
	if len(files) == 0 {
		return nil
	}
	known, err := dotenvPatterns(p)()
	if err != nil {
		return err
	}
	all := slices.Clone(known)
	for _, file := range files {
		if pattern := patternOf(file); !strings.Contains(pattern, "\n") && !slices.Contains(all, pattern) {
			all = append(all, pattern)
		}
	}
	if len(all) == len(known) {
		return nil
	}
	if err := disk.MakeFolders(p.Snapshots()); err != nil {
		return fmt.Errorf("record dotenv files: %w", err)
	}
	return disk.Replace(dotenvList(p), []byte(strings.Join(all, "\n")+"\n"))
}

// dotenvPatterns returns a function that reads the patterns of the recorded dotenv files.
func dotenvPatterns(p *project.Project) func() ([]string, error) {
	return func() ([]string, error) {
		data, err := disk.ReadFile(dotenvList(p), disk.ConfigLimit)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return slices.DeleteFunc(strings.Split(string(data), "\n"), func(line string) bool { return line == "" }), err
	}
}

func dotenvList(p *project.Project) string { return filepath.Join(p.Snapshots(), "dotenv") }

// patternOf returns the pattern that matches exactly one path of the project.
func patternOf(file string) string {
	escape := strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, " ", `\ `)
	return "/" + escape.Replace(path.Clean(filepath.ToSlash(file)))
}
