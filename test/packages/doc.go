// Package packages opens pawl's packages, installs the Debian one in a root of its own, and runs the file system of the container image:
// `make test-packages`. It needs root, Debian's debootstrap, buildah and package mirror, and neither a container engine nor a registry.
//
// buildah builds the last stage of packaging/Containerfile. The tests run its file system in namespaces of the kernel. So they show what
// the image's user, entry point, signals and volumes do. They do not show what an engine adds: cgroups, seccomp, networks; and they do not
// run the build stage, whose image comes from a registry.
package packages
