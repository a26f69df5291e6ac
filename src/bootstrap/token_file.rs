//! A job's secret in a file that nobody else can read.

use super::limits::MAX_TOKEN;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Rights of anybody but the owner.
const OTHERS: u32 = 0o077;

/// Reads the file; white space around the secret is left out.
///
/// # Errors
/// If the file cannot be read, others may read or write it, or its text cannot be a secret: a sentence that says why.
pub(super) fn read(path: &Path) -> Result<String, String> {
    let in_words = |error: io::Error| error.to_string();
    let file = File::open(path).map_err(in_words)?;
    let metadata = file.metadata().map_err(in_words)?;
    if !metadata.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    let mode = metadata.permissions().mode() & 0o777;
    if mode & OTHERS != 0 {
        return Err(format!("its mode is {mode:03o}, so that others can use it: chmod 600 it"));
    }
    let mut text = String::new();
    // White space may surround it.
    let most = 2 * MAX_TOKEN as u64;
    file.take(most).read_to_string(&mut text).map_err(in_words)?;
    match text.trim() {
        "" => Err("it is empty".to_owned()),
        token if token.len() > MAX_TOKEN => Err(format!("it has more than {MAX_TOKEN} bytes")),
        token => Ok(token.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::PathBuf;

    fn file(name: &str, text: &str, mode: u32) -> PathBuf {
        let path = std::env::temp_dir().join(format!("verbcast-{name}-{}", std::process::id()));
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    fn reads(name: &str, text: &str, mode: u32) -> Result<String, String> {
        let path = file(name, text, mode);
        let outcome = read(&path);
        fs::remove_file(path).unwrap();
        outcome
    }

    #[test]
    fn only_a_private_file_with_a_text_is_taken() {
        assert_eq!(reads("good", "  abc\n", 0o600).as_deref(), Ok("abc"));
        assert_eq!(reads("fixed", "abc", 0o400).as_deref(), Ok("abc"));
        for mode in [0o640, 0o604, 0o620, 0o601, 0o777] {
            let error = reads("open", "abc", mode).unwrap_err();
            assert!(error.contains(&format!("its mode is {mode:03o}")), "{error}");
        }
        assert_eq!(reads("empty", "\n", 0o600), Err("it is empty".to_owned()));
        assert!(
            reads("long", &"x".repeat(MAX_TOKEN + 1), 0o600).unwrap_err().contains("more than")
        );
        assert!(read(Path::new("/dev/null")).unwrap_err().contains("regular"));
        assert!(read(Path::new("/nonexistent/token")).is_err());
    }
}
