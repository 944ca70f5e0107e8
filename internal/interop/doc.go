// Package interop imports, exports and mirrors the files of other systems. Each system has a format below
// interop/format, which does no I/O. This package reads and writes the files, and never overwrites a file that someone else
// changed since it was read.
package interop
