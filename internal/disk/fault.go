package disk

// Fault, if it is set, is called before each call that changes the disk or starts a process. Where it returns an error, the call fails
// with that. Only tests set it, before all other calls (see disktest).
var Fault func(call string) error

func fault(call string) error {
	if Fault == nil {
		return nil
	}
	return Fault(call)
}
