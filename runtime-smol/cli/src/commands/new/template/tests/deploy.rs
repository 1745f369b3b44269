//! What the operator is deployed with.

use widget_operator::definition;

#[test]
fn the_manifest_is_that_of_the_type() {
    let manifest = include_str!("../deploy/crd.yaml");
    assert_eq!(definition::crd().check(), Ok(()));
    let write = "write it anew: cargo run -- crd > deploy/crd.yaml";
    assert_eq!(definition::crd().to_string(), manifest, "{write}");
}
