"""Executes cells with nbclient in one kernel: a number of cells for each line of standard input, which is "NUMBER CODE" with the code in
JSON. It answers with the seconds that they took, the displays and the bytes of standard output that arrived.
"""

import json
import sys
import time

import nbformat
from nbclient import NotebookClient

notebook = nbformat.v4.new_notebook()
client = NotebookClient(notebook, timeout=None, kernel_name="python3")
client.reset_execution_trackers()
with client.setup_kernel():
    print("ready", flush=True)
    for line in sys.stdin:
        number, code = line.split(" ", 1)
        notebook.cells = [nbformat.v4.new_code_cell(json.loads(code)) for _ in range(int(number))]
        begun = time.perf_counter()
        for index, cell in enumerate(notebook.cells):
            client.execute_cell(cell, index)
        took = time.perf_counter() - begun
        outputs = [output for cell in notebook.cells for output in cell.outputs]
        displays = sum(output.output_type == "display_data" for output in outputs)
        streams = sum(len(output.text) for output in outputs if output.output_type == "stream" and output.name == "stdout")
        print(took, displays, streams, flush=True)
