package remote

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"pawl/internal/kernel/protocol"
)

// v1 is the newer of the two protocols on the WebSocket. A server that does not know it uses the default protocol.
const v1 = "v1.kernel.websocket.jupyter.org"

// header is the header of a message.
type header struct {
	ID       string `json:"msg_id"`
	Type     string `json:"msg_type"`
	Session  string `json:"session"`
	Username string `json:"username"`
	Date     string `json:"date"`
	Version  string `json:"version"`
}

// envelope is a message of the default protocol.
type envelope struct {
	Channel  string          `json:"channel"`
	Header   header          `json:"header"`
	Parent   header          `json:"parent_header"`
	Metadata json.RawMessage `json:"metadata"`
	Content  json.RawMessage `json:"content"`
}

func (e *envelope) message(buffers [][]byte) protocol.Message {
	return protocol.Message{
		Channel: e.Channel, Type: e.Header.Type, ID: e.Header.ID, Session: e.Header.Session, Parent: e.Parent.ID,
		Date: e.Header.Date, Content: e.Content, Buffers: buffers,
	}
}

// encode returns a request as one message of the WebSocket.
func encode(subprotocol, channel, session, kind, id string, content any) ([]byte, error) {
	head := header{ID: id, Type: kind, Session: session, Username: "pawl", Date: time.Now().UTC().Format(time.RFC3339Nano), Version: "5.3"}
	if subprotocol != v1 {
		return json.Marshal(map[string]any{
			"channel": channel, "header": head, "parent_header": struct{}{}, "metadata": struct{}{}, "content": content, "buffers": []any{},
		})
	}
	parts := [][]byte{[]byte(channel)}
	for _, part := range []any{head, struct{}{}, struct{}{}, content} {
		data, err := json.Marshal(part)
		if err != nil {
			return nil, err
		}
		parts = append(parts, data)
	}
	return join(parts), nil
}

// join puts a table of offsets before the parts, as v1 has it.
func join(parts [][]byte) []byte {
	n := len(parts) + 1
	data := binary.LittleEndian.AppendUint64(nil, uint64(n))
	offset := 8 * (n + 1)
	data = binary.LittleEndian.AppendUint64(data, uint64(offset))
	for _, part := range parts {
		offset += len(part)
		data = binary.LittleEndian.AppendUint64(data, uint64(offset))
	}
	for _, part := range parts {
		data = append(data, part...)
	}
	return data
}

// decode returns a message of the WebSocket.
func decode(subprotocol string, binaryMessage bool, data []byte) (protocol.Message, error) {
	switch {
	case subprotocol == v1:
		return decodeV1(data)
	case binaryMessage:
		return decodeBuffers(data)
	}
	var e envelope
	if err := json.Unmarshal(data, &e); err != nil {
		return protocol.Message{}, err
	}
	return e.message(nil), nil
}

var errOffsets = errors.New("wrong offsets")

// cut returns the parts of data that begin at the offsets and end at the next one.
func cut(data []byte, offsets []uint64) (parts [][]byte, err error) {
	for i, start := range offsets {
		end := uint64(len(data))
		if i+1 < len(offsets) {
			end = offsets[i+1]
		}
		if start > end || end > uint64(len(data)) {
			return nil, errOffsets
		}
		parts = append(parts, data[start:end])
	}
	return parts, nil
}

// decodeV1 decodes: the number of offsets and the offsets, in 8 bytes each; channel, header, parent, metadata, content, buffers.
func decodeV1(data []byte) (protocol.Message, error) {
	const word, fixed = 8, 5
	if len(data) < word {
		return protocol.Message{}, errOffsets
	}
	n := binary.LittleEndian.Uint64(data)
	if n < fixed+1 || n > uint64(len(data)/word-1) {
		return protocol.Message{}, errOffsets
	}
	offsets := make([]uint64, n)
	for i := range offsets {
		offsets[i] = binary.LittleEndian.Uint64(data[word*(i+1):])
	}
	parts, err := cut(data, offsets)
	if err != nil {
		return protocol.Message{}, err
	}
	parts = parts[:n-1] // the last offset is the end
	e := envelope{Channel: string(parts[0]), Content: parts[4]}
	if err := json.Unmarshal(parts[1], &e.Header); err != nil {
		return protocol.Message{}, fmt.Errorf("header: %w", err)
	}
	if err := json.Unmarshal(parts[2], &e.Parent); err != nil {
		return protocol.Message{}, fmt.Errorf("parent header: %w", err)
	}
	return e.message(parts[fixed:]), nil
}

// decodeBuffers decodes a message of the default protocol with buffers: the number of parts and their offsets, in 4 bytes each; a JSON
// object, buffers.
func decodeBuffers(data []byte) (protocol.Message, error) {
	const word = 4
	if len(data) < word {
		return protocol.Message{}, errOffsets
	}
	n := binary.BigEndian.Uint32(data)
	if n < 1 || uint64(n) > uint64(len(data)/word-1) {
		return protocol.Message{}, errOffsets
	}
	offsets := make([]uint64, n)
	for i := range offsets {
		offsets[i] = uint64(binary.BigEndian.Uint32(data[word*(i+1):]))
	}
	parts, err := cut(data, offsets)
	if err != nil {
		return protocol.Message{}, err
	}
	var e envelope
	if err := json.Unmarshal(parts[0], &e); err != nil {
		return protocol.Message{}, err
	}
	return e.message(parts[1:]), nil
}
