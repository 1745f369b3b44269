//! `listwatch completions`.

use clap::Args;
use clap_complete::Shell;

const EXAMPLES: &str = "\
Examples:
  source <(listwatch completions bash)    # in ~/.bashrc
  listwatch completions zsh > \"${fpath[1]}/_listwatch\"
  listwatch completions fish > ~/.config/fish/completions/listwatch.fish";

/// Print a script that completes the arguments of listwatch in a shell
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CompletionsOptions {
    /// The shell that reads the script
    pub(crate) shell: Shell,
}
