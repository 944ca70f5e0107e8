package evidence

import (
	"path"
	"slices"
	"strings"
)

// Changes are the changed files of the workspace: their number, and the first ones by name.
type Changes struct {
	Total int              `json:"total"`
	Kinds map[FileKind]int `json:"kinds,omitempty"`
	Files []Change         `json:"files,omitempty"` // the first ones
}

// Change is a changed file.
type Change struct {
	Path string   `json:"path"` // relative to the project, with slashes
	Kind FileKind `json:"kind"`
	How  string   `json:"how,omitempty"` // created, modified or deleted
}

// NewChanges counts changed files and sets their kinds.
func NewChanges(files []Change) Changes {
	c := Changes{Total: len(files), Kinds: map[FileKind]int{}, Files: slices.Clone(files)}
	for i := range c.Files {
		c.Files[i].Kind = KindOf(c.Files[i].Path)
		c.Kinds[c.Files[i].Kind]++
	}
	return c
}

// FileKind classifies a file by its purpose.
type FileKind string

// Kinds of files.
const (
	Source   FileKind = "source"
	Test     FileKind = "test"
	Settings FileKind = "config"
	Docs     FileKind = "docs"
	Other    FileKind = "other"
)

// Folder names that determine the kind of files in them.
const (
	testFolders = "test tests __tests__ testdata __snapshots__ __mocks__ androidtest e2e cypress"
	specFolders = "spec specs" // tests, if they contain source files
	docsFolders = "doc docs documentation man"
)

// KindOf returns the kind of the file at a path, using only its path. Tests come first: test_x.py and x.test.ts are
// tests, not source. latest.txt and contest.py are not tests.
func KindOf(file string) FileKind {
	file = path.Clean(file)
	name := path.Base(file)
	kind := kindByName(name)
	folders := strings.Split(strings.ToLower(path.Dir(file)), "/")
	switch {
	case in(folders, testFolders), slices.ContainsFunc(folders, holdsTests), kind == Source && in(folders, specFolders):
		return Test
	case kind == Source && isTest(name), strings.HasSuffix(name, ".snap"), name == "pytest.ini":
		return Test
	case kind == Docs && path.Ext(name) == ".txt" && path.Base(path.Dir(file)) == "requirements":
		return Settings
	case kind != "":
		return kind
	case in(folders, docsFolders):
		return Docs
	case slices.Contains(folders, ".github"), slices.Contains(folders, ".circleci"), strings.HasPrefix(name, "."):
		return Settings
	}
	return Other
}

// holdsTests reports whether a folder's name combines a kind of tests and "tests": Foo.Tests, unit_tests, unittests.
func holdsTests(folder string) bool {
	before, ok := strings.CutSuffix(folder, "tests")
	return ok && (strings.HasSuffix(before, ".") || contains(testKinds, strings.TrimRight(before[strings.LastIndex(before, ".")+1:], "_-")))
}

// testKinds are the kinds of tests in folder names.
const testKinds = "unit integration functional acceptance system smoke"

func in(folders []string, names string) bool {
	return slices.ContainsFunc(strings.Fields(names), func(name string) bool { return slices.Contains(folders, name) })
}

// kindByName returns the kind that a file's name determines, "" for none.
func kindByName(name string) FileKind {
	lower := strings.ToLower(name)
	stem, _, _ := strings.Cut(lower, ".")
	extension := strings.TrimPrefix(path.Ext(lower), ".")
	switch {
	case contains(settingsNames, lower), strings.Contains(lower, ".config."), strings.HasPrefix(lower, ".env"), strings.HasPrefix(lower, "dockerfile"),
		strings.HasPrefix(lower, "requirements") && extension == "txt", strings.HasPrefix(lower, "tsconfig"):
		return Settings
	case extension == lower: // a dot file
		return ""
	case contains(sourceExtensions, extension):
		return Source
	case contains(docsExtensions, extension), contains(docsNames, stem) && (extension == "" || extension == "txt"):
		return Docs
	case contains(settingsExtensions, extension):
		return Settings
	}
	return ""
}

func contains(list, word string) bool {
	return word != "" && slices.Contains(strings.Fields(list), word)
}

const (
	sourceExtensions = `
		go py pyi pyx ipynb js mjs cjs jsx ts mts cts tsx vue svelte astro html htm css scss sass less
		java kt kts scala groovy clj cljs cljc cs fs fsx vb swift m mm dart rs rb erb php pl pm t lua r jl hs elm ml mli ex exs erl hrl
		c h cc cpp cxx hh hpp hxx cu zig nim d v sv vhd asm s f90 f95 sql proto graphql gql thrift sh bash zsh fish ps1 bat bats feature
		sol cr tcl el lisp scm rkt coffee wat txtar`
	docsExtensions     = `md mdx markdown rst adoc asciidoc org tex txt pdf docx odt rtf epub`
	docsNames          = `readme licence license copying notice authors contributors changelog changes history contributing security todo news`
	settingsExtensions = `
		yaml yml json json5 jsonc toml ini cfg conf config properties env lock xml plist gradle cmake tf tfvars hcl nix bzl mk mod sum work
		editorconfig service desktop csproj fsproj vbproj sln gemspec cabal podspec
		bazel props targets`
	settingsNames = `
		makefile gnumakefile dockerfile containerfile vagrantfile jenkinsfile procfile gemfile rakefile podfile fastfile brewfile justfile
		pipfile build workspace meson.build meson_options.txt meson.options conanfile.txt conanfile.py cmakelists.txt robots.txt constraints.txt codeowners .eslintrc.js .prettierrc.js setup.py conftest.cfg
		build.gradle build.gradle.kts settings.gradle settings.gradle.kts build.sbt mix.exs package.swift gulpfile.js gruntfile.js`
)

// isTest reports whether a source file has the name of a test.
func isTest(name string) bool {
	stem := strings.TrimSuffix(name, path.Ext(name))
	lower := strings.ToLower(stem)
	switch path.Ext(name) {
	case ".t", ".bats", ".feature", ".txtar":
		return true
	}
	if slices.Contains([]string{"test", "tests", "spec", "conftest", "runtests"}, lower) {
		return true
	}
	for _, mark := range []string{"test", "tests", "spec", "unittest", "cy", "e2e"} {
		for _, joint := range []string{"_", "-", "."} {
			if strings.HasSuffix(lower, joint+mark) {
				return true
			}
		}
	}
	return strings.HasPrefix(lower, "test_") || strings.HasPrefix(lower, "test-") || strings.HasPrefix(lower, "test.") || camelTest(stem)
}

// camelTest reports whether a name is like FooTest, FooTests, FooSpec, FooIT or TestFoo, but not like Latest or
// Testimony.
func camelTest(stem string) bool {
	for _, end := range []string{"Test", "Tests", "TestCase", "Spec", "IT"} {
		if before, ok := strings.CutSuffix(stem, end); ok && before != "" && before[len(before)-1] != '_' && !upper(before[len(before)-1]) {
			return true
		}
	}
	after, ok := strings.CutPrefix(stem, "Test")
	return ok && after != "" && upper(after[0])
}

func upper(c byte) bool { return 'A' <= c && c <= 'Z' }
