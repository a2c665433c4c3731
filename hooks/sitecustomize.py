"""Keeps `import infrarsi_hook` the harness's own in every Python process of a job.

infrarsi puts this folder first on PYTHONPATH, so Python runs this module before the job's first line. A script's own
folder comes before PYTHONPATH when modules are looked for; the finder below comes before both, and a file of the same
name beside the script is not taken for the hook. Nothing is imported here that a job did not ask for.

It stands before the sitecustomize that the installation may have, and runs that one then.
"""

import importlib.machinery
import importlib.util
import os
import sys

_FOLDER = os.path.dirname(os.path.abspath(__file__))


class _SourceLoader(importlib.machinery.SourceFileLoader):
    """Reads the source and nothing else: compiled files beside it may be anybody's, and none are left behind."""

    def get_code(self, fullname):
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


class _HookFinder:
    """Answers for one name."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != "infrarsi_hook":
            return None
        path = os.path.join(_FOLDER, "infrarsi_hook.py")
        return importlib.util.spec_from_file_location(name, path, loader=_SourceLoader(name, path))


def _run_the_next():
    others = [entry for entry in sys.path if os.path.abspath(entry) != _FOLDER]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


sys.meta_path.insert(0, _HookFinder)
_run_the_next()
