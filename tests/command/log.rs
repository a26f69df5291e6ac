//! What `VERBCAST_LOG` takes. Needs no device.

use crate::support::{run, text, verbcast};

#[test]
fn a_word_that_is_no_level_is_refused() {
    let show = ["fabric", "show", "--fabric", "mesh:2,1"];
    let output = run(verbcast().args(show).env("VERBCAST_LOG", "debgu"));
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("VERBCAST_LOG=debgu: off, error, "));
    assert!(run(verbcast().args(show).env("VERBCAST_LOG", "verbcast=debug")).status.success());
}
