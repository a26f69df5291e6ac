# One row of the ledger. Input: {contender, size, mtu, ranks, short: {count, bench, ranks: […]}, long: likewise}. What a
# run costs besides its broadcasts is in both, so the difference is what so many broadcasts more cost.

# The mean of some ranks' numbers for one broadcast, where `numbers` makes a list by rank of a run.
def each($of; numbers):
    . as {$short, $long}
    | ($of | map(($long | numbers)[.] - ($short | numbers)[.]) | add) / ($of | length) / ($long.count - $short.count);

def counted($of; $name): each($of; .ranks | map(.[$name]));

def role($of; $least):
    counted($of; "send_doorbells") as $doorbells
    | (["multicasts", "datagrams", "reliable_sends", "rdma_writes", "rdma_reads"] as $kinds
        | . as $row | $kinds | map(. as $kind | $row | counted($of; $kind)) | add) as $requests
    | {
        doorbells: $doorbells,
        requests: $requests,
        # Of a few doorbells in the whole run it would say nothing.
        requests_per_doorbell: (if $doorbells > 0.05 then $requests / $doorbells else null end),
        multicasts_over_least: (counted($of; "multicasts") / $least),
        acknowledgements: (counted($of; "rdma_writes") + counted($of; "datagrams")),
        reliable_sends: counted($of; "reliable_sends"),
        reads: counted($of; "rdma_reads"),
        completions: (counted($of; "send_completions") + counted($of; "receive_completions")),
        receive_doorbells: counted($of; "receive_doorbells"),
        writes: counted($of; "writes"),
        copied_over_payload: (counted($of; "copied_bytes") / .size),
        checksummed_over_payload: (each($of; .bench.checksummed) / .size),
        user_us: (each($of; .bench.cpu | map(.user)) / 1000),
        system_us: (each($of; .bench.cpu | map(.system)) / 1000)
    };

([(.size / .mtu | ceil), 1] | max) as $least
| {
    contender, size,
    fragments: $least,
    lost: ((.long.bench.counters.lost - .short.bench.counters.lost) / (.long.count - .short.count)),
    root: role([0]; $least),
    leaf: role([range(1; .ranks)]; $least)
}
