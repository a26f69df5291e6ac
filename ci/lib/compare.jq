# Ratios of times for a broadcast back to back, one row for each size. Input: the results of verbcast bench throughput in one
# place; of several rounds the medians count, of an even number the lower one.

def multicasts: ["two-stage", "two-stage-on-demand", "window", "co-root", "aggregate", "basic"];
def connected: ["binomial", "chain", "scatter-allgather"];

def median: sort | .[(length - 1) / 2 | floor];

# Microseconds for a broadcast, by algorithm.
def times:
    group_by(.algorithm)
    | map({key: .[0].algorithm, value: (map(.seconds / .iterations * 1e6) | median)})
    | from_entries;

def best($names): [.[$names[]] | values] | min;

def over($a; $b): if $a == null or $b == null then "-" else ($a / $b * 100 | round / 100 | tostring) end;

def row($size):
    times
    | best(multicasts) as $multicast
    | best(connected) as $connected
    | best(multicasts + connected) as $any
    | [
        ($size | tostring),
        (to_entries | map(select(.value == $multicast))[0].key // "-"),
        over(.mpi; $multicast), over($multicast; .bare), over(.mpi; $connected), over(.auto; $any)
    ];

["bytes", "best multicast", "MPI/multicast", "multicast/bare", "MPI/connected", "auto/best"],
(map(.points[] | select(.test == "throughput" and .seconds > 0)) | group_by(.size)[] | row(.[0].size))
| @tsv
