package stepenv

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/redact"
	"pawl/internal/strictyaml"
)

// MaxValue is the maximum size of a recorded value in bytes. Each fits into a line of the journal, whatever its characters are.
const MaxValue = 8 << 10

// A Source is where the values of a run come from: the process that starts or resumes it.
type Source struct {
	Environ  []string
	Params   map[string]string                     // of --param and --params
	Read     func(file string) ([]byte, error)     // reads a dotenv file of the project, at most MaxDotenv bytes
	Key      func() ([]byte, error)                // key of the hashes of secrets
	Ask      func(question string) (string, error) // asks for a missing secret; nil: no terminal
	Resuming bool                                  // the run has begun already
	Evaluate Evaluate                              // computes expressions; nil: they stay
}

// Collected are the values of a run.
type Collected struct {
	New      pawl.GivenValues // to be recorded
	Secrets  Secrets
	Differs  []string // variables with another value than the recorded one, which the run keeps
	Replaced []string // secrets with another value than the run began with
	Unknown  []string // secrets whose recorded hashes have another key: their values cannot be compared
	Changed  []string // changed parameters: "n: 5 → 6"
}

// MissingError lists variables that the plan refers to without default and that the caller does not have.
type MissingError struct{ Variables []string }

func (e *MissingError) Error() string {
	return "not set, and the plan refers to it: " + strings.Join(e.Variables, ", ")
}

// Collect returns the values for a plan as it is written. recorded are those that the journal has. Secrets are compared with
// them; other recorded values hold, whatever the source has now. The error lists everything that is missing or wrong.
func (s Source) Collect(plan *pawl.Plan, recorded pawl.GivenValues) (Collected, error) {
	c := collector{Source: s, recorded: recorded, environ: map[string]string{}}
	c.Secrets = Secrets{Params: map[string]string{}, Env: map[string]string{}}
	c.New = pawl.GivenValues{Params: map[string]pawl.Given{}, Env: map[string]pawl.Given{}, Dotenv: map[string]pawl.Given{}, Values: map[string]pawl.Given{}}
	for _, v := range s.Environ {
		name, value, _ := strings.Cut(v, "=")
		c.environ[name] = value
	}
	c.dotenv(plan)
	c.env(plan)
	c.params(plan)
	if len(c.errs) == 0 {
		c.values(plan)
	}
	if len(c.missing) > 0 {
		c.errs = append(c.errs, &MissingError{Variables: c.missing})
	}
	return c.Collected, errors.Join(c.errs...)
}

type collector struct {
	Source
	Collected
	recorded pawl.GivenValues
	environ  map[string]string
	key      []byte
	missing  []string
	errs     []error
}

func (c *collector) fail(format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf(format, args...))
}

// dotenv reads the plan's dotenv files. Of variables in several files the last one counts.
func (c *collector) dotenv(plan *pawl.Plan) {
	for _, file := range plan.Dotenv {
		data, err := c.Read(file)
		if err != nil {
			c.fail("dotenv: %w", err)
			continue
		}
		variables, err := ParseDotenv(data)
		if err != nil {
			c.fail("%s:%w", file, err)
		}
		for _, v := range variables {
			c.Secrets.Env[v.Name] = v.Value
		}
	}
	c.Secrets.Dotenv = slices.Sorted(maps.Keys(c.Secrets.Env))
	for _, name := range c.Secrets.Dotenv {
		c.secret("dotenv", name, c.Secrets.Env[name], c.recorded.Dotenv, c.New.Dotenv)
	}
	for name, was := range c.recorded.Dotenv {
		if _, has := c.Secrets.Env[name]; !has && !was.Unset {
			c.Replaced = append(c.Replaced, name)
			c.New.Dotenv[name] = pawl.Given{Unset: true}
		}
	}
}

// secret compares a secret with its recorded hash, and records a new one.
func (c *collector) secret(kind, name, value string, recorded, record map[string]pawl.Given) {
	if c.key == nil {
		key, err := c.Key()
		if err != nil {
			c.fail("secret %s: %w", name, err)
			return
		}
		c.key = key
	}
	hash := hashOf(c.key, kind, name, value)
	was, has := recorded[name]
	if was.Hash == hash || was.Hash != "" && was.Hash == macOf(hash) {
		return
	}
	record[name] = pawl.Given{Hash: hash}
	if has && keyOf(was.Hash) != "" && keyOf(was.Hash) != keyOf(hash) {
		c.Unknown = append(c.Unknown, name)
		return
	}
	if has && was.Hash != "" || c.Resuming && kind == "dotenv" && len(recorded) > 0 {
		c.Replaced = append(c.Replaced, name)
	}
}

// keyIDSize is the number of bytes that identify a key.
const keyIDSize = 8

// hashOf returns the ID of the key, a colon, and the keyed hash of a secret. Without the key it reveals nothing, not even
// that two secrets are equal. Earlier versions recorded the hash alone.
func hashOf(key []byte, kind, name, value string) string {
	id := keyed(key, "id")[:keyIDSize]
	return hex.EncodeToString(id) + ":" + hex.EncodeToString(keyed(key, kind+"\x00"+name+"\x00"+value))
}

func keyed(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

// keyOf returns the ID of the key of a hash; "" if an earlier version recorded it.
func keyOf(hash string) string {
	id, _, found := strings.Cut(hash, ":")
	if !found {
		return ""
	}
	return id
}

// macOf returns a hash without the ID of its key.
func macOf(hash string) string {
	_, mac, _ := strings.Cut(hash, ":")
	return mac
}

// reference is how a plan uses a variable of the caller.
type reference struct {
	optional bool // each reference has a default
	secret   bool
}

// references returns the variables that the plan refers to.
func references(plan *pawl.Plan) map[string]reference {
	found := map[string]reference{}
	for env, secret := range envsOf(plan) {
		for target, v := range env {
			t, err := Parse(v.Value)
			if err != nil {
				continue
			}
			names, optional := t.Names()
			for i, name := range names {
				r, again := found[name]
				r.optional = optional[i] && (!again || r.optional)
				r.secret = r.secret || secret || v.Secret || redact.SecretVariable(target, "x")
				found[name] = r
			}
		}
	}
	return found
}

// References returns the variables that the plan refers to, sorted.
func References(plan *pawl.Plan) []string { return slices.Sorted(maps.Keys(references(plan))) }

func (c *collector) env(plan *pawl.Plan) {
	all := references(plan)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if _, dotenv := c.Secrets.Env[name]; dotenv {
			continue
		}
		c.variable(name, all[name])
	}
}

// variable collects one variable that the plan refers to.
func (c *collector) variable(name string, r reference) {
	was, has := c.recorded.Env[name]
	value, set := c.environ[name]
	if plain := has && was.Hash == ""; plain && (set == was.Unset || value != was.Value) {
		c.Differs = append(c.Differs, name)
	}
	switch {
	case !has:
		r.secret = r.secret || redact.SecretVariable(name, value)
	case was.Hash != "":
		r.secret = true
		if !set {
			value, set = c.ask(name)
		}
	case was.Unset || !r.secret:
		return
	default: // a changed plan makes it a secret
		value, set = was.Value, true
	}
	switch {
	case !set && r.optional && !has:
		c.New.Env[name] = pawl.Given{Unset: true}
	case !set:
		c.missing = append(c.missing, name)
	case r.secret:
		c.Secrets.Env[name] = value
		c.secret("env", name, value, c.recorded.Env, c.New.Env)
	case len(value) > MaxValue:
		c.fail("variable %s has %d bytes; the maximum is %d; put it into a file", name, len(value), MaxValue)
	default:
		c.New.Env[name] = pawl.Given{Value: value}
	}
}

// ask asks for a secret, if there is a terminal.
func (c *collector) ask(name string) (value string, ok bool) {
	if c.Ask == nil {
		return "", false
	}
	value, err := c.Ask(name)
	if err != nil {
		c.fail("%s: %w", name, err)
	}
	return value, err == nil && value != ""
}

func (c *collector) params(plan *pawl.Plan) {
	names := plan.ParamNames()
	for _, name := range slices.Sorted(maps.Keys(c.Params)) {
		switch {
		case len(names) == 0:
			c.fail("unknown parameter %q: the plan has no parameters", name)
		case !slices.Contains(names, name):
			c.fail("unknown parameter %q; %s", name, strictyaml.DidYouMean(name, names))
		}
	}
	for _, name := range names {
		if param := plan.Params[name]; param.Secret {
			c.secretParam(name, param)
		} else {
			c.param(name, param)
		}
	}
}

func (c *collector) param(name string, param pawl.Parameter) {
	was, recorded := c.recorded.Params[name]
	text, given := c.Params[name]
	if !given {
		if param.Required && !recorded && param.Default == nil {
			c.fail("parameter %s is required; pass --param %s=VALUE%s", name, name, described(param))
		}
		return
	}
	value, err := param.Parse(text)
	switch {
	case err != nil:
		c.fail("parameter %s: %v", name, err)
		return
	case redact.Sure(value) != "":
		c.fail("parameter %s contains a secret (%s); set \"secret: true\" for it in the plan", name, redact.Sure(value))
		return
	case len(value) > MaxValue:
		c.fail("parameter %s has %d bytes; the maximum is %d; put it into a file", name, len(value), MaxValue)
		return
	}
	before, had := was.Value, recorded
	if !had && param.Default != nil {
		before, had = string(*param.Default), true
	}
	if c.Resuming && (!had || before != value) {
		c.Changed = append(c.Changed, fmt.Sprintf("%s: %s → %s", name, shown(before, had), shown(value, true)))
	}
	if !recorded || was.Value != value {
		c.New.Params[name] = pawl.Given{Value: value}
	}
}

func described(param pawl.Parameter) string {
	if param.Description == "" {
		return ""
	}
	return " (" + param.Description + ")"
}

func shown(value string, set bool) string {
	if !set {
		return "not set"
	}
	return fmt.Sprintf("%q", value)
}

// secretParam collects a parameter that is a secret: from --param, from the variable of its name, or from a prompt.
func (c *collector) secretParam(name string, param pawl.Parameter) {
	value, given := c.Params[name]
	if !given {
		value, given = c.environ[pawl.ParamVar(name)]
	}
	_, recorded := c.recorded.Params[name]
	if !given && (recorded || param.Required) {
		value, given = c.ask("parameter " + name)
	}
	switch {
	case !given && (recorded || param.Required):
		c.fail("parameter %s is a secret and must be given again for each command that runs steps; set %s%s", name, pawl.ParamVar(name), described(param))
		return
	case !given:
		return
	}
	value, err := param.Parse(value)
	if err != nil {
		c.fail("parameter %s is not of type %s", name, param.Type) // without the value
		return
	}
	c.Secrets.Params[name] = value
	c.secret("param", name, value, c.recorded.Params, c.New.Params)
}

// Events returns the events that record values, none if there are none. Each fits into a line of the journal.
func Events(values pawl.GivenValues) []pawl.Payload {
	var all []pawl.Payload
	const maxEvent = 32 << 10
	size, event := 0, pawl.RunGiven{}
	add := func(from map[string]pawl.Given, into func() *map[string]pawl.Given) {
		for _, name := range slices.Sorted(maps.Keys(from)) {
			v := from[name]
			width := 6*len(v.Value) + len(name) + 128 // a byte takes up to 6 in JSON
			if size > 0 && size+width > maxEvent {
				all, size, event = append(all, event), 0, pawl.RunGiven{}
			}
			size += width
			if m := into(); *m == nil {
				*m = map[string]pawl.Given{}
			}
			(*into())[name] = v
		}
	}
	add(values.Params, func() *map[string]pawl.Given { return &event.Params })
	add(values.Env, func() *map[string]pawl.Given { return &event.Env })
	add(values.Dotenv, func() *map[string]pawl.Given { return &event.Dotenv })
	add(values.Values, func() *map[string]pawl.Given { return &event.Values })
	if size > 0 {
		all = append(all, event)
	}
	return all
}
