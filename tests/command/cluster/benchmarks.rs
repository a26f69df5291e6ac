//! Benchmarks of ranks on several hosts.

use super::{Folder, lines};
use std::fs;

#[test]
fn what_was_measured_on_two_hosts_is_shown_by_host() {
    let Some(folder) = Folder::with_file("bench", 0) else { return };
    let output = folder.run(
        "srun -N 2 --ntasks-per-node=2 --kill-on-bad-exit verbcast bench latency --algorithms window \
             --sizes 8:8 --iterations 20 --methods clock --json results.json &&
         verbcast report results.json -o page",
        &[],
    );
    assert!(output.status.success(), "{}", lines(&output));
    let page = fs::read_to_string(folder.path.join("page/index.html")).unwrap();
    let (_, table) = page.split_once("<caption>By host, times in microseconds").unwrap();
    let (table, _) = table.split_once("</table>").unwrap();
    for host in ["node1", "node2"] {
        assert!(table.contains(&format!("<td class=\"n\">{host}</td>")), "{host}:\n{table}");
    }
    assert!(page.contains("The ranks' clocks were compared to within "), "{page}");
}
