//! `verbcast report` of made-up results, and what `verbcast bench` refuses. Needs no device.

use crate::support::{Folder, names, run, text, verbcast};
use std::fs;
use std::path::PathBuf;

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/bench").join(name)
}

/// The page made of fixtures.
fn page(files: &[&str]) -> String {
    let folder = Folder::new();
    let mut command = verbcast();
    command.arg("report").args(files.iter().map(|name| fixture(name)));
    let output = run(command.arg("-o").arg(folder.path("out/page")));
    assert!(output.status.success(), "{}", text(&output.stderr));
    let path = folder.path("out/page/index.html");
    assert_eq!(text(&output.stdout), format!("{}\n", path.display()));
    assert_eq!(fs::read_dir(folder.path("out/page")).unwrap().count(), 1);
    fs::read_to_string(path).unwrap()
}

#[test]
fn a_page_has_the_papers_figures_and_all_numbers() {
    let page = page(&["latency.json", "others.json"]);
    for figure in ["1", "2", "6", "7", "8", "9"] {
        assert!(page.contains(&format!("<small>as Liu 2004, figure {figure}</small>")), "{figure}");
    }
    for figure in ["4", "5", "6", "7"] {
        let like = format!("<small>as Hoefler 2007, figure {figure}</small>");
        assert!(page.contains(&like), "{figure}");
    }
    assert!(page.contains("Packets lost or too late, back to back, 8 ranks"));
    assert!(page.contains("79.4 % before rank 98") && !page.contains("not measured"));
    let rows = page.matches("<th scope=\"row\">window</th>").count();
    assert_eq!(rows, 3 * 2 + 2 * 2 + 2 + 2);
    assert_eq!(page.matches("<section>").count(), 1, "one place");
    assert!(page.contains("verbcast made-up bench latency; root fixed:0, seed 1, validated"));
}

#[test]
fn a_page_stands_alone_and_is_well_formed() {
    let page = page(&["latency.json"]);
    for outside in ["<script", "http:", "https:", "<link", "<img", "url(", "@import"] {
        assert!(!page.contains(outside), "{outside}");
    }
    let charts = page.matches("<svg ").count();
    assert_eq!(page.matches("role=\"img\" aria-label=\"").count(), charts);
    for tag in
        ["svg", "figure", "table", "section", "details", "text", "title", "path", "div", "td"]
    {
        let opened =
            page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count();
        assert_eq!(opened, page.matches(&format!("</{tag}>")).count(), "{tag}");
    }
    assert!(!page.contains("NaN") && !page.contains("inf\""));
}

#[test]
fn each_chart_is_a_file_of_its_own_if_asked_for() {
    let folder = Folder::new();
    let mut command = verbcast();
    command.args(["report", "--svg"]).arg(fixture("latency.json"));
    let output = run(command.arg("-o").arg(folder.path("")));
    assert!(output.status.success(), "{}", text(&output.stderr));
    let page = fs::read_to_string(folder.path("index.html")).unwrap();
    let charts = page.matches("<svg ").count();
    assert_eq!(names(&folder).len(), charts + 1);
    for number in 1..=charts {
        let drawing = fs::read_to_string(folder.path(&format!("figure-{number}.svg"))).unwrap();
        assert!(drawing.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" "), "{drawing}");
        let (_, marks) = drawing.split_once("<!-- The chart -->\n").unwrap();
        assert!(page.contains(marks), "the chart of the page");
    }
}

#[test]
fn what_is_no_result_is_refused_and_leaves_nothing() {
    let folder = Folder::new();
    fs::write(folder.path("other.json"), "{\"format\": \"something\"}").unwrap();
    for (file, expected) in [
        ("missing.json", "cannot read missing.json: No such file"),
        ("other.json", "other.json: has the format \"something\", not \"verbcast bench 1\""),
    ] {
        let mut command = verbcast();
        command.current_dir(folder.path("")).args(["report", file, "-o", "out"]);
        let output = run(&mut command);
        assert_eq!(output.status.code(), Some(1));
        assert!(text(&output.stderr).contains(expected), "{}", text(&output.stderr));
        assert_eq!(names(&folder), ["other.json"]);
    }
}

#[test]
fn a_wrong_benchmark_is_explained() {
    for (args, expected) in [
        (&["latency", "--ranks", "1"][..], "'--ranks <N>'"),
        (&["latency"], "how many ranks?"),
        (
            &["latency", "--ranks", "4", "--algorithms", "raw,flood"],
            "there is no algorithm \"flood\"",
        ),
        (&["latency", "--ranks", "4", "--sizes", "8:4"], "1 <= MIN <= MAX"),
        (&["latency", "--ranks", "4", "--methods", "guess"], "acknowledge, osu or clock"),
        (&["latency", "--ranks", "4", "--root", "fixed:4"], "no such rank among 4 ranks"),
        (&["scale", "--ranks", "4", "--counts", "2,5"], "--counts 5: not between 2 and"),
        (&["scale", "--ranks", "4", "--root", "fixed:3"], "no such rank among 2 ranks"),
        (&["throughput", "--ranks", "4", "--iterations", "0"], "--iterations"),
        (&["skew", "--ranks", "4", "--skews=-1"], "--skews"),
        (&["skew", "--ranks", "4", "--fault", "loss=2"], "loss=2"),
        (&["latency", "--ranks", "4", "--json", "no/such/file"], "a folder that exists"),
        (&["everything", "--ranks", "4"], "everything"),
    ] {
        let output = run(verbcast().arg("bench").args(args));
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {stderr}");
        assert!(stderr.contains(expected), "expected {expected:?} in:\n{stderr}");
    }
}

#[test]
fn a_benchmark_without_its_device_says_so_once() {
    let mut command = verbcast();
    command.args(["bench", "latency", "--ranks", "3", "--device", "nosuchdevice"]);
    let output = run(&mut command);
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    let expected = ["nosuchdevice", "there is no RDMA device on this host"];
    assert!(expected.iter().any(|what| stderr.contains(what)), "{stderr}");
    assert!(stderr.starts_with("error: ranks 0-2: ") && stderr.lines().count() == 1, "{stderr}");
    assert!(output.stdout.is_empty());
}
