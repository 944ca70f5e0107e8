"""Counts the words of a text."""
import collections
import re


def count(text):
    """Returns how often each word of the text occurs, regardless of case."""
    return collections.Counter(re.findall(r"[a-z']+", text.lower()))
