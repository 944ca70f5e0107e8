package memo

import (
	"encoding/binary"
	"math"
	"reflect"
	"time"
)

// The encoding of a value has no names: only the program that wrote it can read it. A struct is the numbers of its fields that are not
// zero, each with the field's value, and 0. So fields that are zero, as most are, cost nothing.

var timeType = reflect.TypeFor[time.Time]()

// encode appends the encoding of a value. It returns false for a value that has none, because it has an interface that is not nil, a field
// that is not exported, or a time with a zone.
func encode[T any](to []byte, value *T) ([]byte, bool) {
	w := writer{data: to}
	w.value(reflect.ValueOf(value).Elem())
	return w.data, !w.bad
}

// Copier returns a function that returns deep copies of a value as it is now; nil if it has no encoding. Other goroutines may call it.
func Copier[T any](value *T) func() *T {
	data, ok := encode(nil, value)
	if !ok {
		return nil
	}
	text := string(data)
	return func() *T {
		c := new(T)
		if in := (reader{data: text}); !decode(&in, c) {
			panic("memo: a value cannot be read that was just encoded")
		}
		return c
	}
}

// writer appends encoded values.
type writer struct {
	data []byte
	bad  bool
}

func (w *writer) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		w.length(map[bool]int{true: 1}[v.Bool()])
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		w.data = binary.AppendVarint(w.data, v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		w.data = binary.AppendUvarint(w.data, v.Uint())
	case reflect.Float32, reflect.Float64:
		w.data = binary.LittleEndian.AppendUint64(w.data, math.Float64bits(v.Float()))
	case reflect.String:
		w.length(v.Len())
		w.data = append(w.data, v.String()...)
	case reflect.Pointer:
		if w.present(v) {
			w.value(v.Elem())
		}
	case reflect.Slice:
		if w.present(v) {
			w.length(v.Len())
			if v.Type().Elem().Kind() == reflect.Uint8 {
				w.data = append(w.data, v.Bytes()...)
				return
			}
			for i := range v.Len() {
				w.value(v.Index(i))
			}
		}
	case reflect.Map:
		if w.present(v) {
			w.length(v.Len())
			for all := v.MapRange(); all.Next(); {
				w.value(all.Key())
				w.value(all.Value())
			}
		}
	case reflect.Struct:
		w.fields(v)
	default: // zero fields are left out, and an element of an interface type has no encoding
		w.bad = true
	}
}

func (w *writer) length(n int) { w.data = binary.AppendUvarint(w.data, uint64(n)) }

// present writes whether a pointer, a slice or a map is there.
func (w *writer) present(v reflect.Value) bool {
	if v.IsNil() {
		w.length(0)
		return false
	}
	w.length(1)
	return true
}

func (w *writer) fields(v reflect.Value) {
	if v.Type() == timeType {
		at, _ := v.Interface().(time.Time)
		_, offset := at.Zone()
		w.bad = w.bad || offset != 0
		w.data = binary.AppendVarint(w.data, at.Unix())
		w.length(at.Nanosecond())
		return
	}
	for i := range v.NumField() {
		if field := v.Field(i); !field.IsZero() {
			w.bad = w.bad || !v.Type().Field(i).IsExported()
			w.length(i + 1)
			w.value(field)
		}
	}
	w.length(0)
}

// decode reads a value. It returns false if the data does not encode one.
func decode[T any](in *reader, value *T) bool {
	in.value(reflect.ValueOf(value).Elem())
	return !in.bad
}

// reader decodes values. Their strings are parts of its data.
type reader struct {
	data string
	bad  bool
}

func (r *reader) value(v reflect.Value) {
	if r.bad {
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(r.unsigned() == 1)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(r.signed())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		v.SetUint(r.unsigned())
	case reflect.Float32, reflect.Float64:
		var bits [8]byte
		copy(bits[:], r.next(len(bits)))
		v.SetFloat(math.Float64frombits(binary.LittleEndian.Uint64(bits[:])))
	case reflect.String:
		v.SetString(r.next(r.length()))
	case reflect.Pointer:
		if r.unsigned() == 1 {
			v.Set(reflect.New(v.Type().Elem()))
			r.value(v.Elem())
		}
	case reflect.Slice:
		if r.unsigned() == 1 {
			r.slice(v)
		}
	case reflect.Map:
		if r.unsigned() == 1 {
			r.entries(v)
		}
	case reflect.Struct:
		r.fields(v)
	default:
		r.bad = true
	}
}

func (r *reader) slice(v reflect.Value) {
	n := r.length()
	if v.Type().Elem().Kind() == reflect.Uint8 {
		v.SetBytes([]byte(r.next(n)))
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), n, n))
	for i := range n {
		r.value(v.Index(i))
	}
}

func (r *reader) entries(v reflect.Value) {
	t, n := v.Type(), r.length()
	v.Set(reflect.MakeMapWithSize(t, n))
	key, value := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
	var all reflect.Value // what the values point to, allocated at once
	if t.Elem().Kind() == reflect.Pointer {
		all = reflect.MakeSlice(reflect.SliceOf(t.Elem().Elem()), n, n)
	}
	for i := range n {
		key.SetZero()
		value.SetZero()
		r.value(key)
		switch {
		case !all.IsValid():
			r.value(value)
		case r.unsigned() == 1:
			value.Set(all.Index(i).Addr())
			r.value(value.Elem())
		}
		if r.bad {
			return
		}
		v.SetMapIndex(key, value)
	}
}

func (r *reader) fields(v reflect.Value) {
	if v.Type() == timeType {
		seconds, nanos := r.signed(), r.unsigned()
		if at, ok := v.Addr().Interface().(*time.Time); ok {
			*at = time.Unix(seconds, int64(nanos)).UTC()
		}
		return
	}
	for n := r.unsigned(); n != 0; n = r.unsigned() {
		if r.bad = r.bad || n > uint64(v.NumField()); r.bad {
			return
		}
		r.value(v.Field(int(n - 1)))
	}
}

func (r *reader) unsigned() uint64 {
	n, shift := uint64(0), 0
	for i := range min(len(r.data), binary.MaxVarintLen64) {
		b := r.data[i]
		n |= uint64(b&0x7f) << shift
		if shift += 7; b < 0x80 {
			r.data = r.data[i+1:]
			return n
		}
	}
	r.bad = true
	return 0
}

func (r *reader) signed() int64 {
	n := r.unsigned()
	return int64(n>>1) ^ -int64(n&1)
}

// length reads a number of bytes or of values, of which each has at least one byte.
func (r *reader) length() int {
	n := r.unsigned()
	if n > uint64(len(r.data)) {
		r.bad = true
		return 0
	}
	return int(n)
}

func (r *reader) next(n int) string {
	if r.bad || n > len(r.data) {
		r.bad = true
		return ""
	}
	text := r.data[:n]
	r.data = r.data[n:]
	return text
}
