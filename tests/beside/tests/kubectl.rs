//! kubectl, as the release of the tests' control plane has it.

use listwatch_tests::control_plane;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// kubectl, built by Go once a run; `None`, loudly, where there is no Go.
pub(crate) fn kubectl() -> Option<&'static Path> {
    static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();
    let build = || {
        let program = control_plane::program()?;
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kubectl");
        fs::create_dir_all(&folder).unwrap();
        // Another run may use the link, or make it, too.
        let (link, made) = (folder.join("kubectl"), folder.join(std::process::id().to_string()));
        fs::hard_link(program, &made).unwrap();
        fs::rename(&made, &link).unwrap();
        // If both were the same file, nothing was renamed.
        let _is_not_there = fs::remove_file(made);
        Some(link)
    };
    PROGRAM.get_or_init(build).as_deref()
}
