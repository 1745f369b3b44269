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

#[test]
fn each_block_beside_another_library_is_of_a_program_that_is_built() {
    let ours = file("runtime-smol/examples/sample-controller.rs").replace("pub(crate) ", "");
    for (page_of, language, theirs) in [
        ("controller_runtime", "go", "tests/peers/controller-runtime-sample/main.go"),
        ("kube", "rust,ignore", "tests/peers/kube-rs/src/main.rs"),
    ] {
        let page = page(&format!("runtime-smol/src/coming_from/{page_of}.md"));
        let theirs = file(theirs);
        let [of_them, of_both] = [language, "rust,ignore"].map(|language| blocks(&page, language));
        assert!(of_them.iter().any(|block| theirs.contains(block)) && of_both.iter().any(|block| ours.contains(block)));
        let stray = of_them.iter().chain(&of_both).find(|block| !theirs.contains(*block) && !ours.contains(*block));
        assert_eq!(stray, None, "a block of {page_of} is of neither program");
        assert_eq!(
            page.matches("```").count(),
            2 * page.matches("\n```go\n").count() + 2 * blocks(&page, "rust,ignore").len()
        );
    }
}

#[test]
fn the_page_of_the_command_says_how_it_is_installed_and_what_the_alias_is() {
    let command = page("runtime-smol/src/guide/command.md");
    assert!(command.contains("cargo install --locked --path runtime-smol/cli\n"));
    let aliases = file(".cargo/config.toml");
    assert!(aliases.contains("listwatch = \"run ") && command.contains("`cargo listwatch` is an alias of a checkout"));
}
