// Package interop imports, exports and mirrors the files of other systems. Each system is a format below
// interop/format, which is pure; this package reads and writes the files, and never overwrites what somebody else changed.
package interop
