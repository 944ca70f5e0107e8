package quick

import (
	"runtime"
	"runtime/metrics"
	"testing"
)

// The first collection of garbage of an engine is late. Later ones are as usual: the ballast exists.
func TestCollectLater(t *testing.T) {
	usual := percent()
	collectLater()
	if got := percent(); got != 800 {
		t.Errorf("at first %d percent", got)
	}
	for percent() != usual {
		runtime.GC() // the cleanup runs soon after it
	}
	runtime.GC()
	var heap runtime.MemStats
	if runtime.ReadMemStats(&heap); heap.HeapAlloc < ballastSize {
		t.Errorf("a heap of %d bytes, without the ballast", heap.HeapAlloc)
	}
}

func percent() uint64 {
	gogc := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(gogc)
	return gogc[0].Value.Uint64()
}
