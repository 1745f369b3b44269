//! `listwatch new`: an operator in a new folder.

mod names;
mod template;
mod texts;

use crate::arguments::NewOptions;
use crate::error::CommandError;
use crate::output;
use names::Names;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use template::{Source, files};

/// Makes the folder and its files.
///
/// # Errors
/// A name does not fit, the folder is there already, or a file cannot be written.
pub(super) fn new(options: &NewOptions) -> Result<(), CommandError> {
    let names = Names::of(options)?;
    let source = options.listwatch.as_deref().map_or(Ok(Source::Published), Source::checkout)?;
    let folder = options.path.join(&names.name);
    fs::create_dir(&folder).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => CommandError::Unfit(folder.clone(), "is there already".to_owned()),
        _ => CommandError::Unwritten(folder.clone(), error),
    })?;
    for (path, text) in files(&names, &source) {
        write(&folder.join(path), &text)?;
    }
    let Names { name, kind, plural, group, .. } = &names;
    let text = format!(
        "{name} is an operator of the kind {kind} ({plural}.{group}). To run it on the cluster of your kubeconfig:\n\n  \
         cd {name}\n  kubectl apply -f deploy/crd.yaml\n  cargo run\n\nREADME.md says how to go on.\n"
    );
    output::print(text.as_bytes()).map_err(CommandError::Output)
}

fn write(path: &Path, text: &str) -> Result<(), CommandError> {
    let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
    let written = folder.and_then(|()| fs::write(path, text));
    written.map_err(|error| CommandError::Unwritten(path.to_owned(), error))
}
