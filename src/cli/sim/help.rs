//! The end of the long help.

use super::args::settable;
use std::fmt::Write;

/// Says what `--option` takes, and what is printed.
pub fn text() -> String {
    let mut text = "Parameters for --option:\n".to_owned();
    for (name, expected) in settable() {
        // Writing to a String does not fail.
        let _ = writeln!(text, "  {name:<18} {expected}");
    }
    text + REST
}

const REST: &str = "
Examples:
  How long a broadcast takes among 1024 ranks, beside the paper's model, in which the root alone
  repairs:
    verbcast sim --ranks 1024 --algorithm window --option repair-tree=off

  What a hundredth of the datagrams lost costs the two-stage protocol:
    verbcast sim --ranks 1024 --algorithm two-stage --loss 0.01 --operations 100

  Throughput with one buffer and as many co-roots as the model finds best:
    verbcast sim --ranks 1024 --algorithm co-root --operations 400 --interval 0 --option window=1

  The same over the links of a fat tree, where packets meet; and four jobs at once, whose ranks
  share switches:
    verbcast sim --fabric fat-tree:16,3 --ranks 1024 --algorithm window
    verbcast sim --fabric fat-tree:8,3 --ranks 32 --jobs 4 --placement spread --size 64K

  1,024 hosts of 64 ranks, whose ranks take each message off the wire once for their host, or
  each for itself:
    verbcast sim --fabric fat-tree:16,3 --ranks 65536 --ranks-per-host 64 --ranks-per-node 64
    verbcast sim --fabric fat-tree:16,3 --ranks 65536 --ranks-per-host 64

  The same where switches throw away what waits for more than 50 microseconds:
    verbcast sim --fabric fat-tree:8,3 --ranks 8 --jobs 16 --placement spread \\
      --size 64K --scheme opensm --lifetime 50000

  A thousand drawn simulations with all kinds of faults; and the one that failed, again:
    verbcast sim --swarm 1000 --seed 1
    verbcast sim --swarm 1 --seed 4711

The simulator runs the same protocol code as the hardware does, on the cluster of Liu 2004 (section 6.1). Its times \
are simulated; only the wall time is measured. A latency runs from the root's call to the end of the last rank's. The \
model is that of Liu 2004, section 7, with its times for short messages and the simulated times per byte; it knows \
messages of one packet, no losses and no skew. Penalty rounds are those of Hoefler 2007, section 2.2.

With --fabric, packets take no plain latency but the links and switches of a fabric, with the headers of InfiniBand and the \
acknowledgements of its adapters; ranks are on hosts in their order (--placement), one each or --ranks-per-host. Within a \
host packets take the latency of the longest path and no link. The model then has the latency \
of the longest path where nothing is in the way, so that the ratio tells what meeting others costs. Links lose nothing, \
and a datagram is lost only where it finds no receive, unless there is a --lifetime: then congestion loses packets, the \
protocols repair multicasts, and adapters send the others again (selective repeat), at most 7 times after --retry each. \
The options under Links count with --fabric only.

Fields of the JSON object; null where there is no such thing:
  simulated              ranks, algorithm, protocol (what the algorithm chose), groups (with
                         co-roots), size_bytes, fragments, fragment_bytes, operations, root,
                         interval_ns, skew_ns, loss_share, burst_begins_share, burst_ends_share,
                         duplicate_share, delay_share, longest_delay_ns, options, seed
  latency                mean_ns, p50_ns, p99_ns, max_ns over the operations; overlapping (whether
                         a broadcast began before the last one had ended everywhere); model_ns,
                         ratio (mean to model), no_model (why there is none), model_assumes
  model                  parameters_ns, binomial_ns, single_root_ns, optimal_co_roots, co_roots_ns
  penalty_rounds         model, model_unbounded (a chain without end), simulated
  throughput             simulated_per_second (second half of the operations), model_per_second,
                         ratio
  totals                 counters over all ranks
  links                  with --fabric: fabric, hosts, switches, routing, scheme, jobs,
                         ranks_per_host, placement, lanes, lifetime_ns, retry_ns, the parameters
                         of the links, busiest_from, busiest_port, busiest_ns, into_root_ns,
                         out_of_root_ns (time in which these links carried bytes, over all
                         operations), dropped (multicasts, or copies of them), resent (reliable
                         packets), events (on links and switches)
  run                    events, simulated_ns, wall_seconds, events_per_second, trace (differs
                         where anything happened otherwise), peak_memory_bytes

With --swarm: first_seed, seeds, events, wall_seconds, seeds_per_second, events_per_second, drawn (with one seed), \
failure (null, or seed, violation, drawn, repeat)

Exit status: 0 if all is well, 1 if a simulation broke a rule of the protocols, 2 if the command line is wrong.";
