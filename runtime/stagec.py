"""`import stagec` where stagec-runtime is installed: the package is in the folder `stagec_runtime`.

The distribution stagec has a package of this name, which Python prefers to a module. So the two distributions share no
file but the command, and where both are installed, the one with the compiler is imported.
"""

import importlib.util
import os
import sys


def _import_package():
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stagec_runtime")
    place = os.path.join(folder, "__init__.py")
    # A working copy installed with `pip install -e` has a finder that is asked after the one that found this file.
    found = (finder.find_spec("stagec", None) for finder in sys.meta_path)
    copies = (spec for spec in found if spec is not None and spec.submodule_search_locations)
    spec = next(copies, None) or importlib.util.spec_from_file_location(
        "stagec", place, submodule_search_locations=[folder]
    )
    package = importlib.util.module_from_spec(spec)
    # When this file has run, `import stagec` returns what is under its name here.
    sys.modules["stagec"] = package
    spec.loader.exec_module(package)


_import_package()

if __name__ == "__main__":
    from stagec.cli import main

    main()
