// Package variables saves the variables of a kernel and loads them into another one.
//
// A fixed program (the folder python) runs in the kernel as silent cells: [SetupCell] once after each start of the kernel, then the
// cells that a [Store] makes. Data goes into a cell as one argument, base64 of JSON, and never as code. The answer is one display of
// the MIME type [MIME]. A cell leaves no name in the user's namespace.
//
// A checkpoint is saved in four steps. Each may be the last one before a crash.
//
//  1. The cell of [Store.SaveCell] writes the variables into a staging folder.
//  2. [Store.Accept] compares their hashes, syncs them, moves them to objects/ and writes the manifest. From now on the cell that
//     computed the variables counts as finished.
//  3. [Store.Verify] loads everything in a fresh process, compares the fingerprints, and drops what does not load.
//  4. It writes what it found, which is the commit record. After a crash [Store.Pendings] lists what is to be verified.
//
// What cannot be saved or loaded is named with the reason, and with the key of the cell after which it was first seen.
//
// # What loading restores
//
// Arrays are saved as npy, plain values as JSON, data frames as parquet if pyarrow is installed, the rest as pickles. Modules are
// imported by name. Functions and classes that cells define are made again from the source of the cell, but only where that is exact:
// a function must compile to the same code and use no variables of an enclosing function, and the definition of a class must call only
// harmless functions of the standard library. What they use must be saved, too. Variables that share objects share them again, unless
// one of them cannot be saved; notes of the manifest name the exceptions. Views of the memory of an array become arrays of their own.
// The states of random and numpy.random, the working folder and the import path are restored. Names that begin with _ are not saved.
//
// A pickle runs code when it is loaded. So nothing is read that the manifest does not name by its hash, and callers record the ID,
// which names the hash of the manifest. The manifest does not change after Accept, and the commit record can only take variables away.
//
// # What a Python kernel has to provide
//
// The user's namespace is the module __main__. The source of each cell is in linecache.cache under the file name of its code objects,
// as IPython does it. A kernel without IPython has the function builtins.display(bundle, raw=True), which
// displays a bundle: MIME type → value.
package variables
