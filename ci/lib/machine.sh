# shellcheck shell=bash
# One machine with SoftRoCE for all that a script runs. Needs say.sh; in the repository's folder.

# Usage: start_machine NICS. One that runs already is used and stays; another ends with the script.
start_machine() {
    if [[ ${VERBCAST_SOFTROCE:-} == native ]] || ci/softroce status >/dev/null; then return; fi
    trap 'ci/softroce stop' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    ci/softroce start --nics "$1"
}
