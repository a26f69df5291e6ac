//! The page: everything in one file, without scripts.

use super::by_host::by_host;
use super::figures::{Figure, figures};
use super::papers;
use super::setup::Setup;
use super::tables;
use crate::chart::{css, escape};
use crate::results::{Point, Test};
use std::fmt::Write;

const STYLE: &str = include_str!("../page.css");

pub fn page(setups: &[Setup<'_>]) -> String {
    let mut text = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Broadcasts, measured by verbcast</title>\n<style>\n{}{STYLE}</style>\n</head>\n<body>\n\
         <h1>Broadcasts, measured by verbcast</h1>\n\
         <p class=\"quiet\">raw is the multicast alone, without repair: the floor. binomial, chain and \
         scatter-allgather are reliable sends; all others multicast and repair what is lost. Curves of \
         latencies go through medians. Figures of Liu, Mamidala and Panda, 2004, and of Hoefler, Siebert \
         and Rehm, 2007, have the same axes where they are named.</p>\n",
        css()
    );
    for setup in setups {
        text += &section(setup);
    }
    text + "</body>\n</html>\n"
}

fn section(setup: &Setup<'_>) -> String {
    let mut text =
        format!("<section>\n<h2>{}</h2>\n<div class=\"charts\">\n", escape(&setup.title()));
    for figure in figures(&setup.points) {
        text += &chart(&figure);
    }
    text += "</div>\n<h3>What the papers report</h3>\n";
    text += &tables::quotes(&papers::quotes(&setup.points));
    text += "<h3>All numbers</h3>\n";
    let tests = [Test::Acknowledge, Test::Osu, Test::Clock, Test::Throughput, Test::Skew];
    for test in tests {
        let points: Vec<&Point> = setup.points.iter().filter(|point| point.test == test).collect();
        if !points.is_empty() {
            let _ = writeln!(text, "<details open><summary>{}</summary>", capital(test.describe()));
            text += &tables::points(test, &points);
            text += &by_host(setup, &points).unwrap_or_default();
            text += &clock_error(&points);
            text += "</details>\n";
        }
    }
    for what in &setup.left_out {
        let _ = writeln!(text, "<p>Left out: {}</p>", escape(what));
    }
    text += "<h3>Where and how</h3>\n";
    text += &tables::system(setup);
    text + "</section>\n"
}

fn chart(figure: &Figure) -> String {
    let like = match figure.like {
        "" => String::new(),
        like => format!("<small>as {like}</small>"),
    };
    format!(
        "<figure><figcaption>{}{like}</figcaption>\n{}</figure>\n",
        escape(&figure.title),
        figure.svg
    )
}

/// How far the clocks may have been apart.
fn clock_error(points: &[&Point]) -> String {
    match points.iter().filter_map(|point| point.clock_error).max() {
        Some(error) => format!(
            "<p class=\"quiet\">The ranks' clocks were compared to within {:.1} µs.</p>\n",
            error as f64 / 1e3
        ),
        None => String::new(),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    escape(&(first + letters.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::setup::setups;
    use crate::results::{Configuration, Results, System};

    #[test]
    fn what_was_left_out_is_told() {
        let results = Results {
            format: String::new(),
            system: System::default(),
            configuration: Configuration::default(),
            points: Vec::new(),
            left_out: vec!["3 ranks: window: <no memory>".to_owned()],
        };
        let page = page(&setups(&[results]));
        assert!(page.contains("<p>Left out: 3 ranks: window: &lt;no memory&gt;</p>"), "{page}");
    }
}
