//! Texts at the end of a format, as long as they are short enough.

/// The beginning of a text, of at most `most` bytes.
pub fn cut(text: &str, most: usize) -> &str {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The text in the first `most` bytes. What is not UTF-8 is replaced.
pub fn read(bytes: &[u8], most: usize) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(most)]).into_owned()
}
