#!/bin/sh
# Prints the first Python that is 3.11 or newer, or the one named as argument; otherwise one sentence and exit code 1.
enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}
if [ -n "$1" ]; then
    enough "$1" && command -v "$1" && exit 0
    echo "PYTHON=$1 is not a Python 3.11 or newer: name another one, or leave PYTHON out." >&2
    exit 1
fi
for python in python3 python3.13 python3.12 python3.11 python; do
    enough "$python" && command -v "$python" && exit 0
done
found=$(python3 -c 'import platform; print(platform.python_version())' 2>/dev/null)
echo "Python 3.11 or newer is needed and ${found:+only }${found:-none} was found: install it from python.org or your package manager, or name one with 'make app PYTHON=/path/to/python3'." >&2
exit 1
