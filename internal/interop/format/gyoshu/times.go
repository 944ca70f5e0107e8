package gyoshu

import (
	"strings"
	"time"
)

// isInstant reports whether Gyoshu accepts a time: a valid date, T, hours, minutes and seconds, an optional fraction, and a
// literal Z.
func isInstant(s string) bool {
	const shape = "0000-00-00T00:00:00"
	if len(s) <= len(shape) || s[len(s)-1] != 'Z' {
		return false
	}
	for i := range len(shape) {
		if digit := s[i] >= '0' && s[i] <= '9'; digit != (shape[i] == '0') || !digit && s[i] != shape[i] {
			return false
		}
	}
	fraction := s[len(shape) : len(s)-1]
	if fraction != "" && (len(fraction) < 2 || fraction[0] != '.' || strings.Trim(fraction[1:], "0123456789") != "") {
		return false
	}
	_, err := time.Parse("2006-01-02T15:04:05", s[:len(shape)])
	return err == nil
}

// instantOf formats a time as Gyoshu does: UTC, in milliseconds.
func instantOf(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }
