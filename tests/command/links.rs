//! `verbcast fabric figures` and `verbcast sim --fabric`: what they write, print and refuse.

use crate::support::{Folder, Subcommand, names, run, text, verbcast};
use serde_json::Value;
use std::fs;

const SIM: Subcommand = Subcommand("sim");
const FABRIC: Subcommand = Subcommand("fabric");

/// Writes figures of small fabrics; gives the summary.
#[track_caller]
fn figures(folder: &Folder, more: &str) -> Value {
    FABRIC.json(&format!("figures --quick --draws 2 -o {} {more}", folder.path("").display()))
}

fn curve<'a>(summary: &'a Value, file: &str, name: &str) -> &'a Value {
    let mut figures = summary["figures"].as_array().unwrap().iter();
    let figure = figures.find(|figure| figure["file"] == file).unwrap();
    let mut curves = figure["curves"].as_array().unwrap().iter();
    curves.find(|curve| curve["name"] == name).unwrap()
}

#[test]
fn every_figure_of_the_papers_is_there_as_drawing_and_as_numbers() {
    let folder = Folder::new();
    let summary = figures(&folder, "");
    let mut expected = vec!["summary.json".to_owned()];
    let trees = (8..=17).map(|number| format!("fat-tree-{number:02}"));
    let meshes = (8..=16).map(|number| format!("mesh-{number:02}"));
    let acks = (1..=2).map(|number| format!("acks-{number:02}"));
    for name in trees.chain(meshes).chain(acks) {
        expected.extend([format!("{name}.svg"), format!("{name}.json")]);
    }
    expected.sort();
    assert_eq!(names(&folder), expected);
    let svg = fs::read_to_string(folder.path("fat-tree-11.svg")).unwrap();
    assert!(
        svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\"") && !svg.contains("<style>")
    );
    for curve in ["unicast", "OpenSM", "cyclic"] {
        assert!(svg.contains(&format!(">{curve}</text>")), "{curve}");
    }
    let figure: Value =
        serde_json::from_slice(&fs::read(folder.path("mesh-12.json")).unwrap()).unwrap();
    assert_eq!(figure["fabric"], "mesh:4,4");
    assert_eq!(figure["curves"].as_array().unwrap().len(), 6);
    for curve in figure["curves"].as_array().unwrap() {
        for point in curve["points"].as_array().unwrap() {
            assert!(point["makespan_ns"].as_f64() > point["floor_ns"].as_f64(), "{point}");
        }
    }
    // Each rank acknowledges each broadcast, to the root if there are no co-roots, and broadcasts follow one another no
    // faster than that comes.
    let acks: Value =
        serde_json::from_slice(&fs::read(folder.path("acks-01.json")).unwrap()).unwrap();
    let points = |curve: usize| acks["curves"][curve]["points"].as_array().unwrap();
    let of = |point: &Value, name: &str| point[name].as_f64().unwrap();
    assert_eq!([0, 1].map(|curve| &acks["curves"][curve]["algorithm"]), ["window", "co-root"]);
    let one = of(&points(1)[0], "into_root_ns");
    for point in points(0) {
        assert!(
            (of(point, "into_root_ns") - one * (of(point, "ranks") - 1.0)).abs() < 1e-6,
            "{point}"
        );
    }
    for point in (0..3).flat_map(points) {
        assert!(of(point, "into_root_ns") <= of(point, "broadcast_ns"), "{point}");
    }
    assert!(summary["run"]["events"].as_u64() > Some(100_000));
    // One source: the closed form, whatever the tree; and a unicast to each takes longer.
    let of = |file, name| curve(&summary, file, name);
    assert_eq!(
        (&of("fat-tree-10", "OpenSM")["least"], &of("fat-tree-10", "OpenSM")["most"]),
        (&1.0.into(), &1.0.into())
    );
    for figure in ["fat-tree-08", "fat-tree-10", "fat-tree-16", "mesh-08", "mesh-14"] {
        assert!(of(figure, "unicast")["least"].as_f64() > Some(1.0), "{figure}");
    }
    // All sources: one tree is slower than several.
    assert!(of("fat-tree-14", "OpenSM")["least"].as_f64() > Some(1.2));
}

#[test]
fn figures_are_chosen_and_repeat_exactly() {
    let folder = Folder::new();
    let of = |more: &str| {
        let mut summary = figures(&folder, &format!("--paper fat-tree --figure 14 {more}"));
        summary["run"]["wall_seconds"].take();
        summary["run"]["million_events_per_second"].take();
        summary
    };
    let first = of("");
    assert_eq!(first, of(""));
    assert_ne!(first["figures"], of("--seed 9")["figures"]);
    // One group for all: each scheme is as fast as the members' links.
    let shared = of("--groups shared");
    assert_ne!(first["figures"], shared["figures"]);
    assert!(curve(&shared, "fat-tree-14", "OpenSM")["last"].as_f64() < Some(1.1));
    let cut = of("--packet 256 --overlapped --input-buffers 2 --output-buffers 2");
    assert_eq!((&cut["packet_bytes"], &cut["links"]["overlapped"]), (&256.into(), &true.into()));
    assert_eq!(names(&folder), ["fat-tree-14.json", "fat-tree-14.svg", "summary.json"]);
}

#[test]
fn figures_that_are_not_there_are_refused_and_nothing_is_written() {
    let folder = Folder::new();
    let output = folder.path("none");
    let args = format!("figures -o {} --paper mesh --figure 17", output.display());
    FABRIC.refused(&args, 2, "8 to 17 of fat-tree");
    FABRIC.refused(&format!("figures -o {} --draws 0", output.display()), 2, "draws");
    FABRIC.refused("figures", 2, "--output");
    assert!(names(&folder).is_empty());
    let blocked = folder.path("file");
    fs::write(&blocked, "").unwrap();
    FABRIC.refused(
        &format!("figures --quick -o {}", blocked.display()),
        1,
        "cannot make the folder",
    );
}

#[test]
fn a_broadcast_over_links_is_reported_with_what_the_links_did() {
    let args = "--ranks 16 --fabric fat-tree:4,3 --algorithm basic --operations 4";
    let report = SIM.json(args);
    let links = &report["links"];
    assert_eq!((&links["fabric"], &links["switches"]), (&"fat-tree:4,3".into(), &20.into()));
    assert_eq!((&links["scheme"], &links["jobs"]), (&"cyclic".into(), &1.into()));
    // 15 ranks write 8 bytes in packets of 50, at 4 ns a byte.
    assert_eq!(links["into_root_ns"], 4 * 15 * 50 * 4);
    let table = SIM.printed(args);
    assert!(
        table.contains("The links:\n  fabric              fat-tree:4,3, 20 switches\n"),
        "{table}"
    );
    assert!(SIM.json("--ranks 16")["links"].is_null());
}

#[test]
fn jobs_make_one_another_slower_where_they_share_links() {
    let of = |more: &str| {
        let args = format!(
            "--ranks 8 --fabric fat-tree:4,3 --algorithm window --size 64K --operations 2 --scheme opensm {more}"
        );
        SIM.json(&args)["latency"]["mean_ns"].as_f64().unwrap()
    };
    let alone = of("--placement block");
    assert_eq!(of("--jobs 2 --placement block"), alone);
    assert!(of("--jobs 2 --placement spread") > of("--jobs 1 --placement spread"));
    assert!(of("--jobs 2 --placement random --lanes 2") > 0.0);
}

#[test]
fn what_switches_throw_away_is_reported_and_repaired() {
    let args =
        "--ranks 4 --fabric fat-tree:4,3 --jobs 4 --placement spread --scheme opensm --size 64K";
    let links = |more: &str| SIM.json(&format!("{args} {more}"))["links"].clone();
    let lossless = links("");
    assert_eq!((&lossless["dropped"], &lossless["resent"]), (&0.into(), &0.into()));
    assert!(lossless["lifetime_ns"].is_null() && lossless["retry_ns"].is_null());
    let lossy = links("--lifetime 10000");
    assert!(lossy["dropped"].as_u64() > Some(0), "{lossy}");
    assert_eq!((&lossy["lifetime_ns"], &lossy["retry_ns"]), (&10_000.into(), &67_108_864.into()));
    let table = SIM.printed(&format!("{args} --lifetime 10000"));
    assert!(table.contains("  dropped "), "{table}");
}

#[test]
fn fabrics_that_do_not_fit_are_refused() {
    for (args, says) in [
        ("--ranks 17 --fabric fat-tree:4,3", "--jobs 1 of --ranks 17 need 17 hosts"),
        ("--ranks 8 --jobs 3 --fabric fat-tree:4,3", "need 24 hosts, and fat-tree:4,3 has 16"),
        ("--ranks 8 --jobs 2", "--fabric"),
        ("--ranks 8 --scheme opensm", "--fabric"),
        ("--ranks 8 --input-buffers 2", "--fabric"),
        ("--ranks 8 --lifetime 2", "--fabric"),
        ("--ranks 8 --fabric fat-tree:4,3 --retry 2", "--lifetime"),
        ("--ranks 8 --fabric fat-tree:4,3 --lifetime 0", "0 is not in"),
        ("--ranks 8 --fabric fat-tree:4,3 --lifetime 18446744073709551615", "is not in"),
        ("--ranks 4 --fabric mesh:2,2 --scheme cyclic", "does not have the shape for it"),
        ("--ranks 4 --fabric mesh:2,2 --routing d-mod-k", "only fat trees have it"),
        ("--ranks 4 --fabric torus:2,2", "expected fat-tree:M,N"),
        ("--swarm 2 --fabric mesh:2,2", "cannot be used with"),
        ("--ranks 4 --fabric mesh:2,2 --lanes 16", "16"),
    ] {
        SIM.refused(args, 2, says);
    }
    let missing = run(verbcast().args(["sim", "--fabric", "file:/nowhere"]));
    assert_eq!(missing.status.code(), Some(1), "{}", text(&missing.stderr));
}
