//! From names on the command line to routings and schemes.

use super::args::{NumberingName, RoutingName, SchemeArgs, SchemeName, UnicastArgs};
use super::source::switches;
use crate::failure::Failure;
use verbcast_fabric::opensm::{Engine, Options, unicast_tables};
use verbcast_fabric::{
    Lids, Numbering, Routing, RoutingError, Scheme, SchemeError, Shape, ShapedTopology,
    UnicastTables,
};

impl UnicastArgs {
    /// The unicast tables that are asked for, and what they are called.
    pub fn tables(
        &self,
        loaded: &ShapedTopology,
    ) -> Result<(UnicastTables, &'static str), Failure> {
        let shape = loaded.shape();
        let routing = self.routing.map_or(Routing::of(shape), Routing::from);
        if !self.roots.is_empty() {
            return Ok((self.below_roots(loaded, routing)?, routing.name(shape)));
        }
        let numbering = match self.numbering {
            NumberingName::Aligned => Numbering::Aligned,
            NumberingName::Paper => Numbering::Paper,
        };
        let tables = routing.tables(loaded, numbering).map_err(|error| match (routing, shape) {
            (Routing::Paper, Shape::FatTree(_)) if Lids::consecutive(loaded.topology()).is_ok() => {
                Failure::new(format!(
                    "--routing paper has several LIDs for each host, and there are not enough ({error}); try --routing \
                     d-mod-k, which has one"
                ))
            }
            _ => Failure::from(error),
        })?;
        Ok((tables, routing.name(shape)))
    }

    /// OpenSM's updn with given roots.
    fn below_roots(
        &self,
        loaded: &ShapedTopology,
        routing: Routing,
    ) -> Result<UnicastTables, Failure> {
        let Routing::OpenSm(engine @ Engine::UpDown) = routing else {
            return Err(Failure::usage("--roots: only updn has roots; add --routing updn"));
        };
        let topology = loaded.topology();
        let roots = switches(topology, "--roots", &self.roots)?;
        let lids = Lids::consecutive(topology).map_err(Failure::new)?;
        let options = Options { roots: &roots, ..Options::default() };
        unicast_tables(topology, &lids, engine, options).map_err(Failure::new)
    }
}

impl SchemeArgs {
    /// The scheme that is asked for, or that of the shape.
    pub fn choose(&self, shape: Shape) -> Scheme {
        self.scheme.map_or(Scheme::of(shape), Scheme::from)
    }
}

/// Refuses a source that the scheme's tables for this group would be of no use to.
pub fn check_sender(
    loaded: &ShapedTopology,
    scheme: Scheme,
    group: &[u32],
    source: u32,
) -> Result<(), Failure> {
    // Pruned trees take the source in as one that only sends.
    if scheme != Scheme::OpenSm || group.contains(&source) {
        return Ok(());
    }
    let host = loaded.host_name(source);
    Err(Failure::usage(format!(
        "--scheme opensm: {host} sends, and is not in --group; OpenSM has trees for members only: add {host} to --group, or \
         take --scheme omnipath, whose tree takes packets from everybody"
    )))
}

impl From<RoutingName> for Routing {
    fn from(name: RoutingName) -> Routing {
        match name {
            RoutingName::Paper => Routing::Paper,
            RoutingName::DModK => Routing::DModK,
            RoutingName::Minhop => Routing::OpenSm(Engine::MinHop),
            RoutingName::Updn => Routing::OpenSm(Engine::UpDown),
            RoutingName::Ftree => Routing::OpenSm(Engine::FatTree),
            RoutingName::Dor => Routing::OpenSm(Engine::Dor),
        }
    }
}

impl From<SchemeName> for Scheme {
    fn from(name: SchemeName) -> Scheme {
        match name {
            SchemeName::Cyclic => Scheme::Cyclic,
            SchemeName::Xy => Scheme::Xy,
            SchemeName::Literal => Scheme::Literal,
            SchemeName::Opensm => Scheme::OpenSm,
            SchemeName::Omnipath => Scheme::OmniPath,
            SchemeName::OmnipathPruned => Scheme::OmniPathPruned,
        }
    }
}

impl From<RoutingError> for Failure {
    fn from(error: RoutingError) -> Failure {
        match error {
            RoutingError::Shape(Routing::DModK) => {
                Failure::usage("--routing d-mod-k: only fat trees have it; try --routing minhop")
            }
            RoutingError::Shape(_) => Failure::usage(
                "--routing paper: only fat trees and meshes have one; try --routing minhop",
            ),
            error => Failure::new(error),
        }
    }
}

impl From<SchemeError> for Failure {
    fn from(error: SchemeError) -> Failure {
        match error {
            SchemeError::Shape(_) => Failure::usage(format!("--scheme {error}")),
            error => Failure::new(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;

    #[test]
    fn the_command_names_the_schemes_as_the_library_does() {
        let names = SchemeName::value_variants().iter().map(|name| {
            let value = name.to_possible_value().unwrap();
            assert_eq!(Scheme::from(*name).name(), value.get_name());
            Scheme::from(*name)
        });
        assert_eq!(names.collect::<Vec<_>>(), Scheme::ALL);
    }
}
