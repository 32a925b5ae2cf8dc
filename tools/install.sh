#!/bin/sh
# Make the virtual environment if it is missing or broken, and install into it. Called by the Makefile:
#     sh tools/install.sh run|dev|train|fuzz|audit
# The file $VENV/.run, .dev and so on says that the installation was finished.
set -eu

goal=$1
venv=${VENV:-.venv}
python=$venv/bin/python
unfinished=$venv/.unfinished
lock=$venv.installing
is_new_enough='import sys; sys.exit(sys.version_info < (3, 11))'

fail() {
    echo "$1" >&2
    exit 1
}

find_python() {
    for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11}; do
        if "$candidate" -c "$is_new_enough" 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    found=$("${PYTHON:-python3}" --version 2>&1) || found="no working ${PYTHON:-python3}"
    fail "kpdemo needs Python 3.11 or newer, but here is $found: install one, or name it with make PYTHON=/path/to/python3.11."
}

# The lock is a link to the number of the process that holds it: it cannot be there without that.
holder() {
    readlink "$lock" || true
}

is_dead() {
    pid=$(holder)
    [ -n "$pid" ] && ! kill -0 "$pid" 2>/dev/null
}

# Of several callers that find the lock of one that was killed, one at a time looks again and removes it.
break_lock() {
    if mkdir "$lock.breaking" 2>/dev/null; then
        ! is_dead || rm -f "$lock"
        rmdir "$lock.breaking"
    else
        sleep 1
    fi
}

# Waits while another call installs into the same .venv; succeeds at once where that one left what is wanted.
take_lock() {
    waited=
    until ln -sn $$ "$lock" 2>/dev/null; do
        [ -w "$(dirname "$lock")" ] || fail "No leave to write $venv here: change the rights of its folder."
        if is_dead; then
            break_lock
            continue
        fi
        [ -n "$waited" ] || echo "Another make installs into $venv: waiting for it. (If none does, delete $lock.)"
        waited=yes
        sleep 1
    done
    trap '[ "$(holder)" != $$ ] || rm -f "$lock"' EXIT
    trap 'exit 130' INT TERM
    if [ -n "$waited" ] && [ -e "$venv/.$goal" ]; then
        exit 0
    fi
}

take_lock

# Pip takes a package that was cut off half-way for a whole one, so an unfinished .venv is made anew.
if [ -e "$unfinished" ] || ! "$python" -c "import pip; $is_new_enough" 2>/dev/null; then
    interpreter=$(find_python)
    echo "Making $venv with $interpreter."
    "$interpreter" -m venv --clear "$venv" ||
        fail "$interpreter cannot make a virtual environment: install its venv module (Debian: python3-venv)."
fi

rm -f "$venv/.run" "$venv/.dev" "$venv/.train" "$venv/.fuzz" "$venv/.audit"
touch "$unfinished"
set -- -r requirements.txt
if [ "$goal" != run ]; then
    "$python" -m pip install --quiet --disable-pip-version-check "pip==26.3" # older ones have no --group
    set -- "$@" --group dev
fi
case $goal in train | fuzz | audit) set -- "$@" --group "$goal" ;; esac
echo "Installing packages; the first time takes some minutes."
status=0
# shellcheck disable=SC2086  # PIP_ARGS holds several words
"$python" -m pip install --disable-pip-version-check -c constraints.txt "$@" ${PIP_ARGS:-} || status=$?
rm -f "$unfinished" # pip undoes what fails, so only a killed one leaves the mark
[ "$status" -eq 0 ] || fail "pip could not install the packages; its message is above."

touch "$venv/.run"
[ "$goal" = run ] || touch "$venv/.dev"
touch "$venv/.$goal"
