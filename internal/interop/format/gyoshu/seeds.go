package gyoshu

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"

	"pawl/internal/lazyregexp"
	"pawl/internal/textedit/jsonedit"
)

// Seeds are the seeds of random numbers by module, in the order of the file.
type Seeds []Seed

// Seed is the seed of one module.
type Seed struct {
	Name  string
	Value float64
}

// seedCall is a call in a cell that seeds a random number generator.
var seedCall = lazyregexp.New(`(?m)^[ \t]*(random|np\.random|numpy\.random)\.seed\(\s*([0-9]{1,15})\s*\)`)

// lastSeeds are the last seeds that code has set, by module.
type lastSeeds map[string]float64

// add adds the seeds that code sets.
func (last lastSeeds) add(code string) {
	for _, call := range seedCall.FindAllStringSubmatch(code, -1) {
		name := "numpy"
		if call[1] == "random" {
			name = "random"
		}
		last[name], _ = strconv.ParseFloat(call[2], 64) // digits
	}
}

// seeds returns the seeds in order.
func (last lastSeeds) seeds() (seeds Seeds) {
	for _, name := range []string{"random", "numpy"} {
		if seed, ok := last[name]; ok {
			seeds = append(seeds, Seed{name, seed})
		}
	}
	return seeds
}

// finite returns a module's seed, and whether it is a finite number.
func (s Seeds) finite(name string) (float64, bool) {
	for _, seed := range s {
		if seed.Name == name {
			return seed.Value, isFinite(seed.Value)
		}
	}
	return 0, false
}

func isFinite(f float64) bool { return !math.IsInf(f, 0) && !math.IsNaN(f) }

// MarshalJSON encodes them as an object in order.
func (s Seeds) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, seed := range s {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(seed.Name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(seed.Value)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func seedsOf(v *jsonedit.Value) Seeds {
	if !v.Is(jsonedit.Object) {
		return nil
	}
	seeds := Seeds{}
	for _, m := range v.Members {
		if f, ok := m.Value.Float(); ok {
			seeds = append(seeds, Seed{m.Key, f})
		}
	}
	return seeds
}

// number formats a number as JavaScript does.
func number(f float64) string {
	v, err := jsonedit.Read(strconv.AppendFloat(nil, f, 'g', -1, 64))
	if err != nil {
		panic("a finite number is JSON: " + err.Error())
	}
	return string(v.Stringify(""))
}
