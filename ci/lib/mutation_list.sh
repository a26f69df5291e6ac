# shellcheck shell=bash
# Reads, checks and applies the mutations of ci/mutations.d. Needs say.sh.

# shellcheck disable=SC2034 # for ci/mutations
NAMES=()
declare -A RULES=() FILES=() OLD=() NEW=()

# Usage: read_mutations FILE…
read_mutations() {
    local path line name='' number
    for path in "$@"; do
        number=0
        while IFS= read -r line || [[ -n $line ]]; do
            number=$((number + 1))
            case $line in
            '== '*)
                name=${line#== }
                [[ -z ${FILES[$name]-} ]] || die "$path:$number: there are two mutations $name"
                NAMES+=("$name")
                ;;
            'rule '*) RULES[$name]=${line#rule } ;;
            'file '*) FILES[$name]=${line#file } ;;
            -*) OLD[$name]+=${line#-}$'\n' ;;
            +*) NEW[$name]+=${line#+}$'\n' ;;
            '' | '#'*) ;;
            *) die "$path:$number: this is not a part of a mutation: $line" ;;
            esac
        done <"$path"
    done
}

# A file's text; the command substitution must not take its last newlines.
text_of() {
    cat "$1"
    printf x
}

# Usage: count_in FILE TEXT. Prints how often whole lines are in a file.
count_in() {
    OLD=$2 awk '{ text = text $0 "\n" }
        END { while (at = index(text, ENVIRON["OLD"])) { count++; text = substr(text, at + 1) }; print count + 0 }' "$1"
}

# Usage: check_mutation NAME ROOT. Ends the run if the mutation cannot be applied.
check_mutation() {
    local name=$1
    [[ -n ${RULES[$name]-} && -n ${FILES[$name]-} && -n ${OLD[$name]-} ]] ||
        die "mutation $name needs a rule, a file and an old text"
    [[ -f $2/${FILES[$name]} ]] || die "mutation $name: there is no file ${FILES[$name]}"
    case $(count_in "$2/${FILES[$name]}" "${OLD[$name]}") in
    0) die "mutation $name: its old text is not in ${FILES[$name]} any more" ;;
    1) ;;
    *) die "mutation $name: its old text is in ${FILES[$name]} twice" ;;
    esac
}

# Usage: apply_mutation NAME SOURCE
apply_mutation() {
    local text
    text=$(text_of "$2")
    text=${text%x}
    printf '%s' "${text%%"${OLD[$1]}"*}${NEW[$1]-}${text#*"${OLD[$1]}"}" >"$2"
}
