package address_test

import (
	"strings"
	"testing"

	"pawl"
	"pawl/internal/remote/address"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"file:///mnt/a":            "file:///mnt/a",
		"file:///mnt//a/../b/":     "file:///mnt/b",
		"file://localhost/mnt/a b": "file:///mnt/a%20b",
		"s3://bucket":              "s3://bucket",
		"s3://bucket/a/b/":         "s3://bucket/a/b",
		"oci://localhost:5000/a/b": "oci://localhost:5000/a/b",
		"oci://[::1]:5000/a/":      "oci://[::1]:5000/a",
	} {
		if got, err := address.Parse(text); got != want || err != nil {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"":                          "not a URL",
		"/mnt/a":                    "not a URL",
		"ftp://host/a":              `unknown scheme "ftp"`,
		"s3:///a":                   "invalid bucket",
		"s3://Bucket/a":             "invalid bucket",
		"s3://a..b/a":               "invalid bucket",
		"s3://bucket:9000/a":        "invalid bucket",
		"s3://bucket/../a":          "invalid prefix",
		"s3://bucket/a b":           "invalid prefix",
		"s3://key:secret@bucket/a":  "credentials",
		"s3://bucket/a?region=eu":   "neither a query",
		"oci://host":                "invalid repository",
		"oci://host/Upper":          "invalid repository",
		"oci://host/../a":           "invalid repository",
		"oci://ho_st/a":             "invalid registry",
		"oci://user:secret@host/a":  "credentials",
		"file://mnt/a":              "three slashes",
		"file:a":                    "neither a query",
		"file:///":                  "not the path",
		"file:///..":                "not the path",
		"file:///a?key=b":           "neither a query",
		"file:///a#b":               "neither a query",
		"file://user:secret@host/a": "credentials",
		"file://%zz/a":              "invalid URL",
	} {
		_, err := address.Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) || pawl.KindOf(err) != pawl.KindUsage {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error has the password: %v", err)
		}
		if _, err := address.Open(text, nil); err == nil {
			t.Errorf("opened %s", text)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("file:///mnt/a")
	f.Add("file://localhost/a/../..")
	f.Add("s3://bucket/a/b")
	f.Add("oci://registry.example.com:443/a/b")
	f.Fuzz(func(t *testing.T, text string) {
		once, err := address.Parse(text)
		if err != nil {
			return
		}
		if twice, err := address.Parse(once); err != nil || twice != once {
			t.Errorf("%q becomes %q, and then %q, %v", text, once, twice, err)
		}
	})
}
