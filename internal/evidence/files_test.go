package evidence_test

import (
	"strings"
	"testing"
	"time"

	"pawl/internal/evidence"
)

func TestKindOf(t *testing.T) {
	t.Parallel()
	for kind, paths := range map[evidence.FileKind]string{
		evidence.Test: `
			key_test.go internal/x/testdata/a.json test_x.py pkg/x_test.py conftest.py tests/helpers.py tests/data/a.csv app/tests.py
			src/a.test.ts src/a.spec.tsx a.test.mjs src/__tests__/a.js src/__snapshots__/a.snap a.js.snap a.cy.ts e2e/login.ts cypress/x.js
			src/test/java/a/B.java FooTest.java FooTests.cs FooIT.java FooSpec.scala TestFoo.java HTTPClientTest.java FooTests.swift
			spec/models/user_spec.rb user_test.rb spec/spec_helper.rb x_unittest.cc test_x.c foo-test.el test/runtests.jl src/tests.rs
			tests/it.rs a_test.exs a_test.dart run.bats t/basic.t login.feature cmd/testdata/script/a.txtar test-utils.R FooSpec.hs test.py
			Foo.Tests/Bar.cs Foo.UnitTests/Bar.cs unittests/a.py unit_tests/a.py integration-tests/a.go`,
		evidence.Source: `
			main.go a/b/util.py latest.py contest.py attest.go greatest.js protest.rb fastest.ts Testimony.java Testimonials.jsx inspect.py
			src/lib.rs index.html style.css query.sql notebook.ipynb api.proto Latest.java Manifest.swift testing.go UNIT.c docs/example.go
			AUDIT.java specimen.py exhibit.cs Suspect.java edit.go spectrum.js contests/a.py Foo.Contests/Bar.cs`,
		evidence.Docs: `
			README README.md docs/guide.rst latest.txt contest.md LICENSE CHANGELOG notes.txt docs/figure.png docs/spec/format.md man/pawl
			specs/design.md testimonials.md license.txt`,
		evidence.Settings: `
			go.mod go.sum package.json tsconfig.json .gitignore .eslintrc.js vite.config.ts requirements.txt requirements-dev.txt Makefile
			Dockerfile Dockerfile.dev .github/workflows/ci.yml pyproject.toml Cargo.lock .env .env.local CMakeLists.txt main.tf pom.xml
			.github/CODEOWNERS spec/openapi.yaml k8s/deploy.yaml setup.cfg setup.py build.gradle.kts
			BUILD.bazel a/WORKSPACE.bazel MODULE.bazel meson.build meson_options.txt Directory.Build.props x.targets requirements/dev.txt conanfile.txt conanfile.py`,
		evidence.Other: `image.png data.csv bin/tool a.out model.bin latest contest audio.wav tested attestation/blob requirements/dev.png`,
	} {
		for _, path := range strings.Fields(paths) {
			if got := evidence.KindOf(path); got != kind {
				t.Errorf("%s: %s, want %s", path, got, kind)
			}
		}
	}
	for _, path := range []string{"", ".", "/", "a b.go/", "..", "ä/ö.GO", "a//b_TEST.GO"} {
		evidence.KindOf(path)
	}
	if got := evidence.KindOf("A_TEST.GO"); got != evidence.Test {
		t.Errorf("upper case: %s", got)
	}
}

func TestNewChanges(t *testing.T) {
	t.Parallel()
	given := []evidence.Change{{Path: "a.go", How: "created"}, {Path: "a_test.go"}, {Path: "b.go"}}
	c := evidence.NewChanges(given)
	if c.Total != 3 || c.Kinds[evidence.Source] != 2 || c.Kinds[evidence.Test] != 1 || c.Files[1].Kind != evidence.Test || given[0].Kind != "" {
		t.Errorf("%+v, %+v", c, given)
	}
}

func TestCensus(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	c := evidence.Census{Since: now.Add(-time.Hour)}
	for path, age := range map[string]time.Duration{
		"test_a.py": time.Minute, "a.test.ts": 2 * time.Hour, "latest.txt": 0, "pom.xml": time.Hour, "go.mod": 3 * time.Hour, "a.py": -time.Minute,
	} {
		c.Add(path, now.Add(-age), now)
	}
	if c.Total != 6 || c.Kinds[evidence.Test] != 2 || c.Kinds[evidence.Settings] != 2 || c.Kinds[evidence.Source] != 1 || c.Kinds[evidence.Docs] != 1 {
		t.Errorf("%+v", c)
	}
	if c.Recent != 3 || len(c.Files) != 3 || !c.Last.Equal(now) {
		t.Errorf("recent: %+v", c)
	}
}
