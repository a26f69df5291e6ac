//! Which protocol a broadcast takes: a table over ranks and bytes, the same at every rank.

mod algorithm;
mod table;

pub use algorithm::Algorithm;
pub use table::{Table, TableError};
