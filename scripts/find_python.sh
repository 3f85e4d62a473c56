#!/bin/sh
# Prints the first Python that is 3.11 or newer; otherwise one sentence on stderr and exit code 1.
for python in "$@" python3 python3.13 python3.12 python3.11 python; do
    if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
        command -v "$python"
        exit 0
    fi
done
found=$(python3 -c 'import platform; print(platform.python_version())' 2>/dev/null)
echo "Python 3.11 or newer is needed and ${found:+only Python }${found:-none} was found: install it from python.org or your package manager, or name one with 'make app PYTHON=/path/to/python3'." >&2
exit 1
