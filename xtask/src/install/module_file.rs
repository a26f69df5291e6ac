//! What `module load verbcast` does, for Environment Modules and Lmod.

use std::path::Path;

/// In Tcl, which both read.
pub fn text(prefix: &Path, version: &str) -> String {
    let prefix = prefix.display();
    format!(
        "#%Module1.0
proc ModulesHelp {{ }} {{
    puts stderr \"verbcast {version}: reliable broadcast over InfiniBand hardware multicast\"
    puts stderr \"An MPI program: srun --mpi=pmix verbcast preload ./program; see man verbcast-preload\"
}}
module-whatis \"Reliable broadcast over InfiniBand hardware multicast\"
conflict verbcast

prepend-path PATH {prefix}/bin
prepend-path MANPATH {prefix}/share/man
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_below_the_prefix() {
        let text = text(Path::new("/opt/verbcast/0.1.0"), "0.1.0");
        assert!(text.starts_with("#%Module1.0\n"), "{text}");
        assert!(text.contains("\nprepend-path PATH /opt/verbcast/0.1.0/bin\n"), "{text}");
        assert!(text.contains("proc ModulesHelp { } {\n"), "{text}");
    }
}
