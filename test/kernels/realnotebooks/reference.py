"""Executes notebooks with nbclient: reference.py FOLDER NOTEBOOK... It writes the outputs of each as a list of cells to standard output,
one notebook a line.
"""

import json
import sys

import nbformat
from nbclient import NotebookClient

PATIENCE = 600  # seconds: the machine may be busy

for path in sys.argv[2:]:
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(notebook, timeout=None, startup_timeout=PATIENCE, iopub_timeout=PATIENCE, kernel_name="python3", allow_errors=True,
                            resources={"metadata": {"path": sys.argv[1]}})
    client.execute()
    cells = [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]
    print(json.dumps(cells), flush=True)
