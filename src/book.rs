//! The examples of README and the book, compiled as documentation tests.

#[cfg(feature = "verbs")]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(feature = "verbs")]
#[doc = include_str!("../docs/src/guide/library.md")]
struct Library;

#[cfg(feature = "mpi")]
#[doc = include_str!("../docs/src/mpi.md")]
struct Mpi;
