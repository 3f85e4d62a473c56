"""Read by Python itself at its start when this folder is on its path: puts the defect named in TRNN_PLANT in place."""

import importlib.abc
import importlib.util
import os
import sys


class _Planter(importlib.abc.MetaPathFinder):
    """Lets a module load as usual, then hands it to the function that spoils it."""

    def __init__(self, spoilers):
        self.spoilers = spoilers

    def find_spec(self, name, path=None, target=None):
        spoil = self.spoilers.pop(name, None)
        if spoil is None:
            return None
        spec = importlib.util.find_spec(name)
        load = spec.loader.exec_module

        def spoiled(module):
            load(module)
            spoil(module)

        spec.loader.exec_module = spoiled
        return spec


if os.environ.get("TRNN_PLANT"):
    from defects import DEFECTS  # beside this file

    sys.meta_path.insert(0, _Planter(dict(DEFECTS[os.environ["TRNN_PLANT"]].spoilers)))
