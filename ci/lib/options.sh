# shellcheck shell=bash
# shellcheck disable=SC2034 # the variables are for ci/softroce
# The options of ci/softroce. Needs say.sh.

NICS=1
HOSTS=
NETEM=
LOSS_LOOPED=
ADAPTER=
TIMEOUT=1500
declare -A NETEM_NIC=()
COMMAND=()

# Sets the variables above; what is left is COMMAND.
parse_options() {
    while (($#)); do
        case $1 in
        --nics) NICS=$(number 1 32 "$@") ;;
        --hosts) HOSTS=$(number 2 8 "$@") ;;
        --adapter) ADAPTER=${2?--adapter needs a profile} ;;
        --timeout) TIMEOUT=$(number 1 1000000 "$@") ;;
        --netem) NETEM=${2?--netem needs netem options} ;;
        --netem-nic) parse_netem_nic "${2-}" ;;
        --loss-looped) LOSS_LOOPED=${2-} ;;
        --)
            shift
            break
            ;;
        -h | --help)
            usage
            exit 0
            ;;
        -?*) die "unknown option $1; see ci/softroce --help" ;;
        *) break ;;
        esac
        shift 2
    done
    COMMAND=("$@")
    check_options
}

# Usage: number MIN MAX OPTION VALUE…
number() {
    if ! [[ ${4-} =~ ^[0-9]{1,7}$ ]] || ((10#$4 < $1 || 10#$4 > $2)); then
        die "$3 needs a number from $1 to $2"
    fi
    echo "$((10#$4))"
}

parse_netem_nic() {
    [[ $1 =~ ^([0-9]+):(.*)$ ]] || die "--netem-nic needs K:OPTIONS, for example '3:loss 20%'"
    # A blank counts as a setting of its own: no netem for this NIC.
    NETEM_NIC[$((10#${BASH_REMATCH[1]}))]=${BASH_REMATCH[2]:- }
}

check_options() {
    local nic
    if [[ -n $HOSTS ]]; then
        check_hosts
        return
    fi
    if ((NICS == 1)) && [[ -n $NETEM || ${#NETEM_NIC[@]} -gt 0 ]]; then
        die "netem does not touch what loops back on one NIC; use --nics 2 or more, or --loss-looped"
    fi
    for nic in "${!NETEM_NIC[@]}"; do
        ((nic >= 1 && nic <= NICS)) || die "--netem-nic $nic: there are NICs 1 to $NICS"
    done
    [[ -n $LOSS_LOOPED ]] || return 0
    ((NICS == 1)) || die "--loss-looped is for one NIC; use --netem"
    if ! is_percentage "$LOSS_LOOPED"; then
        die "--loss-looped needs a percentage above 0 and up to 100"
    fi
}

check_hosts() {
    local host
    if ((NICS > 1)) || [[ -n $LOSS_LOOPED ]]; then die "hosts have one NIC each, and --netem; not --nics or --loss-looped"; fi
    for host in "${!NETEM_NIC[@]}"; do
        ((host >= 1 && host <= HOSTS)) || die "--netem-nic $host: there are hosts 1 to $HOSTS"
    done
}

is_percentage() {
    [[ $1 =~ ^[0-9]+(\.[0-9]+)?$ ]] && awk -v p="$1" 'BEGIN { exit !(p > 0 && p <= 100) }'
}

# The specification that ci/guest/nics.sh reads.
nic_spec() {
    local nic
    if [[ -n $HOSTS ]]; then
        printf 'hosts=%q\nhost=%q\nshared=%q\nnetem=%q\n' "$HOSTS" "$NODE" "$STATE/cluster" "$NETEM"
        for nic in "${!NETEM_NIC[@]}"; do
            printf 'netem_nic[%d]=%q\n' "$nic" "${NETEM_NIC[$nic]}"
        done
        return
    fi
    printf 'nics=%q\nnetem=%q\nloss_looped=%q\n' "$NICS" "$NETEM" "$LOSS_LOOPED"
    for nic in "${!NETEM_NIC[@]}"; do
        printf 'netem_nic[%d]=%q\n' "$nic" "${NETEM_NIC[$nic]}"
    done
}
