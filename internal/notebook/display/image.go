package display

import (
	"encoding/base64"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"strings"
)

// Limits of an image.
const (
	maxImage  = 8 << 20 // bytes
	maxVector = 1 << 20
	maxPixels = 50 << 20
)

// imageURL returns an image as a data URL; empty if it is none of its type, or too large.
func imageURL(mime, content string) string {
	if mime == "image/svg+xml" {
		if len(content) > maxVector || !strings.Contains(content, "<svg") || strings.Contains(content, "<!ENTITY") {
			return ""
		}
		return "data:" + mime + ";base64," + base64.StdEncoding.EncodeToString([]byte(content))
	}
	content = strings.Map(func(c rune) rune {
		if c == '\n' || c == '\r' || c == ' ' {
			return -1
		}
		return c
	}, content)
	if content == "" || len(content) > base64.StdEncoding.EncodedLen(maxImage) {
		return ""
	}
	config := map[string]func(io.Reader) (image.Config, error){"image/png": png.DecodeConfig, "image/jpeg": jpeg.DecodeConfig, "image/gif": gif.DecodeConfig}[mime]
	size, err := config(base64.NewDecoder(base64.StdEncoding, strings.NewReader(content)))
	if err != nil || size.Width <= 0 || size.Height <= 0 || size.Width > maxPixels/size.Height {
		return ""
	}
	if _, err := base64.StdEncoding.DecodeString(content); err != nil {
		return ""
	}
	return "data:" + mime + ";base64," + content
}
