//! The page: what happened, without scripts.

use super::clocks::Offset;
use super::digest::Digest;
use super::verdict::{percent, time};
use crate::chart::{Lane, Lanes, Part, css, escape};
use crate::table::table;
use std::collections::BTreeMap;
use std::fmt::Write;

const STYLE: &str = include_str!("../page.css");
/// The picture has so many ranks at most; where there are more, the table of waits has hosts.
const MAX_RANKS: usize = 64;
/// The most lines of the log that the page repeats.
const MAX_NEWS: usize = 200;

/// The title of the picture.
pub fn title(digests: &[Digest]) -> String {
    match digests.len() {
        ..=MAX_RANKS => "Each rank over time".to_owned(),
        all => format!("The first {MAX_RANKS} of {all} ranks over time"),
    }
}

const SET_UP: usize = 10;
const WORK: usize = 1;
const WAIT: usize = 4;

/// `told` is what there is to say of it all, in sentences.
pub fn page(digests: &[Digest], length: f64, offsets: &[Offset], told: &[String]) -> String {
    let mut text = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>What happened in a job</title>\n<style>\n{}{STYLE}</style>\n</head>\n<body>\n\
         <h1>What happened in a job</h1>\n<p class=\"quiet\">{} ranks on {} hosts, {}. {}</p>\n<ul>\n",
        css(),
        digests.len(),
        hosts(digests).len(),
        time(length),
        clocks(offsets)
    );
    for sentence in told {
        // Writing to a String does not fail.
        let _ = writeln!(text, "<li>{}</li>", escape(sentence));
    }
    let _ = write!(text, "</ul>\n<h2>{}</h2>\n<figure>\n", title(digests));
    text += &lanes(digests, length);
    text += "</figure>\n<p class=\"quiet\">White: outside of verbcast. Above each lane: fragments that were lost, when \
             their broadcast was complete. trace.json beside this page shows each call, in Perfetto or in a browser's \
             tracing page.</p>\n<h2>Who waited for whom</h2>\n";
    text += &waits(digests);
    text += "<h2>Losses and repairs</h2>\n";
    text += &losses(digests);
    text += &news(digests);
    text + "</body>\n</html>\n"
}

fn hosts(digests: &[Digest]) -> BTreeMap<&str, Vec<&Digest>> {
    let mut hosts: BTreeMap<&str, Vec<&Digest>> = BTreeMap::new();
    for digest in digests {
        hosts.entry(&digest.host).or_default().push(digest);
    }
    hosts
}

/// How well the hosts' clocks are known.
fn clocks(offsets: &[Offset]) -> String {
    let errors: Option<Vec<f64>> = offsets.iter().map(|offset| offset.error).collect();
    let worst = errors.map(|errors| errors.into_iter().fold(0.0, f64::max));
    match worst {
        Some(0.0) => "They have one clock.".to_owned(),
        Some(error) => format!("Hosts' clocks were compared to within {}.", time(error / 1e6)),
        None => {
            "Some hosts' clocks could not be compared, so that their own time of day is believed."
                .to_owned()
        }
    }
}

/// The picture of each rank over time.
pub fn lanes(digests: &[Digest], length: f64) -> String {
    let lane = |digest: &Digest| {
        let part = |style: usize| move |span: &[f64; 2]| Part { style, span: *span };
        let waits = digest.waits.iter().map(|(span, _)| span);
        let parts = digest.set_ups.iter().map(part(SET_UP));
        let parts = parts.chain(digest.calls.iter().map(part(WORK))).chain(waits.map(part(WAIT)));
        let marks = digest.losses.iter().map(|(at, lost)| (*at, *lost as f64));
        Lane { name: digest.name.clone(), parts: parts.collect(), marks: marks.collect() }
    };
    let lanes = Lanes {
        title: title(digests),
        length,
        legend: vec![
            (SET_UP, "making communicators"),
            (WORK, "in a broadcast"),
            (WAIT, "waiting in it"),
        ],
        marks: "fragments lost",
        lanes: digests.iter().take(MAX_RANKS).map(lane).collect(),
    };
    lanes.svg()
}

/// Seconds that each has waited for each other one, as a table.
fn waits(digests: &[Digest]) -> String {
    let by_host = digests.len() > MAX_RANKS;
    let group = |rank: u32| -> String {
        let digest = digests.iter().find(|digest| digest.id == rank);
        match digest {
            Some(digest) if by_host => digest.host.clone(),
            Some(digest) => format!("rank {}", digest.id),
            None => format!("rank {rank}"),
        }
    };
    let mut seconds: BTreeMap<(String, String), f64> = BTreeMap::new();
    let (mut rows, mut columns) = (Vec::new(), Vec::new());
    for digest in digests {
        let row = group(digest.id);
        for (rank, waited) in digest.waiting_for() {
            let column = group(rank);
            if !columns.contains(&column) {
                columns.push(column.clone());
            }
            *seconds.entry((row.clone(), column)).or_default() += waited;
        }
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    if seconds.is_empty() {
        return "<p>Nobody waited for anybody.</p>\n".to_owned();
    }
    columns.sort_by_key(|column| rows.iter().position(|row| row == column));
    let most = seconds.values().copied().fold(0.0, f64::max);
    let mut head = vec!["waited"];
    let names: Vec<String> = columns.iter().map(|column| format!("for {column}")).collect();
    head.extend(names.iter().map(String::as_str));
    let cells = |row: &String| {
        let mut cells = vec![escape(row)];
        cells.extend(columns.iter().map(|column| {
            let waited = seconds.get(&(row.clone(), column.clone())).copied().unwrap_or_default();
            match waited > 0.0 {
                true => format!(
                    "<span class=\"heat\" style=\"--heat:{:.0}%\">{}</span>",
                    waited / most * 100.0,
                    time(waited)
                ),
                false => String::new(),
            }
        }));
        cells
    };
    table(
        "Waits of more than 50 µs, each shared by those it was for",
        &head,
        1,
        rows.iter().map(cells),
    )
}

/// What each rank lost, and what its repair took.
fn losses(digests: &[Digest]) -> String {
    let head = [
        "rank",
        "host",
        "broadcasts",
        "lost",
        "of its datagrams",
        "reads",
        "median",
        "longest",
        "in all",
    ];
    let rows = digests.iter().map(|digest| {
        let Digest { id, host, operations, lost, repairs, .. } = digest;
        let mut times: Vec<f64> = repairs.iter().map(|[began, ended]| ended - began).collect();
        times.sort_by(f64::total_cmp);
        let median = times.get(times.len() / 2).copied();
        let told = |seconds: Option<f64>| seconds.map(time).unwrap_or_default();
        vec![
            format!("rank {id}"),
            escape(host),
            operations.to_string(),
            lost.to_string(),
            percent(digest.share_lost()),
            times.len().to_string(),
            told(median),
            told(times.last().copied()),
            told((!times.is_empty()).then(|| times.iter().sum())),
        ]
    });
    table("", &head, 2, rows)
}

fn news(digests: &[Digest]) -> String {
    let mut all: Vec<_> = digests
        .iter()
        .flat_map(|digest| digest.news.iter().map(move |(at, text)| (*at, &digest.name, text)))
        .collect();
    if all.is_empty() {
        return String::new();
    }
    all.sort_by(|one, other| one.0.total_cmp(&other.0));
    let left_out = all.len().saturating_sub(MAX_NEWS);
    let rows = all.into_iter().take(MAX_NEWS);
    let rows = rows.map(|(at, name, text)| vec![time(at), escape(name), escape(text)]);
    let mut page =
        "<h2>What the log told</h2>\n".to_owned() + &table("", &["after", "rank", ""], 3, rows);
    if left_out > 0 {
        let _ = writeln!(page, "<p class=\"quiet\">And {left_out} more, in trace.json.</p>");
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_every_rank_and_what_it_lost() {
        let digest = |id: u32| Digest {
            id,
            name: format!("rank {id} on <a>"),
            host: "<a>".to_owned(),
            calls: vec![[0.0, 2.0]],
            waits: vec![([0.5, 1.0], vec![Some(1 - id)])],
            losses: vec![(1.5, 3)],
            repairs: vec![[1.0, 1.25]],
            lost: 3,
            received: 97,
            operations: 4,
            news: vec![(0.1, "joined".to_owned())],
            ..Digest::default()
        };
        let offsets = [Offset { add: 0.0, error: Some(0.0) }];
        let page = page(&[digest(0), digest(1)], 2.0, &offsets, &["<a> was cut off".to_owned()]);
        for part in [
            "2 ranks on 1 hosts",
            "rank 1 on &lt;a&gt;",
            "for rank 0",
            "<li>&lt;a&gt; was cut off</li>",
            "<h2>Each rank over time</h2>",
            "3.0 %",
            "250.0 ms",
            "joined",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(!page.contains("<a>"), "names are not markup");
    }

    #[test]
    fn a_picture_of_some_ranks_says_so() {
        let digests: Vec<_> = (0..70).map(|id| Digest { id, ..Digest::default() }).collect();
        let page = page(&digests, 1.0, &[Offset { add: 0.0, error: Some(0.0) }], &[]);
        assert!(page.contains("<h2>The first 64 of 70 ranks over time</h2>"), "{page}");
        assert!(
            page.contains("aria-label=\"The first 64 of 70 ranks over time. 64 lanes"),
            "{page}"
        );
    }
}
