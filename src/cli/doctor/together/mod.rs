//! What several ranks try together.

mod loss;
mod one_sided;
mod sweep;

use super::bounded::step;
use super::finding::{Finding, Outcome, Tried};
use super::group::Group;
use super::lab::{Joined, Lab, Mailbox};
use super::site::Site;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};
use verbcast::bootstrap::{Bootstrap, Star};
use verbcast_core::rank::Rank;
use verbcast_verbs::{Attachment, LinkLayer};

/// A rank among those that try something.
struct Circle<'a> {
    star: &'a mut Star,
    names: &'a [String],
    lab: Lab,
    joined: Joined,
    /// Bytes of the largest datagram that all ports can send.
    mtu: usize,
}

/// What a rank says of itself at the begin.
#[derive(Serialize, Deserialize)]
struct Card {
    link_layer: String,
    mtu: usize,
    /// Drawn by rank 0.
    group: Group,
}

/// Things to try that need the whole network.
struct Part {
    /// The numbers in the matrix, each with what is expected.
    tries: [(u32, &'static str); 2],
    attempt: fn(&mut Circle<'_>) -> Vec<Finding>,
}

impl Part {
    fn skip(&self, why: &str) -> Vec<Finding> {
        let skipped = |(number, expected)| Finding::new(number, expected, Tried::not_tried(why));
        self.tries.map(skipped).into()
    }

    /// What came, in the order of the numbers.
    fn findings(&self, came: [Tried; 2]) -> Vec<Finding> {
        let tries = self.tries.into_iter().zip(came);
        tries.map(|((number, expected), tried)| Finding::new(number, expected, tried)).collect()
    }
}

/// No part begins later than this.
const LATEST: Duration = Duration::from_secs(85);

/// Tries everything; the same at every rank. The doctor has `begun` before.
pub fn run(
    star: &mut Star,
    site: Result<Site, String>,
    names: &[String],
    begun: Instant,
) -> Vec<Finding> {
    step("joining a group together");
    let mut circle = match gathered(star, site, names) {
        Ok(circle) => circle,
        Err(what) => {
            let advice = "see what that host says above";
            return vec![Finding::new(1, "all ranks join a group", Tried::broken(what, advice))];
        }
    };
    let mut findings = vec![Finding::new(
        1,
        "all ranks join a group",
        Tried::holds(format!("{} ranks, datagrams of {} bytes", names.len(), circle.mtu)),
    )];
    findings.extend(sweep::run(&mut circle));
    let is_whole = findings.iter().all(|finding| finding.outcome == Outcome::Holds);
    for part in [loss::PART, one_sided::PART] {
        findings.extend(match (is_whole, circle.has_time(begun)) {
            (true, true) => (part.attempt)(&mut circle),
            (true, false) => part.skip("no time was left"),
            (false, _) => part.skip("needs the above first"),
        });
    }
    findings
}

fn gathered<'a>(
    star: &'a mut Star,
    site: Result<Site, String>,
    names: &'a [String],
) -> Result<Circle<'a>, String> {
    let card = site.as_ref().map_err(Clone::clone).map(|site| Card {
        link_layer: format!("{:?}", site.link_layer),
        mtu: site.mtu,
        group: site.draw_group(),
    });
    let cards = gather(star, names, card)?;
    if let Some((other, name)) =
        cards.iter().zip(names).find(|(card, _)| card.link_layer != cards[0].link_layer)
    {
        return Err(format!(
            "{} has {}, {name} has {}: choose devices of one network with VERBCAST_DEVICE",
            names[0], cards[0].link_layer, other.link_layer
        ));
    }
    let mtu = cards.iter().map(|card| card.mtu).min().unwrap_or(0);
    let mut site = site?;
    site.mtu = mtu;
    let joined = Lab::open(&site).and_then(|lab| Ok((lab.join(cards[0].group)?, lab)));
    let (outcome, joined) = match joined {
        Ok(joined) => (Ok(()), Some(joined)),
        Err(what) => (Err(what), None),
    };
    gather(star, names, outcome)?;
    let (joined, lab) = joined.ok_or("nothing was joined")?;
    Ok(Circle { star, names, lab, joined, mtu })
}

/// What all ranks say; an error names those that failed, and is the same at every rank.
fn gather<T: Serialize + DeserializeOwned>(
    star: &mut Star,
    names: &[String],
    own: Result<T, String>,
) -> Result<Vec<T>, String> {
    let blob = serde_json::to_vec(&own).map_err(|error| error.to_string())?;
    let blobs = star.all_gather(&blob).map_err(|error| error.to_string())?;
    let mut values = Vec::with_capacity(blobs.len());
    // What several ranks say is told once.
    let mut failures: Vec<(String, Vec<&str>)> = Vec::new();
    for (blob, name) in blobs.iter().zip(names) {
        let said: Result<T, String> =
            serde_json::from_slice(blob).unwrap_or_else(|error| Err(error.to_string()));
        match said {
            Ok(value) => values.push(value),
            Err(what) => match failures.iter_mut().find(|(other, _)| *other == what) {
                Some((_, who)) => who.push(name),
                None => failures.push((what, vec![name])),
            },
        }
    }
    let told = failures.iter().map(|(what, who)| format!("{}: {what}", who.join(", ")));
    match failures.is_empty() {
        true => Ok(values),
        false => Err(told.collect::<Vec<_>>().join("; ")),
    }
}

impl Circle<'_> {
    fn me(&self) -> Rank {
        self.star.rank()
    }

    fn size(&self) -> usize {
        self.names.len()
    }

    fn gather<T: Serialize + DeserializeOwned>(
        &mut self,
        own: Result<T, String>,
    ) -> Result<Vec<T>, String> {
        gather(self.star, self.names, own)
    }

    /// Waits until all ranks are here.
    fn barrier(&mut self, own: Result<(), String>) -> Result<(), String> {
        self.gather(own).map(|_| ())
    }

    /// A member of the group with so many posted receives, once all ranks have theirs.
    fn member(&mut self, depth: u32) -> Result<(Mailbox, Attachment), String> {
        let made = self.lab.member(&self.joined, depth).and_then(|(mut mailbox, attachment)| {
            mailbox.post(depth)?;
            Ok((mailbox, attachment))
        });
        let (outcome, made) = match made {
            Ok(made) => (Ok(()), Some(made)),
            Err(what) => (Err(what), None),
        };
        self.barrier(outcome)?;
        made.ok_or_else(|| "nothing was made".to_owned())
    }

    /// Whether another part may begin, by the clock of rank 0.
    fn has_time(&mut self, begun: Instant) -> bool {
        let own = begun.elapsed() < LATEST;
        self.gather(Ok(own)).is_ok_and(|all| all[0])
    }

    /// How long a new group is given to deliver.
    fn settling(&self) -> Duration {
        match self.lab.site.link_layer {
            LinkLayer::InfiniBand => Duration::from_secs(5),
            _ => Duration::from_secs(1),
        }
    }
}
