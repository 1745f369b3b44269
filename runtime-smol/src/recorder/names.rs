//! The names under which a controller reports.

use crate::election::host;
use listwatch_core::recorder::RecorderConfig;

/// In bytes, by `ValidateEventCreate` (kube-apiserver).
const LONGEST_INSTANCE: usize = 128;
/// The characters of a label's name.
const LONGEST_NAME: usize = 63;

/// The recorder of a controller. Any name becomes one that a server takes, so that no name keeps a controller from its
/// start.
pub(crate) fn config_for(controller: &str, seed: u64, is_simulated: bool) -> RecorderConfig {
    let name = reporting(controller);
    let host = if is_simulated { "simulated".to_owned() } else { host() };
    let mut instance = format!("{name}-{host}");
    let end = (0..=LONGEST_INSTANCE.min(instance.len())).rev().find(|end| instance.is_char_boundary(*end));
    instance.truncate(end.unwrap_or_default());
    let mut config = RecorderConfig::new(name, instance);
    config.seed = seed;
    config
}

/// The name as `reportingController`: what a server would refuse becomes `-`.
fn reporting(controller: &str) -> String {
    if RecorderConfig::new(controller, "instance").check().is_ok() {
        return controller.to_owned();
    }
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let replaced = controller.chars().map(|c| if is_allowed(c) { c } else { '-' });
    let name: String = replaced.skip_while(|c| !c.is_ascii_alphanumeric()).take(LONGEST_NAME).collect();
    let name = name.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
    if name.is_empty() { "listwatch".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_of_a_controller_becomes_one_that_a_server_takes() {
        let long = "x".repeat(500);
        let names = ["foo", "example.com/foo", "my controller", "", "…", "-a-", "a/b/c", "ü", "\u{1b}[31m", &long];
        for name in names {
            let config = config_for(name, 7, true);
            assert_eq!(config.check(), Ok(()), "{name:?}: {config:?}");
        }
        assert_eq!(config_for("example.com/foo", 7, true).controller, "example.com/foo");
        assert_eq!(config_for("my controller", 7, true).controller, "my-controller");
        assert_eq!(config_for("foo", 7, true).instance, "foo-simulated");
    }
}
