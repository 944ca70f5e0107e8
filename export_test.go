package pawl

import "encoding/json"

// EveryPayload returns an empty payload of each event type in the registry.
func EveryPayload() ([]Payload, error) {
	var all []Payload
	for _, t := range payloadTypes {
		p, err := t.decode(json.RawMessage("{}"))
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}
