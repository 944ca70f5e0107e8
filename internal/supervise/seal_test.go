package supervise

import (
	"bytes"
	"encoding/json"
	"testing"

	"pawl"
)

// TestSeal changes a sealed record in each way. Only the record that the supervisor wrote has the seal.
func TestSeal(t *testing.T) {
	t.Parallel()
	seal, other := NewSeal(), NewSeal()
	record, err := json.Marshal(pawl.Exit{Token: "t", Reason: pawl.ReasonExited, Why: `a "seal":" in a text`})
	if err != nil {
		t.Fatal(err)
	}
	signed := sealed(record, seal.private)
	if exit := new(pawl.Exit); json.Unmarshal(signed, exit) != nil || exit.Token != "t" {
		t.Fatalf("not a record: %s", signed)
	}
	for name, c := range map[string]struct {
		record []byte
		public string
		want   bool
	}{
		"as written":         {signed, seal.Public(), true},
		"with a newline":     {append(bytes.Clone(signed), '\n'), seal.Public(), true},
		"another key":        {signed, other.Public(), false},
		"no key":             {signed, "x", false},
		"no seal":            {record, seal.Public(), false},
		"changed":            {bytes.Replace(signed, []byte("exited"), []byte("budget"), 1), seal.Public(), false},
		"sealed by another":  {sealed(record, other.private), seal.Public(), false},
		"a member behind it": {append(bytes.TrimSuffix(bytes.Clone(signed), []byte("}")), `,"token":"u"}`...), seal.Public(), false},
		"two seals":          {sealed(signed, other.private), seal.Public(), false},
		"empty":              {nil, seal.Public(), false},
	} {
		if got := sealedWith(c.record, c.public); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if s := (Status{Exit: &pawl.Exit{}, exitRecord: record}); s.ExitSealed("") == nil || s.ExitSealed(seal.Public()) != nil {
		t.Error("a record of an older pawl counts only where no seal is journaled")
	}
}
