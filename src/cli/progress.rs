//! A progress bar on standard error, if that is a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal};
use verbcast_core::rank::Rank;

pub struct Progress(ProgressBar);

impl Progress {
    /// So many of `what`.
    pub fn new(total: u64, what: &str) -> Progress {
        Progress::of_rank(Rank(0), total, what)
    }

    /// The same where only rank 0 of a job shows it.
    pub fn of_rank(rank: Rank, total: u64, what: &str) -> Progress {
        let target = match rank == Rank(0) && io::stderr().is_terminal() {
            true => ProgressDrawTarget::stderr(),
            false => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(Some(total), target);
        let template = format!("{{bar:40}} {{pos}} of {{len}} {what}, {{eta}} left");
        if let Ok(style) = ProgressStyle::with_template(&template) {
            bar.set_style(style);
        }
        Progress(bar)
    }

    pub fn advance(&self) {
        self.0.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
