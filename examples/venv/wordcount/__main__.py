"""Prints the words of a file and their numbers: python -m wordcount FILE"""
import sys

from wordcount import count

with open(sys.argv[1], encoding="utf-8") as f:
    for word, n in count(f.read()).items():
        print(word, n, sep="\t")
