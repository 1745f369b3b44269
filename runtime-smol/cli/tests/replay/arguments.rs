//! The help, the version, wrong arguments, and the scripts that complete arguments.

use crate::command::{command, listwatch, run};

/// Each command that has options, and its options.
const OPTIONS: [(&str, &[&str]); 3] = [
    ("watch", &FOLLOWING),
    ("record", &["--output <FILE>", "--include-secrets", "--namespace <NAMESPACE>", "--for <TIME>", "--print <PRINT>"]),
    (
        "replay",
        &[
            "--speed <1|N|max>",
            "--resource <NAME>",
            "--chunk <BYTES>",
            "--skip-bad-lines",
            "--type <TYPE>",
            "--order <ORDER>",
            "--index <INDEX>",
            "--workers <N>",
            "--suggest-capacities",
            "--field <PATH>",
            "--print <PRINT>",
            "--format <FORMAT>",
        ],
    ),
];

const FOLLOWING: [&str; 13] = [
    "--context <CONTEXT>",
    "--kubeconfig <FILE>",
    "--server <URL>",
    "--namespace <NAMESPACE>",
    "--all-namespaces",
    "--selector <SELECTOR>",
    "--field-selector <SELECTOR>",
    "--type <TYPE>",
    "--no-watch-list",
    "--keep-trying",
    "--for <TIME>",
    "--print <PRINT>",
    "--format <FORMAT>",
];

/// `kubectl` and `cargo` do so too.
#[test]
fn help_is_printed_for_any_of_its_names_and_without_arguments() {
    let help = listwatch("").output();
    for arguments in ["--help", "-h", "help"] {
        assert_eq!(listwatch(arguments).output(), help, "{arguments}");
    }
    for command in ["watch", "record", "replay", "completions", "help"] {
        assert!(help.contains(&format!("\n  {command}  ")), "{command} is not listed: {help}");
    }
    assert!(help.contains("\nExamples:\n") && help.contains("\nExit status:\n"), "{help}");
    assert_eq!(listwatch("--version").output(), concat!("listwatch ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn each_command_has_a_help_of_its_own_with_options_and_examples() {
    for (command, options) in OPTIONS {
        let help = listwatch(&format!("help {command}")).output();
        for arguments in ["--help", "-h", "x --help", "x -h"] {
            assert_eq!(listwatch(&format!("{command} {arguments}")).output(), help, "{command} {arguments}");
        }
        for option in options {
            assert!(help.contains(option), "{command}: {option} is not listed: {help}");
        }
        let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
        for values in ["raw, meta, value", "events, store", "table, json"] {
            assert!(words.contains(&format!("[possible values: {values}]")), "{command}: {values}: {help}");
        }
        assert!(help.contains(&format!("\nExamples:\n  listwatch {command} ")), "{help}");
    }
}

/// At 80 columns and at more, each line is broken once: what comes next would not have fit.
#[test]
fn every_help_fits_a_terminal_and_fills_its_lines() {
    for (subcommand, columns) in ["", "watch", "record", "replay", "serve", "completions"]
        .into_iter()
        .flat_map(|subcommand| [80, 100].map(|columns| (subcommand, columns)))
    {
        let mut help = command(["help", subcommand].into_iter().filter(|word| !word.is_empty()));
        help.env("COLUMNS", columns.to_string());
        let help = run(help).output();
        assert!(help.lines().all(|line| line.chars().count() <= columns), "{help}");
        let lines: Vec<&str> = help.lines().collect();
        for (line, next) in lines.iter().zip(&lines[1..]) {
            let is_prose = |line: &str| line.starts_with(|first: char| first.is_ascii_alphabetic());
            let first = next.split(' ').next().unwrap_or_default();
            let fits = line.chars().count() + 1 + first.chars().count() <= columns;
            assert!(!(fits && is_prose(line) && is_prose(next)), "{subcommand} {columns}: {line:?}, {next:?}");
        }
    }
}

#[test]
fn a_resource_behind_the_recording_is_answered_with_its_option() {
    let error = "unexpected argument `pods` (for one of the recorded resources, give --resource NAME); see \
                 `listwatch replay --help`";
    assert_eq!(listwatch("replay x pods").error(2), error);
}

#[test]
fn wrong_usage_is_reported_in_one_line() {
    for arguments in [
        "reply x",
        "--quick",
        "replay",
        "replay a b",
        "replay a --speed 0",
        "replay a --speed fast",
        "replay a --type pod",
        "replay a --index label:",
        "replay a --index",
        "replay a --workers 0",
        "replay a --order name",
        "replay a --chunk -1",
        "replay a --print all",
        "replay a --format yaml",
        "replay a --skip-bad-lines=yes",
        "replay a --follow",
        "completions",
        "completions tcsh",
    ] {
        let run = listwatch(arguments);
        assert!(run.error(2).ends_with(" --help`"), "{}", run.stderr);
        assert_eq!(run.stdout, "", "{arguments}");
    }
}

#[test]
fn a_misspelt_command_is_reported_with_the_right_one() {
    let run = listwatch("wacth pods");
    assert_eq!(run.error(2), "unknown command `wacth` (did you mean `watch`?); see `listwatch --help`");
}

#[cfg(unix)]
#[test]
fn the_script_for_bash_completes_commands_options_and_values() {
    let script = listwatch("completions bash").output();
    let checked = bash(&["-n"], &script);
    assert_eq!((checked.status, &*checked.stderr), (Some(0), ""));
    for (words, completed) in [
        ("listwatch wat", "watch"),
        ("listwatch rec", "record"),
        ("listwatch watch pods --names", "--namespace"),
        ("listwatch replay x --format js", "json"),
    ] {
        let last = words.split(' ').next_back().unwrap();
        let completing = format!(
            "{script}\nCOMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))\n\
             _listwatch listwatch {last} \"${{COMP_WORDS[COMP_CWORD - 1]}}\"\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"\n"
        );
        let run = bash(&["--norc"], &completing);
        assert_eq!((&*run.stdout, &*run.stderr), (&*format!("{completed}\n"), ""), "{words}");
    }
}

#[test]
fn there_is_a_script_for_each_shell() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = listwatch(&format!("completions {shell}")).output();
        for word in ["watch", "record", "replay", "skip-bad-lines"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
}

/// Runs a script that it reads from its standard input.
#[cfg(unix)]
fn bash(arguments: &[&str], script: &str) -> crate::command::Run {
    let file = listwatch_tests::scratch::Scratch::new(script);
    let mut bash = std::process::Command::new("bash");
    bash.args(arguments).stdin(std::fs::File::open(&file).unwrap());
    run(bash)
}
