package packages

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"go.yaml.in/yaml/v4"
)

// TestCompose checks what Decision 76 asks of the containers: the projects in a named volume, and Postgres. Nothing listens on other
// addresses than those of the host itself, and no password is in the file.
func TestCompose(t *testing.T) {
	data, err := os.ReadFile("../../packaging/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Services map[string]struct {
			Image          string
			NetworkMode    string `yaml:"network_mode"`
			Profiles       []string
			Volumes, Ports []string
			Environment    map[string]string
			Secrets        []string
			Healthcheck    struct{ Test []string }
		}
		Volumes map[string]struct{ Driver string }
		Secrets map[string]map[string]string
	}
	if err := yaml.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	pawl, postgres := file.Services["pawl"], file.Services["postgres"]
	if !slices.Contains(pawl.Volumes, "project_data:/app/projects") || file.Volumes["project_data"].Driver != "local" {
		t.Errorf("the projects are not in the volume project_data: %q", pawl.Volumes)
	}
	if postgres.Image != "postgres:15" || len(postgres.Healthcheck.Test) == 0 || !slices.Contains(postgres.Volumes, "postgres_data:/var/lib/postgresql/data") {
		t.Errorf("postgres: %+v", postgres)
	}
	loopback := regexp.MustCompile(`^127\.0\.0\.1:`)
	for name, service := range file.Services {
		if slices.ContainsFunc(service.Ports, func(p string) bool { return !loopback.MatchString(p) }) {
			t.Errorf("%s: other machines reach it: %q", name, service.Ports)
		}
		for variable, value := range service.Environment {
			if regexp.MustCompile("PASSWORD").MatchString(variable) && !regexp.MustCompile(`^(\$\{|/run/secrets/)`).MatchString(value) {
				t.Errorf("%s: %s has a value in the file", name, variable)
			}
		}
		for _, volume := range service.Volumes {
			if _, named := file.Volumes[regexp.MustCompile("^[^:]*").FindString(volume)]; !named {
				t.Errorf("%s: %s is not a named volume", name, volume)
			}
		}
		for _, secret := range service.Secrets {
			if file.Secrets[secret]["environment"] == "" {
				t.Errorf("%s: secret %s comes from nowhere", name, secret)
			}
		}
	}
}
