// Package packages installs pawl's Debian package in a root of its own, and runs the file system of the container image: `make
// test-packages`. It needs root, Debian's debootstrap and package mirror, and no container engine.
//
// It interprets the last stage of packaging/Containerfile itself. So it shows what the image's file system, user, entry point, signals and
// volumes do, in namespaces of the kernel. It shows neither that an engine builds the file, nor what an engine adds: cgroups, seccomp,
// networks.
package packages
