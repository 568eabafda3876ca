#!/usr/bin/env bash
# Gradescope runs this once, as root, when it builds the container's image.
# The course is not installed: what pip installs can be read by every submission.
set -euo pipefail

root="${AUTOGRADER_ROOT:-/autograder}"
source="$root/source"
venv="$root/venv"

# The interpreters that will do, best first; PYTHON names another one.
find_python() {
    local name
    for name in "${PYTHON:-}" python3.13 python3.12 python3.11 python3.14 python3; do
        if [ -n "$name" ] && "$name" -c '
import sys, ensurepip, venv
sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
            command -v "$name"
            return
        fi
    done
    return 1
}

# Ubuntu 22.04's own python3 is 3.10, and has 3.11 beside it; later ones have a newer python3.
install_python() {
    export DEBIAN_FRONTEND=noninteractive
    apt-get update
    apt-get install -y --no-install-recommends python3 python3-venv ||
        echo "python3-venv could not be installed; trying python3.11"
    if ! find_python >/dev/null; then
        apt-get install -y --no-install-recommends python3.11 python3.11-venv
    fi
}

make_environment() {
    if [ ! -x "$venv/bin/python" ]; then
        "$1" -m venv "$venv"
    fi
    "$venv/bin/python" -m pip install --quiet --no-cache-dir --requirement "$source/requirements.txt"
}

# Submissions run as users of their own. They need the interpreter and numpy, and nothing of ours.
protect() {
    chmod -R go-rwx "$source"
    chmod 755 "$root"
    mkdir -p "$root/results"
    chmod 700 "$root/results"
}

# What Python compiles on the way is ours, too.
check() {
    (umask 077 && cd "$source/course" && "$venv/bin/python" -m grader.integrations.release.autograder --check "$root")
}

main() {
    local python
    if ! python="$(find_python)"; then
        install_python
        python="$(find_python)" || {
            echo "No Python 3.11 or newer could be installed. Choose Ubuntu 22.04 or later as the" \
                "base image of the autograder." >&2
            exit 1
        }
    fi
    make_environment "$python"
    protect
    check
    echo "The autograder is ready: $("$venv/bin/python" --version)"
}

# A test reads the functions without running them.
if [ "${BASH_SOURCE[0]}" = "$0" ]; then
    main
fi
