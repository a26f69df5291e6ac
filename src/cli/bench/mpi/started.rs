//! MPI in this process.

use super::native::Native;
use crate::bench::contender::{Contender, MPI};
use crate::bench::plan::Plan;
use crate::launch::decide::blame;
use crate::launch::random_secret;
use std::fs;
use std::net::TcpListener;
use verbcast::bootstrap::{Address, Bootstrap, Environment};
use verbcast::mpi::{Library, OwnBroadcast};
use verbcast_core::rank::Rank;

/// Bytes of the longest text that says where to meet.
const MAX_PLACE: usize = 1024;

/// MPI, started if its broadcast is one of those that are measured.
///
/// If a rank fails it does not [finish](Self::finish), and MPI's launcher ends all others, which may wait for it
/// in a broadcast.
pub struct Mpi(Option<Library>);

impl Mpi {
    /// Starts it, and returns this process's place in the job too: where nobody has said where the ranks meet,
    /// rank 0 says so by MPI. Collective.
    pub fn start(plan: &Plan, environment: &Environment) -> Result<(Mpi, Environment), String> {
        if !plan.algorithms.iter().any(|algorithm| algorithm.name() == MPI) {
            return Ok((Mpi(None), environment.clone()));
        }
        let rank = environment.rank;
        let library = Library::start().ok_or_else(|| blame(rank, "MPI was started before"))?;
        check(&library, environment).map_err(|what| blame(rank, what))?;
        let environment = meet(&library, environment).map_err(|what| blame(rank, what))?;
        Ok((Mpi(Some(library)), environment))
    }

    /// MPI's own broadcast among the ranks of `bootstrap`, the first of the job. Collective over these.
    pub fn open(&self, bootstrap: &dyn Bootstrap) -> Result<Box<dyn Contender + '_>, String> {
        let Some(library) = &self.0 else { return Err("MPI was not started".to_owned()) };
        let own = library.broadcasts_among(bootstrap.size());
        Ok(Box::new(Native::new(own.map_err(|error| blame(bootstrap.rank(), error))?)))
    }

    /// The library's name and version, if its broadcast is measured.
    pub fn version(&self) -> Option<String> {
        self.0.as_ref().map(|_| Library::version())
    }

    /// Ends MPI in good order. Collective.
    pub fn finish(self) {
        if let Mpi(Some(library)) = self {
            library.finish();
        }
    }
}

/// MPI and the environment must speak of the same ranks.
fn check(library: &Library, environment: &Environment) -> Result<(), String> {
    let Environment { rank, size, .. } = environment;
    let version = Library::version();
    if library.size() != *size {
        return Err(format!(
            "{version} sees {} of {size} ranks: start them with the launcher of this library, with which \
             this verbcast was built",
            library.size()
        ));
    }
    if library.rank() != *rank {
        return Err(format!(
            "is {} for {version}: leave VERBCAST_RANK to the launcher",
            library.rank()
        ));
    }
    Ok(())
}

/// This process's place in the job, with rank 0's rendezvous and token.
fn meet(library: &Library, environment: &Environment) -> Result<Environment, String> {
    let mut own = library.broadcasts_among(environment.size).map_err(|error| error.to_string())?;
    let is_one_node = own.is_one_node().map_err(|error| error.to_string())?;
    let place = match (environment.rank, &environment.rendezvous) {
        (Rank(0), None) => {
            place(is_one_node).and_then(|place| Ok(format!("{place}\n{}", random_secret()?)))
        }
        (_, Some(place)) => Ok(format!("{place}\n{}", environment.token)),
        (_, None) => Ok(String::new()),
    };
    let place = place.and_then(|place| match place.len() {
        ..=MAX_PLACE => Ok(place),
        len => Err(format!(
            "VERBCAST_RENDEZVOUS and VERBCAST_TOKEN have {len} bytes, of {MAX_PLACE} at most"
        )),
    });
    // Nobody shall wait for a rank 0 that has failed.
    let said = tell(&mut own, place.as_ref().map_or("", String::as_str))?;
    place?;
    own.close();
    let (place, token) =
        said.split_once('\n').ok_or_else(|| "rank 0 says nowhere to meet".to_owned())?;
    let rendezvous: Address =
        place.parse().map_err(|error| format!("rank 0's address: {error}"))?;
    let (rendezvous, token) = (Some(rendezvous), token.to_owned());
    Ok(Environment { rendezvous, token, ..environment.clone() })
}

/// Rank 0's text, of at most [`MAX_PLACE`] bytes. Collective.
fn tell(own: &mut OwnBroadcast<'_>, text: &str) -> Result<String, String> {
    let mut bytes = [0; MAX_PLACE];
    bytes[..text.len()].copy_from_slice(text.as_bytes());
    own.broadcast(Rank(0), &mut bytes).map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&bytes);
    Ok(text.trim_end_matches('\0').to_owned())
}

/// An address at this host with a port that is free now.
fn place(is_one_node: bool) -> Result<String, String> {
    let (at, host) = match is_one_node {
        true => ("127.0.0.1", Ok("127.0.0.1".to_owned())),
        false => ("0.0.0.0", fs::read_to_string("/proc/sys/kernel/hostname")),
    };
    let host = host.map_err(|error| format!("this host's name cannot be read: {error}"))?;
    let listener = TcpListener::bind((at, 0)).and_then(|listener| listener.local_addr());
    let free = listener.map_err(|error| format!("there is no free port: {error}"))?;
    Ok(format!("{}:{}", host.trim(), free.port()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_to_meet_can_be_read() {
        for is_one_node in [true, false] {
            let place = place(is_one_node).unwrap();
            let Ok(Address::Tcp { host, port }) = place.parse() else { panic!("{place}") };
            assert!(port > 0 && (host == "127.0.0.1") == is_one_node, "{place}");
        }
    }
}
