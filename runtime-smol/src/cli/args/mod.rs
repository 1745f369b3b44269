//! What the user asks for.

mod help;
mod replay;
mod values;
mod watch;

pub(crate) use help::HELP;
pub(crate) use replay::{IndexBy, ReplayOptions, Speed};
pub(crate) use values::{Format, Kind, Print};
pub(crate) use watch::{Server, WatchOptions};

use lexopt::{Arg, Parser};

pub(crate) enum Command {
    Help,
    Version,
    Replay(ReplayOptions),
    Watch(WatchOptions),
}

/// Reads the command line.
///
/// # Errors
/// Where it is wrong: what, in one line.
pub(crate) fn parse(mut parser: Parser) -> Result<Command, lexopt::Error> {
    match parser.next()? {
        Some(Arg::Short('h') | Arg::Long("help")) | None => Ok(Command::Help),
        Some(Arg::Short('V') | Arg::Long("version")) => Ok(Command::Version),
        Some(Arg::Value(name)) => match name.to_str() {
            Some("help") => Ok(Command::Help),
            Some("replay") => replay::replay(parser),
            Some("watch") => watch::watch(parser),
            Some("record") => watch::record(parser),
            _ => Err(format!("there is no command {name:?}").into()),
        },
        Some(arg) => Err(arg.unexpected()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use listwatch_runtime_smol::fifo::Order;
    use listwatch_runtime_smol::file::Chunks;

    fn parsed(args: &str) -> Result<Command, String> {
        parse(Parser::from_args(args.split_whitespace())).map_err(|error| error.to_string())
    }

    #[test]
    fn every_option_of_replay_is_taken() {
        let args = "replay x.jsonl --speed 10 --type meta --index label:app --index namespace --workers 8 --order key \
            --chunk 7 --print events --format json --skip-bad-lines";
        let Ok(Command::Replay(options)) = parsed(args) else { panic!("refused") };
        assert_eq!(options.file, std::path::PathBuf::from("x.jsonl"));
        assert!(options.speed == Speed::Times(core::num::NonZeroU32::new(10).unwrap()) && options.kind == Kind::Meta);
        assert!(options.indexes == [IndexBy::Label("app".into()), IndexBy::Namespace] && options.workers == 8);
        assert!(options.order == Order::ByKey && options.chunks == Chunks::AtMost(7) && options.skip_bad_lines);
        assert!(options.print == Print::Events && options.format == Format::Json);
    }

    #[test]
    fn every_option_of_watch_is_taken() {
        let args = "watch apps/v1/deployments --context c --kubeconfig k -n web -l app=a --field-selector x=y --type \
            value --print store --format json --no-watch-list --keep-trying --for 90s";
        let Ok(Command::Watch(options)) = parsed(args) else { panic!("refused") };
        let Server::Kubeconfig { file, context } = &options.server else { panic!("not from a kubeconfig") };
        assert!(file.as_deref() == Some("k".as_ref()) && context.as_deref() == Some("c"));
        assert_eq!((&*options.resource, options.namespace.as_deref()), ("apps/v1/deployments", Some("web")));
        assert_eq!((options.labels.as_deref(), options.fields.as_deref()), (Some("app=a"), Some("x=y")));
        assert!(options.kind == Kind::Value && options.print == Print::Store && options.format == Format::Json);
        assert!(!options.watch_list && options.keep_trying);
        assert_eq!(options.duration, Some(core::time::Duration::from_secs(90)));
        assert!(options.record.is_none());
    }

    #[test]
    fn all_namespaces_are_all_wherever_that_is_said() {
        for args in ["watch v1/pods -A -n web", "watch v1/pods -n web -A"] {
            let Ok(Command::Watch(options)) = parsed(args) else { panic!("refused") };
            assert_eq!(options.namespace, None, "{args}");
        }
    }

    #[test]
    fn a_record_has_a_file_and_prints_nothing_else() {
        let Ok(Command::Watch(options)) = parsed("record v1/secrets -o s.jsonl.gz --include-secrets --server http://x")
        else {
            panic!("refused")
        };
        assert!(options.record.as_deref() == Some("s.jsonl.gz".as_ref()) && options.include_secrets);
        assert!(options.print == Print::Nothing && matches!(options.server, Server::At(url) if url == "http://x"));
    }

    #[test]
    fn what_is_wrong_is_said_in_one_line() {
        let bad = [
            "replay",
            "replay a b",
            "reply a",
            "replay a --speed 0",
            "--quick",
            "replay a --type pod",
            "replay a --index label:",
            "replay a --chunk 0",
            "replay a --workers",
            "watch",
            "watch a b",
            "watch a -o file",
            "watch a --server http://x --context c",
            "watch a --for ever",
            "watch a -n a/secrets?x=/",
            "watch a -n ..",
            "watch a -n Default",
            "record a",
            "record a -o",
        ];
        for args in bad {
            let error = parsed(args).err().unwrap_or_else(|| panic!("{args:?} was taken"));
            assert!(!error.is_empty() && !error.contains('\n'), "{args:?}: {error}");
        }
    }
}
