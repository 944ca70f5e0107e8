package ignore

import (
	"fmt"
	"testing"
)

// typical is the kind of file that a project of several languages has: 30 patterns.
const typical = `# build
/build/
/dist/
target/
node_modules/
__pycache__/
*.py[cod]
*.o
*.a
*.so
*.class
*.log
*.tmp
*.swp
*~
.DS_Store
.idea/
.vscode/*
!.vscode/settings.json
.env
.env.*
!.env.example
coverage/
*.egg-info/
**/generated/*.go
docs/**/*.html
/bin/*
!/bin/keep
npm-debug.log*
.cache
Thumbs.db
`

// BenchmarkWalk asks about 100,000 entries in 1,500 folders against 30 patterns, as a walk does.
func BenchmarkWalk(b *testing.B) {
	const folders, entries = 1500, 67
	root := (&Rules{top: "/top"}).with([]byte(typical), nil)
	folderNames, names := make([]string, folders), make([]string, entries)
	for i := range folders {
		folderNames[i] = fmt.Sprintf("package-%d", i)
	}
	for i := range entries {
		names[i] = fmt.Sprintf("some_module_%d.%s", i, []string{"go", "py", "ts", "txt", "json"}[i%5])
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, folder := range folderNames {
			rules := root.In(folder, nil, nil).In("src", nil, nil)
			for _, name := range names {
				if rules.Ignored(name, false) {
					b.Fatal(name)
				}
			}
		}
	}
}
