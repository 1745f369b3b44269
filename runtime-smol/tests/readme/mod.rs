//! The programs of the README, as one file, and its tests; and the program of the page about operation.

#[rustfmt::skip]
#[expect(dead_code, reason = "its `main` is not run")]
mod program;

#[rustfmt::skip]
#[expect(dead_code, reason = "its `main` is not run")]
mod operated {
    include!("operated.rs");

    #[test]
    fn the_operated_controller_of_the_page_leads_and_is_scraped() -> Result<(), Box<dyn std::error::Error>> {
        let (cluster, metrics) = (listwatch::testing::SimulatedCluster::new(), Metrics::new());
        cluster.create(serde_json::json!({ "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": "a", "namespace": "web" } }))?;
        let endpoint = Endpoint::builder(&metrics).start(0)?;
        let (world, address) = (World::from(cluster), endpoint.address());
        let clock = world.clock().clone();
        let scraped = world.try_until(async move {
            clock.sleep(Duration::from_secs(60)).await;
            let mut socket = std::net::TcpStream::connect(address)?;
            std::io::Write::write_all(&mut socket, b"GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n")?;
            let text = std::io::read_to_string(socket)?;
            assert!(text.contains("leader_election_master_status{name=\"default/printer\"} 1"), "{text}");
            let reconciles = "controller_runtime_reconcile_total{controller=\"printer\",result=\"success\"} 1";
            assert!(text.contains(reconciles), "{text}");
            Ok(())
        });
        Ok(operated(scraped, &metrics)?)
    }
}

use listwatch_tests::readme::{blocks, page, text};
use std::path::Path;

fn file(path: &str) -> String {
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    std::fs::read_to_string(checkout.join(path)).unwrap()
}

/// Compares a program with the file that is compiled here. `LISTWATCH_WRITE_TABLES=1` writes the file.
#[track_caller]
fn check(name: &str, program: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/readme").join(name);
    if std::env::var_os("LISTWATCH_WRITE_TABLES").is_some() {
        std::fs::write(path, program).unwrap();
        return;
    }
    assert_eq!(std::fs::read_to_string(path).unwrap(), program, "LISTWATCH_WRITE_TABLES=1 cargo test writes it anew");
}

#[test]
fn the_programs_of_the_readme_are_those_that_are_tested_here() {
    let readme = text();
    assert!(!readme.contains("```rust,"), "a program that is not built here");
    check("program.rs", &blocks(&readme, "rust").join("\n"));
    let operate = page("runtime-smol/src/guide/operate.md");
    check("operated.rs", &blocks(&operate, "rust,no_run").join("\n"));
}

#[test]
fn the_controller_of_the_readme_is_the_example() {
    let readme = text();
    let example = file("runtime-smol/examples/sample-controller.rs");
    let program = example.lines().skip_while(|line| line.starts_with("//!") || line.is_empty());
    // What the tests of the example need.
    let program = program.collect::<Vec<_>>().join("\n").replace("pub(crate) ", "");
    assert_eq!(blocks(&readme, "rust")[0].trim_end(), program);
}

/// The blocks of a page that are in none of these files.
fn strays(page: &str, languages: &[&str], files: &[&str]) -> Vec<String> {
    let files: Vec<_> = files.iter().map(|path| file(path).replace("pub(crate) ", "")).collect();
    let blocks: Vec<_> = languages.iter().flat_map(|language| blocks(page, language)).collect();
    assert_eq!(2 * blocks.len(), page.matches("```").count(), "a block of another language");
    assert!(files.iter().all(|file| blocks.iter().any(|block| file.contains(block))), "a file is not shown");
    let is_stray = |block: &&&str| !files.iter().any(|file| file.contains(**block));
    blocks.iter().filter(is_stray).map(|block| (*block).to_owned()).collect()
}

#[test]
fn each_block_beside_another_library_is_of_a_program_that_is_built() {
    const OURS: &str = "runtime-smol/examples/sample-controller.rs";
    let controller_runtime = page("runtime-smol/src/coming_from/controller_runtime.md");
    let theirs = "tests/peers/controller-runtime-sample/main.go";
    assert_eq!(strays(&controller_runtime, &["go", "rust,ignore"], &[OURS, theirs]), [""; 0]);
    let kube = page("runtime-smol/src/coming_from/kube.md");
    assert_eq!(strays(&kube, &["rust,ignore"], &[OURS, "tests/peers/kube-rs/src/main.rs"]), [""; 0]);
}

#[test]
fn each_block_on_the_way_to_production_is_of_the_operator_that_is_made() {
    let files = ["src/controller.rs", "src/definition.rs", "src/main.rs", "tests/explore.rs"];
    let files = files.map(|file| format!("runtime-smol/cli/src/commands/new/template/{file}"));
    let production = page("runtime-smol/src/guide/production.md");
    assert_eq!(strays(&production, &["rust,ignore"], &files.each_ref().map(String::as_str)), [""; 0]);
}

#[test]
fn the_page_of_the_command_says_how_it_is_installed_and_what_the_alias_is() {
    let command = page("runtime-smol/src/guide/command.md");
    assert!(command.contains("cargo install --locked --path runtime-smol/cli\n"));
    let aliases = file(".cargo/config.toml");
    assert!(aliases.contains("listwatch = \"run ") && command.contains("`cargo listwatch` is an alias of a checkout"));
}
