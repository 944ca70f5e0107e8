// Package lazyregexp provides regular expressions that are compiled on first use. pawl starts before and after each
// tool call of an agent and for each step, and most of these processes need few of its expressions.
package lazyregexp

import (
	"regexp"
	"sync"
)

// A Pattern is a regular expression with the syntax of package regexp. Its methods may be called concurrently.
type Pattern struct{ compiled func() *regexp.Regexp }

// New returns a pattern. An invalid one panics on first use.
func New(text string) *Pattern {
	return &Pattern{compiled: sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })}
}

// The methods are those of regexp.Regexp.

func (p *Pattern) Match(b []byte) bool            { return p.compiled().Match(b) }
func (p *Pattern) MatchString(s string) bool      { return p.compiled().MatchString(s) }
func (p *Pattern) Find(b []byte) []byte           { return p.compiled().Find(b) }
func (p *Pattern) FindString(s string) string     { return p.compiled().FindString(s) }
func (p *Pattern) FindStringIndex(s string) []int { return p.compiled().FindStringIndex(s) }
func (p *Pattern) FindSubmatch(b []byte) [][]byte { return p.compiled().FindSubmatch(b) }
func (p *Pattern) FindAllSubmatch(b []byte, n int) [][][]byte {
	return p.compiled().FindAllSubmatch(b, n)
}
func (p *Pattern) FindStringSubmatch(s string) []string {
	return p.compiled().FindStringSubmatch(s)
}
func (p *Pattern) FindStringSubmatchIndex(s string) []int {
	return p.compiled().FindStringSubmatchIndex(s)
}
func (p *Pattern) FindAllStringSubmatch(s string, n int) [][]string {
	return p.compiled().FindAllStringSubmatch(s, n)
}
func (p *Pattern) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return p.compiled().FindAllStringSubmatchIndex(s, n)
}
func (p *Pattern) ReplaceAllString(s, by string) string { return p.compiled().ReplaceAllString(s, by) }
func (p *Pattern) ReplaceAllStringFunc(s string, by func(string) string) string {
	return p.compiled().ReplaceAllStringFunc(s, by)
}
