// Package gyoshu reads and writes what Gyoshu (My-Jogyo) keeps of a research project: manifests of checkpoints, notebooks,
// the state of its loop, queues, locks and reports.
package gyoshu
