package jupyter

import (
	"bufio"
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"

	"pawl/internal/kernel"
)

// FuzzKernelSpec: whatever a kernelspec says, what is started is a program with an absolute path and the connection file.
func FuzzKernelSpec(f *testing.F) {
	f.Add([]byte(`{"argv": ["/usr/bin/python3", "-m", "ipykernel_launcher", "-f", "{connection_file}"], "language": "python", "interrupt_mode": "signal"}`))
	f.Add([]byte(`{"argv": ["python3", "{connection_file}", "{resource_dir}"], "env": {"PATH": "/x:${PATH}", "A": "$A"}}`))
	f.Add([]byte(`{"argv": ["./k", "{connection_file}"]}`))
	spec := kernel.Spec{Dir: "/", Runtime: "/run/pawl", Environ: []string{"PATH=/usr/bin:/bin", "A=1"}}
	f.Fuzz(func(t *testing.T, data []byte) {
		found := &kernelSpec{name: "x", folder: "/specs/x"}
		if json.Unmarshal(data, found) != nil || found.check() != nil {
			return
		}
		c, err := found.command(spec)
		if err != nil {
			return
		}
		if !filepath.IsAbs(c.path) || c.argv[0] != c.path || !bytes.Contains(bytes.Join(asBytes(c.argv), nil), []byte(connectionFile(spec))) {
			t.Errorf("%s starts %q %q", data, c.path, c.argv)
		}
	})
}

func asBytes(words []string) (all [][]byte) {
	for _, w := range words {
		all = append(all, []byte(w))
	}
	return all
}

// FuzzWire reads whatever comes from a helper. Each message takes two lines, so reading ends.
func FuzzWire(f *testing.F) {
	f.Add([]byte("{\"channel\":\"iopub\",\"type\":\"stream\",\"parent\":\"cell/a/1/x\",\"buffers\":[\"AP8=\"]}\n{\"text\":\"x\"}\n"))
	f.Add([]byte("{}\n{}\n[]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bufio.NewReader(bytes.NewReader(data))
		for n := 0; ; n++ {
			if _, err := readWire(r); err != nil {
				return
			}
			if n > len(data) {
				t.Fatal("reading does not end")
			}
		}
	})
}
