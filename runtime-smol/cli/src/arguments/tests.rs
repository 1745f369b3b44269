use super::*;
use listwatch::fifo::Order;
use listwatch::file::Chunks;
use std::path::{Path, PathBuf};
use std::time::Duration;

fn parsed(arguments: &str) -> Result<Command, String> {
    let arguments = ["listwatch"].into_iter().chain(arguments.split_whitespace());
    parse(arguments.map(OsString::from)).map_err(|error| match error {
        NoCommand::Usage(message) => message,
        NoCommand::Help(text) | NoCommand::Version(text) => panic!("{text}"),
    })
}

#[test]
fn every_option_of_replay_is_taken() {
    let arguments = "replay x.jsonl --speed 10 --type meta --index label:app --index namespace --workers 8 --order key \
        --chunk 7 --print events --format json --skip-bad-lines";
    let Ok(Command::Replay(options)) = parsed(arguments) else { panic!("refused") };
    assert_eq!(options.file, PathBuf::from("x.jsonl"));
    assert!(options.speed == Speed::Times(core::num::NonZeroU32::new(10).unwrap()) && options.kind == Kind::Meta);
    assert!(options.indexes == [IndexBy::Label("app".into()), IndexBy::Namespace] && options.workers == 8);
    assert!(options.order == Order::ByKey && options.chunks() == Chunks::AtMost(7) && options.skip_bad_lines);
    assert!(options.print() == Some(Print::Events) && options.format == Format::Json);
}

#[test]
fn a_replay_without_options_has_the_defaults() {
    let Ok(Command::Replay(options)) = parsed("replay x.jsonl") else { panic!("refused") };
    assert!(options.speed == Speed::Max && options.kind == Kind::Raw && options.indexes.is_empty());
    assert!(options.workers == 2 && options.order == Order::Arrival && options.chunks() == Chunks::Recorded);
    assert!(
        options.print().is_none()
            && options.output.is_none()
            && options.against.is_empty()
            && options.format == Format::Table
            && !options.skip_bad_lines
    );
}

#[test]
fn a_program_that_replays_a_tape_has_its_own_arguments() {
    let words =
        ["listwatch", "replay", "x", "--against", "./a", "--against", "'./new build' --replay={} -v", "--within=5s"];
    let Ok(Command::Replay(options)) = parse(words.map(OsString::from)) else { panic!("refused") };
    let programs: Vec<_> = options.against.iter().map(|Program(words)| words.join("|")).collect();
    assert_eq!(
        (programs, options.within),
        (vec!["./a".to_owned(), "./new build|--replay={}|-v".to_owned()], Duration::from_secs(5))
    );
    for arguments in ["replay x --against a --print events", "replay x --against a --speed 1", "replay x --within 5s"] {
        assert!(parsed(arguments).is_err(), "{arguments}");
    }
    for program in ["", "''", "'a"] {
        assert!(parse(["listwatch", "replay", "x", "--against", program].map(OsString::from)).is_err(), "{program}");
    }
}

#[test]
fn every_option_of_serve_is_taken() {
    let arguments = "serve x.jsonl --at 1m30s --speed 0.5 --unattended --writable --port 0 --address ::1";
    let Ok(Command::Serve(options)) = parsed(arguments) else { panic!("refused") };
    assert_eq!((options.at, options.speed), (Some(Moment::After(Duration::from_secs(90))), Some(0.5)));
    assert!(options.unattended && options.writable && options.port == 0 && options.address.is_loopback());
    let date = "2026-11-22T02:00:00Z";
    let at = |text: &str| Moment::Date(text.parse().unwrap());
    for (text, moment) in [
        ("end", Moment::End),
        (date, at(date)),
        ("2026-11-22T02:00:00", at(date)),
        ("2026-11-22T02:00", at(date)),
        ("2026-11-22T03:00:00+01:00", at(date)),
        ("2026-11-22", at("2026-11-22T00:00:00Z")),
        ("02:00:05", Moment::TimeOfDay(Duration::from_secs(7_205))),
        ("14:30", Moment::TimeOfDay(Duration::from_secs(52_200))),
    ] {
        let Ok(Command::Serve(options)) = parsed(&format!("serve x.jsonl --at {text}")) else { panic!("refused") };
        assert_eq!((options.at, options.speed, options.port), (Some(moment), None, 8001));
    }
    for arguments in ["serve x.jsonl --at noon", "serve x.jsonl --speed 0", "serve x.jsonl --speed max"] {
        assert!(parsed(arguments).is_err(), "{arguments}");
    }
}

#[test]
fn a_recording_is_refused_whose_name_promises_a_compression_that_there_is_not() {
    for name in ["x.xz", "x.jsonl.BZ2", "x.zstd", "x.gzip"] {
        let Err(message) = parsed(&format!("record v1/pods -o {name}")) else { panic!("{name}") };
        assert!(message.contains("if its name ends in .zst (Zstandard) or .gz (gzip)"), "{message}");
    }
    for name in ["x.zst", "x.jsonl.gz", "x.jsonl", "x"] {
        assert!(parsed(&format!("record v1/pods -o {name}")).is_ok(), "{name}");
    }
}

#[test]
fn an_address_with_a_port_is_refused_with_the_port_option() {
    for (address, advice) in [
        ("127.0.0.1:8080", "the port has its own option: --address 127.0.0.1 --port 8080"),
        ("[::1]:80", "the port has its own option: --address ::1 --port 80"),
        ("localhost", "give an IP address such as 127.0.0.1 or ::1"),
    ] {
        let error = parsed(&format!("serve x.jsonl --address {address}")).err().unwrap();
        assert!(error.contains(advice), "{error}");
    }
}

#[test]
fn a_port_that_is_no_number_or_too_large_is_refused_with_what_it_may_be() {
    for port in ["80x", "70000", "-1"] {
        let error = parsed(&format!("serve x.jsonl --port={port}")).err().unwrap();
        assert!(error.contains("give a number from 0 to 65535"), "{error}");
    }
}

#[test]
fn every_option_of_watch_is_taken() {
    let arguments = "watch apps/v1/deployments --context c --kubeconfig k -n web -l app=a --field-selector x=y --type \
        value --print store --format json --show-secrets --no-watch-list --keep-trying --for 90s";
    let Ok(Command::Watch(WatchOptions { follow, print, output, format, show_secrets, .. })) = parsed(arguments) else {
        panic!("refused")
    };
    let ServerOptions { kubeconfig: file, context, .. } = follow.server.clone();
    assert!(file.as_deref() == Some("k".as_ref()) && context.as_deref() == Some("c"));
    assert_eq!(
        (&*follow.resources.concat(), follow.scope(Some("of-context"))),
        ("apps/v1/deployments", Scope::Given("web"))
    );
    assert_eq!((follow.labels.as_deref(), follow.fields.as_deref()), (Some("app=a"), Some("x=y")));
    assert!(follow.kind == Kind::Value && print == Print::Store);
    assert!(output.is_none() && format == Some(Format::Json) && show_secrets);
    assert!(follow.no_watch_list && follow.keep_trying);
    assert_eq!(follow.duration, Some(Duration::from_secs(90)));
}

#[test]
fn several_resources_are_separated_by_blanks_or_commas() {
    let Ok(Command::Watch(options)) = parsed("watch pods,services deploy/web") else { panic!("refused") };
    assert_eq!(options.follow.resources, ["pods", "services", "deploy/web"]);
}

#[test]
fn all_namespaces_are_watched_wherever_that_is_given() {
    for arguments in ["watch v1/pods -A -n web", "watch v1/pods -n web -A"] {
        let Ok(Command::Watch(options)) = parsed(arguments) else { panic!("refused") };
        assert_eq!(options.follow.scope(Some("of-context")), Scope::All, "{arguments}");
    }
}

#[test]
fn the_namespace_of_the_context_is_watched_unless_another_is_given() {
    let Ok(Command::Watch(options)) = parsed("watch pods") else { panic!("refused") };
    assert_eq!(options.follow.scope(Some("of-context")), Scope::OfContext("of-context"));
    assert_eq!(options.follow.scope(None), Scope::All);
}

#[test]
fn a_record_has_a_file_and_prints_nothing_else() {
    let Ok(Command::Record(options)) = parsed("record v1/secrets -o s.jsonl.gz --include-secrets --server http://x")
    else {
        panic!("refused")
    };
    assert!(*options.output == *Path::new("s.jsonl.gz") && options.include_secrets && options.print.is_none());
    assert_eq!(options.follow.server.server.as_deref(), Some("http://x"));
}

#[test]
fn of_an_option_that_is_given_again_the_last_value_counts() {
    let arguments =
        "watch v1/pods --print store --for 1m --keep-trying --print=events --for 2m -nweb -n=other --keep-trying";
    let Ok(Command::Watch(options)) = parsed(arguments) else { panic!("refused") };
    assert!(options.print == Print::Events && options.follow.duration == Some(Duration::from_secs(120)));
    assert_eq!(options.follow.scope(None), Scope::Given("other"));
}

#[test]
fn a_time_is_seconds_or_numbers_with_units() {
    let minute = 60;
    for (text, seconds) in
        [("0", 0), ("90", 90), ("90s", 90), ("10m", 10 * minute), ("1h30m", 90 * minute), ("2d", 2 * 24 * 60 * minute)]
    {
        let Ok(Command::Watch(options)) = parsed(&format!("watch a --for {text}")) else { panic!("{text}") };
        assert_eq!(options.follow.duration, Some(Duration::from_secs(seconds)), "{text}");
    }
}

#[test]
fn wrong_arguments_are_reported_in_one_line() {
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
        "watch a,",
        "watch a -o file",
        "watch a -o json --format json",
        "watch a --server http://x --context c",
        "watch a --for ever",
        "watch a --for=-5m",
        "watch a -n a/secrets?x=/",
        "watch a -n ..",
        "watch a -n Default",
        "record a",
        "record a -o",
        "completions",
        "completions tcsh",
    ];
    for arguments in bad {
        let error = parsed(arguments).err().unwrap_or_else(|| panic!("{arguments:?} was taken"));
        assert!(!error.contains('\n'), "{arguments:?}: {error}");
        let command = arguments.split(' ').next().unwrap();
        let known = ["watch", "record", "replay", "completions"].contains(&command);
        let help = if known { format!("`listwatch {command} --help`") } else { "`listwatch --help`".to_owned() };
        assert!(error.ends_with(&format!("; see {help}")), "{arguments:?}: {error}");
    }
}

#[test]
fn a_misspelt_word_is_reported_with_the_word_that_was_meant() {
    for (arguments, meant) in [
        ("wach pods", "watch"),
        ("watch pods --namspace web", "--namespace"),
        ("watch pods --print event", "events"),
        ("replay x --speeed 1", "--speed"),
    ] {
        let error = parsed(arguments).err().unwrap();
        assert!(error.contains(&format!(" (did you mean `{meant}`?)")), "{error}");
    }
}

#[test]
fn output_as_json_is_asked_for_as_kubectl_does() {
    let Ok(Command::Replay(options)) = parsed("replay x -o json --show-secrets") else { panic!("refused") };
    assert!(options.output == Some(Output::Json) && options.show_secrets && options.print() == Some(Print::Events));
    for arguments in ["watch pods -o json", "watch pods -ojson", "watch pods --output=json"] {
        let Ok(Command::Watch(options)) = parsed(arguments) else { panic!("refused") };
        assert!(options.output == Some(Output::Json) && options.format.is_none(), "{arguments}");
    }
}

#[test]
fn a_help_names_the_program_listwatch_whatever_its_first_argument_is() {
    let Err(NoCommand::Help(help)) = parse(["/bin/\u{1b}[2J", "help", "watch"].map(OsString::from)) else {
        panic!("no help")
    };
    assert!(help.contains("Usage: listwatch watch "), "{help:?}");
}

#[test]
fn no_message_about_arguments_echoes_a_password_or_a_token() {
    let token = "eyJhbGciOiJSUzI1NiIsImtpZCI6IkhVTlRFUjIifQ.eyJzdWIiOiJodW50ZXIyIn0.aHVudGVyMg";
    for arguments in [
        "http://me:hunter2@host",
        "watch v1/pods http://me:hunter2@host",
        "watch v1/pods --sever=http://me:hunter2@host",
        "watch v1/pods --type http://me:hunter2@host",
        "watch v1/pods --for http://me:hunter2@host",
        "watch v1/pods --token=hunter2 --for ever",
        "watch v1/pods --token hunter2 --token",
        "watch v1/pods --token hunter2 --server http://x --context c",
        "watch v1/pods --server http://me:hunter2@host --context c",
        &format!("watch v1/pods {token}"),
        &format!("watch v1/pods -n {token}"),
    ] {
        let error = parsed(arguments).err().unwrap_or_else(|| panic!("{arguments:?} was taken"));
        assert!(!error.contains("hunter2") && !error.contains(token), "{error}");
    }
}
