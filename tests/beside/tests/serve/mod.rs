//! `listwatch serve`, followed by client-go and kubectl, and on demand by kube-rs.

#[path = "../../../../runtime-smol/cli/tests/serve/child.rs"]
mod child;
mod followers;
mod kubectl;
#[expect(dead_code, reason = "the command's own tests have it too, and need more of it")]
#[path = "../../../../runtime-smol/cli/tests/serve/serving.rs"]
mod serving;
