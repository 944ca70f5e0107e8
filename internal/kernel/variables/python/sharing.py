"""Which variables share objects that can change. They are saved in one pickle, so that after loading they share them again."""
import datetime
import decimal
import enum
import fractions
import gc
import pathlib

MAX_VISITS = 200000

OPAQUE = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.CodeType, types.FrameType, types.GeneratorType,
          datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo, decimal.Decimal, fractions.Fraction, pathlib.PurePath, enum.Enum,
          range, slice, property, staticmethod, classmethod)


class Sharing:
    """Walks through all objects that variables consist of."""

    def __init__(self, values):
        self.values = values
        self.parent = list(range(len(values)))  # union-find
        self.opaque = dict.fromkeys(ATOMS, True)  # type -> whether its values have no part that can change
        self.owner = {}  # id of an object -> index of the first variable that leads to it
        self.visits = 0

    def groups(self):
        """Return lists of indexes of values that share objects, and whether all objects were looked at."""
        for i, value in enumerate(self.values):
            if not self.walk(i, value):
                self.parent = list(range(len(self.values)))
                same = {}
                for j, one in enumerate(self.values):
                    self.parent[j] = same.setdefault(id(one), j)
                break
        groups = {}
        for i in range(len(self.values)):
            groups.setdefault(self.find(i), []).append(i)
        return list(groups.values()), self.visits <= MAX_VISITS

    def walk(self, i, value):
        """Join the variable with those that lead to the same objects. Report false if there are too many objects."""
        stack, seen = [value] if self.matters(value) else [], set()
        while stack:
            one = stack.pop()
            if id(one) in seen:
                continue
            seen.add(id(one))
            self.visits += 1
            if self.visits > MAX_VISITS:
                return False
            first = self.owner.setdefault(id(one), i)
            if first == i or type(one) in (tuple, frozenset):
                stack.extend(self.below(one))
            else:
                self.parent[self.find(i)] = self.find(first)  # and what is below it was seen
        return True

    def below(self, one):
        """Return the objects that an object refers to and that matter."""
        if numpy_of(one):
            referents = one.ravel().tolist() if one.dtype.hasobject else []
        else:
            referents = gc.get_referents(one)
        if set(map(type, referents)) <= ATOMS:  # in C
            return []
        return [r for r in referents if self.matters(r)]

    def matters(self, one):
        kind = type(one)
        known = self.opaque.get(kind)
        if known is None:
            known = self.opaque[kind] = issubclass(kind, OPAQUE)
        return not known

    def find(self, i):
        while self.parent[i] != i:
            self.parent[i] = self.parent[self.parent[i]]
            i = self.parent[i]
        return i
