//! Names in Rust for fields.

use super::field::Field;
use crate::arguments::FieldPath;

/// The words that are no names. Those of later editions are among them.
const WORDS: &str = " as async await become box break const continue crate do dyn else enum extern false final fn for \
                     gen if impl in let loop macro match mod move mut override priv pub ref return self static struct \
                     super trait true try type typeof unsafe unsized use virtual where while yield ";

/// Each field with a name of its own.
pub(super) fn named(paths: Vec<FieldPath>) -> Vec<Field> {
    let mut fields = Vec::<Field>::new();
    for path in paths {
        let name = snake(&path.name());
        let numbered = |number: usize| if number < 2 { name.clone() } else { format!("{name}_{number}") };
        let is_free = |name: &String| !fields.iter().any(|field| field.name == *name);
        let name = (1..).map(numbered).find(is_free).unwrap_or_default();
        fields.push(Field::new(path, name));
    }
    fields
}

/// `node_name` for `nodeName`, and `zone` for `topology.kubernetes.io/zone`.
fn snake(name: &str) -> String {
    let name = name.rsplit('/').find(|name| !name.is_empty()).unwrap_or(name);
    let mut snake = String::new();
    let mut was_lower = false;
    for character in name.chars() {
        if was_lower && character.is_ascii_uppercase() {
            snake.push('_');
        }
        was_lower = character.is_ascii_lowercase() || character.is_ascii_digit();
        snake.push(if character.is_ascii_alphanumeric() { character.to_ascii_lowercase() } else { '_' });
    }
    let is_name = snake.starts_with(|first: char| first.is_ascii_lowercase());
    match () {
        () if !is_name => format!("field_{}", snake.trim_start_matches('_')),
        () if WORDS.contains(&format!(" {snake} ")) => snake + "_",
        () => snake,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_has_a_name_of_its_own_that_is_one_in_rust() {
        for (paths, names) in [
            (&["spec.nodeName", "status.nodeName", "a.nodeName"][..], &["node_name", "node_name_2", "node_name_3"][..]),
            (&["status.conditions[type=Ready].status"], &["ready_status"]),
            (&["metadata.labels['topology.kubernetes.io/zone']", "spec.type", "a['9']"], &["zone", "type_", "field_9"]),
            (&["status.podIP", "a['größe']", "a.b[0]", "a['/']"], &["pod_ip", "gr__e", "b", "field_"]),
        ] {
            let paths = paths.iter().map(|path| path.parse().unwrap()).collect();
            assert_eq!(named(paths).iter().map(|field| &*field.name).collect::<Vec<_>>(), names);
        }
    }
}
