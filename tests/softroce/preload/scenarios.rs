//! What must hold under each MPI library.

use super::{Ranks, Said, alike};
use crate::mpirun::Mpi;
use crate::needs;
use std::path::{Path, PathBuf};

pub(super) const COUNT: (&str, &str) = ("VERBCAST_STATS", "1");

/// Broadcasts of `communicators` on communicators of one rank, at all ranks: on MPI_COMM_SELF, on parts of
/// one rank (two of three), and two on each of fifty copies of MPI_COMM_SELF.
const ALONE: u64 = 4 + 2 + 4 * 2 * 50;

/// Whether there is all that it takes.
pub(super) fn is_ready(mpi: Mpi) -> bool {
    needs::devices().is_some() && mpi.is_built()
}

/// Runs a program, which says what it says without the library, and all of whose broadcasts go by multicast;
/// their number.
fn unchanged(mpi: Mpi, program: &str, ranks: u32) -> (Said, u64) {
    let said = mpi.run(&mpi.library(), program, &alike(ranks, &[COUNT]));
    assert!(said.is_success, "{program}");
    assert_eq!(said.out, mpi.expected(program, ranks));
    let broadcasts = said.sum("");
    assert!(broadcasts > 0 && said.sum("multicast") == broadcasts, "{program}: {broadcasts}");
    (said, broadcasts)
}

/// Every datatype, root and length: all of it by multicast, and as without.
pub fn datatypes(mpi: Mpi) {
    if !is_ready(mpi) {
        return;
    }
    let (said, broadcasts) = unchanged(mpi, "types", 8);
    assert!(broadcasts > 2000, "{broadcasts}");
    assert_eq!(said.lines("rank ").len(), 32, "four lines for each rank");
}

/// A program of any language that does not know of the library: as without, and all of it by multicast.
pub fn unmodified(mpi: Mpi, programs: &[&str]) {
    if !is_ready(mpi) {
        return;
    }
    for program in programs {
        unchanged(mpi, program, 4);
    }
}

/// Messages in the memory of a GPU at some ranks: all of it by multicast, also where MPI could not read it.
pub fn gpu(mpi: Mpi) {
    if !is_ready(mpi) {
        return;
    }
    let runtime = mpi.program("libcuda.so.1");
    let environment = [COUNT, ("TEST_LIBCUDA", runtime.to_str().unwrap())];
    let said = mpi.run(&mpi.library(), "gpu", &alike(3, &environment));
    assert!(said.is_success, "{}", said.err);
    assert!(said.out.contains(" messages were right"), "{}", said.out);
    let broadcasts = said.sum("");
    assert!(broadcasts > 0 && said.sum("multicast") == broadcasts, "{broadcasts}");
}

/// All kinds of communicators, and more than may have multicast.
pub fn communicators(mpi: Mpi) {
    if !is_ready(mpi) {
        return;
    }
    let few = [COUNT, ("VERBCAST_COMMUNICATORS", "5")];
    let said = mpi.run(&mpi.library(), "communicators", &alike(4, &few));
    assert!(said.is_success);
    assert_eq!(said.out, mpi.expected("communicators", 4));
    assert_eq!(said.sum("MPI, inter-communicator"), 4);
    assert_eq!(said.sum("MPI, one rank"), ALONE);
    assert!(said.sum("multicast") > 0 && said.sum("MPI, too many communicators") > 0);
    // Once for all, by rank 0 of the first such communicator; or by those of two halves at once.
    let lines = said.lines("broadcasts go by MPI's own: ");
    assert!((1..=2).contains(&lines.len()), "{lines:?}");
    assert!(lines.iter().all(|line| line.contains("VERBCAST_COMMUNICATORS")), "{lines:?}");
}

/// Hundreds of communicators alive at once, over the queue pairs of one.
pub fn many_communicators(mpi: Mpi) {
    if is_ready(mpi) {
        let said = communicators_of(mpi, 4);
        assert_eq!(said.sum("MPI, inter-communicator") + said.sum("MPI, one rank"), 4 + ALONE);
    }
}

/// The same and every datatype, among sixteen ranks.
pub fn sixteen_ranks(mpi: Mpi) {
    if is_ready(mpi) {
        communicators_of(mpi, 16);
        unchanged(mpi, "types", 16);
    }
}

/// Runs `communicators`, all of whose broadcasts go by multicast that can; what each rank takes of its adapter
/// does not grow with communicators.
fn communicators_of(mpi: Mpi, ranks: u32) -> Said {
    let said = mpi.run(&mpi.library(), "communicators", &alike(ranks, &[COUNT]));
    assert!(said.is_success);
    assert_eq!(said.out, mpi.expected("communicators", ranks));
    let left_to_mpi = said.sum("MPI, inter-communicator") + said.sum("MPI, one rank");
    assert_eq!(said.sum("multicast") + left_to_mpi, said.sum(""));
    assert!(said.lines("broadcasts go").is_empty());
    for rank in 0..ranks {
        let begin = format!("rank {rank}: adapter: at most ");
        let [line] = said.lines(&begin)[..] else { panic!("one line of rank {rank}") };
        let numbers = line[begin.len()..].split(", ").map(|part| part.split(' ').next().unwrap());
        let numbers: Vec<u32> = numbers.map(|number| number.parse().unwrap()).collect();
        let [communicators, queue_pairs, groups, memory] = numbers[..] else { panic!("{line}") };
        assert!(communicators >= 150, "{line}");
        let (before, after) = ((rank + ranks - 1) % ranks, (rank + 1) % ranks);
        let place = format!(
            "rank {rank}: ring: of {ranks} ranks, after rank {before}, before rank {after}"
        );
        assert_eq!(said.lines(&format!("rank {rank}: ring")), [place]);
        assert!(queue_pairs < 2 * ranks && groups <= 8 && memory < 32 << 20, "{line}");
    }
    said
}

/// The first broadcasts of each communicator are MPI's, blocking and non-blocking ones alike, so that one that has no more
/// takes nothing; whoever prepares one wants more.
pub fn first_broadcasts(mpi: Mpi) {
    if !is_ready(mpi) {
        return;
    }
    let few = [COUNT, ("VERBCAST_FIRST_BY_MPI", "3")];
    for (said, first) in [
        (mpi.run(&mpi.library(), "first", &alike(4, &few)), 3),
        (mpi.run_as_users(&mpi.library(), "first", &alike(4, &[COUNT])), 8),
    ] {
        assert!(said.is_success, "{}", said.err);
        assert!(said.out.contains("every message was right"), "{}", said.out);
        // On each of twenty copies five, of which the second and the fourth are non-blocking; on all ranks forty; one that
        // is prepared and started twice, and one after it. A fourth that is non-blocking must wait for no other rank.
        let (early, all) = (20 * first.min(5) + first, 20 * 5 + 40 + 2 + 1);
        let undecided = if first < 4 { 20 } else { 0 };
        assert_eq!(said.sum("MPI, first of a communicator"), 4 * early, "{}", said.err);
        assert_eq!(said.sum("MPI, non-blocking"), 4 * undecided, "{}", said.err);
        assert_eq!(said.sum("multicast"), 4 * (all - early - undecided), "{}", said.err);
    }
}

/// Ranks that would leave different numbers of a communicator's first broadcasts to MPI, of which one leaves none: all leave
/// as many as its rank 0 would, so that none waits where another does not come; and it is said once.
pub fn first_broadcasts_differ(mpi: Mpi, of_rank_0: u64, of_rank_1: u64) {
    if !is_ready(mpi) {
        return;
    }
    let numbers = [of_rank_0, of_rank_1].map(|number| number.to_string());
    let environments = numbers.each_ref().map(|number| [COUNT, ("VERBCAST_FIRST_BY_MPI", number)]);
    let ranks = environments.each_ref().map(|environment| Ranks { number: 1, environment });
    let said = mpi.run(&mpi.library(), "first", &ranks);
    assert!(said.is_success, "{}", said.err);
    assert!(said.out.contains("every message was right"), "{}", said.out);
    // On each of twenty copies and on all ranks.
    assert_eq!(said.sum("MPI, first of a communicator"), 2 * 21 * of_rank_0, "{}", said.err);
    let most = of_rank_0.max(of_rank_1);
    let begin = format!("VERBCAST_FIRST_BY_MPI differs among the ranks, from 0 to {most}: ");
    let [line] = said.lines(&begin)[..] else { panic!("not one line: {}", said.err) };
    assert!(line.ends_with(&format!("that of rank 0, which is {of_rank_0}")), "{line}");
}

/// Broadcasts of the sizes that the table leaves to MPI go there, blocking, non-blocking and persistent ones; the others go by
/// multicast.
pub fn table_for_mpi(mpi: Mpi) {
    if !is_ready(mpi) {
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let table = folder.join(format!("{}.table", mpi.name()));
    std::fs::write(&table, "ranks any bytes <= 64 mpi\nranks any bytes any window\n").unwrap();
    let choice = [COUNT, ("VERBCAST_CHOICE", table.to_str().unwrap())];
    let said = mpi.run(&mpi.library(), "table", &alike(4, &choice));
    assert!(said.is_success, "{}", said.err);
    assert!(said.out.contains("every message was right"), "{}", said.out);
    // In each of ten rounds two that block, and three that do not with a short one amid; then a persistent one of each length; and
    // two after an error.
    let (short, long) = (10 * (1 + 1 + 1 + 1) + 2, 10 * (1 + 2 + 1));
    assert_eq!(said.sum("MPI, as the table says"), 4 * short, "{}", said.err);
    assert_eq!(said.sum("multicast"), 4 * long, "{}", said.err);
}

/// A root may run ahead of late ranks, further than broadcasts may be in flight; and who is done may free
/// the communicator long before others come.
pub fn ahead(mpi: Mpi) {
    if !is_ready(mpi) {
        return;
    }
    let little = [COUNT, ("VERBCAST_TIMEOUT", "8"), ("VERBCAST_IN_FLIGHT", "4")];
    let said = mpi.run(&mpi.library(), "ahead", &alike(4, &little));
    assert!(said.is_success);
    assert_eq!(said.out, mpi.expected("ahead", 4));
    assert_eq!(said.sum("multicast"), 4 * (4 * 301 + 1));
}

/// At the end one rank names who held all up: a root that called late, and a rank that lost datagrams.
pub fn held_up(mpi: Mpi) {
    if !is_ready(mpi) {
        return;
    }
    let late = [COUNT, ("LATE_RANK", "2"), ("LATE_MICROSECONDS", "200000")];
    let lossy =
        [late[0], late[1], ("LATE_MICROSECONDS", "0"), ("VERBCAST_FAULT", "loss=0.2,seed=3")];
    let said = mpi.run(&mpi.library(), "late", &alike(4, &late));
    assert!(said.is_success);
    let sentences = said.lines("what held it up: ");
    let of_rank_2 =
        |line: &str| line.contains(" waiting for rank 2 on ") && line.ends_with(" to call");
    assert!(sentences.len() <= 3 && sentences.iter().any(|line| of_rank_2(line)), "{}", said.err);
    assert!(!said.err.contains("nothing to speak of"), "{}", said.err);
    let others = &lossy[..3];
    let kinds = [(1, others), (1, &lossy[..]), (2, others)];
    let kinds = kinds.map(|(number, environment)| Ranks { number, environment });
    let said = mpi.run(&mpi.library(), "late", &kinds);
    assert!(said.is_success);
    let sentences = said.lines("what held it up: rank 1 on ");
    assert_eq!(sentences.len(), 1, "{}", said.err);
    assert!(
        sentences[0].contains(" of its datagrams though it had receives posted"),
        "{}",
        said.err
    );
}

/// Each rank's counters are in a file of its own when it has ended; what cannot be written is told, and harms nothing.
pub fn metrics(mpi: Mpi) {
    if !is_ready(mpi) {
        return;
    }
    let name = format!("verbcast-metrics-{}-{}", mpi.name(), std::process::id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let to = ("VERBCAST_METRICS", folder.to_str().unwrap());
    let program = [("LATE_RANK", "0"), ("LATE_MICROSECONDS", "0"), to];
    assert!(mpi.run(&mpi.library(), "late", &alike(3, &program)).is_success);
    let files: Vec<_> =
        std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(files.len(), 3, "{files:?}");
    for rank in 0..3 {
        let is_its = |path: &&PathBuf| path.to_str().unwrap().ends_with(&format!("-{rank}.prom"));
        let text = std::fs::read_to_string(files.iter().find(is_its).unwrap()).unwrap();
        let begin = format!("verbcast_broadcasts_total{{rank=\"{rank}\",host=\"");
        let line = text.lines().find(|line| line.starts_with(&begin)).unwrap();
        assert!(line.ends_with("\"} 20") && line.contains("\",device=\""), "{line}");
        assert!(
            text.lines().any(|line| line.starts_with("verbcast_running{") && line.ends_with(" 0"))
        );
    }
    std::fs::remove_dir_all(&folder).unwrap();
    let said = mpi.run(&mpi.library(), "late", &alike(3, &program));
    assert!(said.is_success);
    assert_eq!(said.lines("VERBCAST_METRICS: cannot write ").len(), 3, "{}", said.err);
}

/// A tool finds the library's variables beside MPI's own, and both work.
pub fn variables(mpi: Mpi) {
    if !is_ready(mpi) {
        return;
    }
    let lossy = [COUNT, ("VERBCAST_FAULT", "loss=0.3,seed=5")];
    let said = mpi.run(&mpi.library(), "variables", &alike(4, &lossy));
    assert!(said.is_success, "{}", said.err);
    let numbers = |begin: &str, end: &str| -> Vec<u64> {
        let part = |line: &str| line.rsplit_once(begin)?.1.split(end).next()?.parse().ok();
        said.out.lines().filter_map(part).collect()
    };
    let lost = numbers("lost ", "\n");
    assert_eq!(lost.len(), 4, "{}", said.out);
    assert!(lost.iter().sum::<u64>() > 0, "{lost:?}");
    let theirs = numbers(": ", " of MPI read");
    assert_eq!(theirs.len(), 4, "{}", said.out);
    // MPICH as Debian builds it has none.
    assert!(mpi == Mpi::Mpich || theirs.iter().all(|read| *read > 0), "{theirs:?}");
}

/// Threads at once, each on its own communicator.
pub fn threads(mpi: Mpi) {
    if !is_ready(mpi) {
        return;
    }
    let said = mpi.run(&mpi.library(), "threads", &alike(4, &[COUNT]));
    assert!(said.is_success);
    assert_eq!(said.out, mpi.expected("threads", 4));
    assert_eq!(said.lines("rank ").len(), 16, "all ranks have broadcast by multicast");
    assert!(said.lines("broadcasts go").is_empty());
}

/// Wrong calls: who makes one gets MPI's own error, and all others verbcast's.
pub fn errors(mpi: Mpi) {
    if !is_ready(mpi) {
        return;
    }
    let said = mpi.run(&mpi.library(), "errors", &alike(4, &[]));
    assert!(said.is_success);
    let text = |call: &str, mistake: u32, rank: u32, class: &str| {
        let begin = format!("{call}: mistake {mistake}: rank {rank}: class {class}: ");
        let text = said.out.lines().find_map(|line| line.strip_prefix(&begin));
        text.unwrap_or_else(|| panic!("{begin}")).to_owned()
    };
    for call in ["MPI_Bcast", "MPI_Ibcast", "MPI_Bcast_init"] {
        for (mistake, class) in [(1, "count"), (2, "type"), (3, "type"), (4, "root")] {
            text(call, mistake, 2, class);
            let why = if mistake == 4 { "with root 4" } else { "wrongly: " };
            for rank in [0, 1, 3] {
                let text = text(call, mistake, rank, "verbcast");
                let begin = format!("verbcast: rank {rank} of 4: MPI_Bcast failed: rank 2: ");
                assert!(text.starts_with(&begin), "{text}");
                assert!(text.contains(&format!("called MPI_Bcast {why}")), "{text}");
            }
        }
        for (mistake, rank) in (5..=7).flat_map(|mistake| (0..4).map(move |rank| (mistake, rank))) {
            let text = text(call, mistake, rank, "verbcast");
            assert!(text.contains("MPI_Bcast failed: "), "{text}");
        }
    }
    assert!(
        !said.err.contains("failed"),
        "the program alone is told, as its error handler returns"
    );
}

/// An error that ends the program: MPI says which.
pub fn fatal(mpi: Mpi) {
    if !is_ready(mpi) {
        return;
    }
    let said = mpi.run(&mpi.library(), "fatal", &alike(4, &[]));
    assert!(!said.is_success);
    assert!(said.err.contains("it broadcasts 40 bytes where this rank expects 36"));
}

/// A rank that is killed ends the job.
pub fn killed(mpi: Mpi) {
    if !is_ready(mpi) {
        return;
    }
    let said = mpi.run(&mpi.library(), "killed", &alike(4, &[]));
    assert!(!said.is_success);
}

/// Where MPI is to go on without a process, its own error says that one is gone, and the others do go on.
pub fn tolerant(mpi: Mpi) {
    if !is_ready(mpi) {
        return;
    }
    for (asked, class) in [("1", "a process failed"), ("0", "another error")] {
        let environment = [("MPIR_CVAR_ENABLE_FT", asked)];
        let kinds = alike(4, &environment);
        let said = mpi.run_tolerantly(&mpi.library(), "tolerant", &kinds);
        let mut lines: Vec<_> = said.out.lines().filter(|line| line.starts_with("rank")).collect();
        lines.sort_unstable();
        let expected = [0, 1, 3].map(|rank| format!("rank {rank}: {class}, then 0 wrong bytes"));
        assert_eq!(lines, expected, "{asked}: {}{}", said.out, said.err);
        // The text of MPI's own error cannot say who is gone.
        let is_named = said.err.contains("rank 2: does not answer");
        assert_eq!(is_named, asked == "1", "{}", said.err);
    }
}

/// On an imitated adapter, whatever its link layer and partitions: as without, and all of it by multicast.
pub fn imitated(mpi: Mpi, adapters: &[&str]) {
    if !is_ready(mpi) {
        return;
    }
    let imitation = Mpi::target().join("debug/libverbcast_adapters.so");
    let is_built = imitation.is_file();
    assert!(is_built, "{} is missing: cargo build -p verbcast-adapters", imitation.display());
    let libraries = both(&mpi.library(), &imitation);
    for (at, adapter) in adapters.iter().enumerate() {
        let state = format!("verbcast-adapter-{}-{at}", std::process::id());
        let state = std::env::temp_dir().join(state);
        let environment = [
            COUNT,
            ("VERBCAST_ADAPTER", *adapter),
            ("VERBCAST_ADAPTER_STATE", state.to_str().unwrap()),
        ];
        let said = mpi.run(&libraries, "attributes", &alike(4, &environment));
        let _ = std::fs::remove_dir_all(&state);
        assert!(said.is_success, "{adapter}: {}", said.err);
        assert_eq!(said.out, mpi.expected("attributes", 4));
        let broadcasts = said.sum("");
        let multicast = said.sum("multicast");
        assert!(broadcasts > 0 && multicast == broadcasts, "{adapter}: {}", said.err);
    }
}

/// One rank without a device: all go by MPI, and one of them says why.
pub fn a_missing_device(mpi: Mpi) {
    if !is_ready(mpi) {
        return;
    }
    let kinds = [
        Ranks { number: 3, environment: &[COUNT] },
        Ranks { number: 1, environment: &[COUNT, ("VERBCAST_DEVICE", "nonsense")] },
    ];
    let said = mpi.run(&mpi.library(), "threads", &kinds);
    assert!(said.is_success);
    assert_eq!(said.out, mpi.expected("threads", 4));
    let [line] = said.lines("broadcasts go by MPI's own: ")[..] else { panic!("one warning") };
    assert!(line.contains("rank 3") && line.contains("nonsense"), "{line}");
    assert!(said.lines("rank ").iter().all(|line| !line.contains(": multicast: ")));
}

/// A library for another MPI stays out of the way, and says so once.
pub fn another_library(mpi: Mpi, other: Mpi) {
    if mpi.is_built() && other.is_built() {
        passed_on(mpi, &other.library());
    }
}

/// A program whose handles are those of the standard's binary interface, by any library, is left alone.
pub fn the_standards_interface(mpi: Mpi) {
    if mpi.is_built() {
        let with = mpi.program("libabi.so");
        passed_on(mpi, &both(&mpi.library(), &with));
    }
}

fn passed_on(mpi: Mpi, library: &Path) {
    let said = mpi.run(library, "types", &alike(2, &[]));
    assert!(said.is_success);
    assert_eq!(said.out, mpi.expected("types", 2));
    let lines = said.lines("broadcasts go by MPI's own: built for another MPI");
    assert_eq!(lines.len(), 1, "by rank 0: {lines:?}");
}

/// Two libraries to preload, one after the other.
fn both(first: &Path, second: &Path) -> PathBuf {
    format!("{}:{}", first.display(), second.display()).into()
}

/// A program that opens its MPI library late, after another's that is preloaded, is told so before anything is mixed up.
pub fn another_library_before_a_late_one(mpi: Mpi, other: Mpi) {
    if !mpi.is_built() || !other.is_built() {
        return;
    }
    let said = mpi.run(&other.library(), "python.py", &alike(2, &[]));
    assert!(!said.is_success);
    let lines = said.lines("what is preloaded was built for ");
    assert_eq!(lines.len(), 1, "by rank 0: {}", said.err);
    assert!(lines[0].contains("preload libverbcast.so as built for that library"), "{lines:?}");
}

/// Mistakes in what only says what is to be told are named, and change nothing; what is empty is not set.
pub fn mistakes_in_reports(mpi: Mpi) {
    if !is_ready(mpi) {
        return;
    }
    let wrong = [("VERBCAST_STATS", "perhaps"), ("VERBCAST_PRELOAD", "")];
    let said = mpi.run(&mpi.library(), "attributes", &alike(4, &wrong));
    assert!(said.is_success);
    assert_eq!(said.lines("VERBCAST_STATS=perhaps: expected").len(), 1, "{}", said.err);
    assert!(said.lines("broadcasts go").is_empty(), "{}", said.err);
}

/// A program of sessions that never calls `MPI_Init`: by MPI's own, and each counted.
pub fn sessions(mpi: Mpi) {
    if !is_ready(mpi) {
        return;
    }
    let said = mpi.run(&mpi.library(), "sessions", &alike(4, &[COUNT]));
    assert!(said.is_success);
    assert!(said.out.contains("4 messages were right"), "{}", said.out);
}

/// Processes that are spawned or meet by a port.
pub fn dynamic_processes(mpi: Mpi) {
    if !is_ready(mpi) {
        return;
    }
    // Jobs share no memory.
    let between = [("OMPI_MCA_btl", "self,vader,tcp")];
    let said = mpi.run_with(&between, &mpi.library(), "dynamic", &alike(2, &[COUNT]));
    assert!(said.is_success);
    assert!(said.out.contains("every message was right"), "{}", said.out);
    // Two in all, and of both merged communicators, of four and of two.
    for rank in 0..2 {
        let line = format!("rank {rank}: multicast: {} broadcasts, ", 2 + 4 + 2);
        assert!(!said.lines(&line).is_empty(), "{line}: {}", said.err);
        let line = format!("rank {rank}: MPI, inter-communicator: 2 broadcasts, ");
        assert!(!said.lines(&line).is_empty(), "{line}: {}", said.err);
    }
}

/// A tool that intercepts MPI's functions, too: the program's results stay, and who is first has the broadcasts.
pub fn a_tool(mpi: Mpi) {
    if !is_ready(mpi) {
        return;
    }
    let (own, tool) = (mpi.library(), mpi.program("libtool.so"));
    let expected = mpi.expected("attributes", 4);
    for (libraries, is_first) in [(both(&own, &tool), true), (both(&tool, &own), false)] {
        let said = mpi.run(&libraries, "attributes", &alike(4, &[COUNT]));
        assert!(said.is_success);
        assert_eq!(said.out, expected);
        let counted = if is_first { 0 } else { 3 };
        for rank in 0..4 {
            let line = format!("tool: rank {rank}: 1 start, {counted} broadcasts");
            assert!(said.err.lines().any(|said| said == line), "{line}: {}", said.err);
        }
        // Three blocking, three non-blocking and three persistent ones; of which a tool leaves the persistent ones, and the
        // non-blocking ones after them.
        let multicast = if is_first { 9 } else { 3 };
        assert_eq!(said.sum("multicast"), 4 * multicast, "{}", said.err);
    }
}
