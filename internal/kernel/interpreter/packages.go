package interpreter

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Packages returns the packages that are installed for an interpreter, as name==version, by the names of their metadata folders. It does
// not run the interpreter. Folders of PYTHONPATH are not looked at.
func Packages(python string) []string {
	root := filepath.Dir(filepath.Dir(python))
	found := map[string]string{}
	for _, pattern := range []string{"lib/python3*/site-packages", "lib/python3/dist-packages", "local/lib/python3*/dist-packages"} {
		folders, _ := filepath.Glob(filepath.Join(root, pattern)) // the patterns are valid
		for _, folder := range folders {
			entries, err := os.ReadDir(folder)
			if err != nil {
				continue // what cannot be listed cannot be imported either
			}
			for _, entry := range entries {
				if name, version, ok := packageOf(entry.Name()); ok && found[name] == "" {
					found[name] = version
				}
			}
		}
	}
	list := []string{}
	for name, version := range found {
		list = append(list, name+"=="+version)
	}
	slices.Sort(list)
	return list
}

// packageOf returns the package of a folder or file such as numpy-1.24.2.dist-info or six-1.16.0-py3.11.egg-info.
func packageOf(entry string) (name, version string, ok bool) {
	stem, isWheel := strings.CutSuffix(entry, ".dist-info")
	if !isWheel {
		if stem, ok = strings.CutSuffix(entry, ".egg-info"); !ok {
			return "", "", false
		}
	}
	name, version, ok = strings.Cut(stem, "-")
	version, _, _ = strings.Cut(version, "-py")
	return strings.ReplaceAll(name, "_", "-"), version, ok && name != "" && version != ""
}
