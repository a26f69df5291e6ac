//! What the doctor prints.

use super::finding::{Finding, Outcome};
use super::inventory::{Adapter, Host, PortInventory};
use super::report::{HostReport, Report};
use crate::units;
use std::fmt::Write;

/// The whole report, with the verdict at the end.
pub fn render(report: &Report) -> String {
    let mut text = String::new();
    // Writing to a String does not fail.
    for host in &report.hosts {
        let _ = describe(&mut text, host);
    }
    if !report.together.is_empty() {
        let _ = writeln!(text, "{} ranks together", report.ranks);
        for finding in &report.together {
            let _ = tried(&mut text, finding);
        }
        text.push('\n');
    }
    let _ = verdict(&mut text, report);
    text
}

fn describe(text: &mut String, report: &HostReport) -> std::fmt::Result {
    let Host { name, verbcast, kernel, rdma_core, locked_memory, fork, adapters } = &report.host;
    writeln!(text, "host {name} (rank {})", report.rank)?;
    writeln!(text, "  verbcast          {verbcast}")?;
    writeln!(text, "  kernel            {kernel}")?;
    writeln!(text, "  rdma-core         {}", rdma_core.as_deref().unwrap_or("unknown"))?;
    let limit = locked_memory.map_or("unlimited".to_owned(), units::bytes);
    writeln!(text, "  locked memory     {limit}")?;
    writeln!(text, "  fork              {fork}")?;
    for adapter in adapters {
        describe_adapter(text, adapter)?;
    }
    match &report.tried {
        Ok(port) => writeln!(text, "\n  tried {port}")?,
        Err(why) => writeln!(text, "\n  nothing was tried: {why}")?,
    }
    for finding in &report.findings {
        tried(text, finding)?;
    }
    writeln!(text)
}

fn describe_adapter(text: &mut String, adapter: &Adapter) -> std::fmt::Result {
    let Adapter { name, guid, kind, vendor, part, firmware, limits, ports, error } = adapter;
    writeln!(text, "  {name}")?;
    writeln!(text, "    node GUID       {guid}")?;
    if let Some(error) = error {
        return writeln!(text, "    not looked at   {error}");
    }
    let kind = kind.as_deref().unwrap_or("of a kind that nobody has verified");
    writeln!(text, "    adapter         {kind} (vendor {vendor:#x}, part {part:#x})")?;
    if !firmware.is_empty() {
        writeln!(text, "    firmware        {firmware}")?;
    }
    let limits: Vec<_> = limits.iter().map(|(name, number)| format!("{name} {number}")).collect();
    writeln!(text, "    limits          {}", limits.join(", "))?;
    ports.iter().try_for_each(|port| describe_port(text, port))
}

fn describe_port(text: &mut String, port: &PortInventory) -> std::fmt::Result {
    let state = if port.is_active { "active" } else { "not active" };
    let PortInventory { number, link_layer, mtu, rate, lid, sm_lid, sm_sl, .. } = port;
    let rate = rate.map(|rate| format!(", {} Gb/s", f64::from(rate) / 1000.0)).unwrap_or_default();
    writeln!(text, "    port {number}          {state}, {link_layer}{rate}, MTU {mtu}")?;
    if *lid != 0 || *sm_lid != 0 {
        writeln!(text, "      LIDs          {lid}, subnet manager {sm_lid} (SL {sm_sl})")?;
    }
    writeln!(text, "      P_Keys        {}", port.p_keys.join(" "))?;
    for gid in &port.gids {
        let interface = gid.interface.as_deref().unwrap_or("no interface here");
        writeln!(text, "      GID {:<9} {} ({}, {interface})", gid.index, gid.gid, gid.kind)?;
    }
    for ipoib in &port.ipoib {
        let state = if ipoib.is_up { "up" } else { "down" };
        let addresses = ipoib.addresses.join(" ");
        writeln!(text, "      IPoIB         {} {state}, {}: {addresses}", ipoib.name, ipoib.p_key)?;
    }
    match &port.problem {
        Some(problem) => writeln!(text, "      problem       {problem}"),
        None => Ok(()),
    }
}

fn tried(text: &mut String, finding: &Finding) -> std::fmt::Result {
    let Finding { number, id, expected, outcome, came, .. } = finding;
    let mark = match outcome {
        Outcome::Holds => "ok   ",
        Outcome::Broken => "WRONG",
        Outcome::NotTried => "-    ",
    };
    writeln!(text, "  {mark} {number:>2} {id:<20} {came}")?;
    match outcome {
        Outcome::Broken => writeln!(text, "{:31}expected: {expected}", ""),
        _ => Ok(()),
    }
}

fn verdict(text: &mut String, report: &Report) -> std::fmt::Result {
    let mut broken = report.broken().peekable();
    let unusable = report.hosts.iter().filter_map(|host| Some((host, host.tried.as_ref().err()?)));
    let unusable: Vec<_> = unusable.collect();
    if broken.peek().is_none() && unusable.is_empty() {
        return writeln!(text, "healthy, after {:.0} s", report.seconds);
    }
    writeln!(text, "something is wrong:")?;
    for (host, why) in unusable {
        writeln!(text, "  {}: {why}", host.host.name)?;
    }
    for (host, finding) in broken {
        let place = host.map_or("between ranks", |host| &host.host.name);
        let Finding { number, id, came, advice, .. } = finding;
        writeln!(text, "  {place}: {id} ({number}): {came}")?;
        if let Some(advice) = advice {
            writeln!(text, "    what to do: {advice}")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::finding::Tried;
    use super::super::report::example;
    use super::*;

    #[test]
    fn the_verdict_names_what_is_wrong_and_what_to_do() {
        let text = render(&example(Tried::broken("refused", "start it")));
        let (_, verdict) = text.split_once("something is wrong:\n").unwrap();
        assert_eq!(verdict, "  login7: join-by-address (1): refused\n    what to do: start it\n");
        assert!(render(&example(Tried::holds("after 1 ms"))).ends_with("healthy, after 2 s\n"));
    }

    #[test]
    fn a_host_without_a_port_to_try_is_not_healthy() {
        let mut report = example(Tried::holds("joined"));
        report.hosts[0].tried = Err("there is no RDMA device".to_owned());
        let text = render(&report);
        assert!(
            text.ends_with("something is wrong:\n  login7: there is no RDMA device\n"),
            "{text}"
        );
    }
}
