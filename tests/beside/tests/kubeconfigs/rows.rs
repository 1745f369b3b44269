//! The rows: each choice of each dimension alone, and each pair of the usual choices of two dimensions.

use crate::kubeconfigs::draft::Draft;
use std::fmt;

/// A way to make one part of a kubeconfig.
pub(super) struct Choice {
    pub(super) name: &'static str,
    pub(super) apply: fn(&mut Draft<'_>),
    /// Whether it is combined with others.
    is_crossed: bool,
}

impl Choice {
    pub(super) const fn new(name: &'static str, apply: fn(&mut Draft<'_>)) -> Self {
        Self { name, apply, is_crossed: false }
    }

    pub(super) const fn crossed(self) -> Self {
        Self { is_crossed: true, ..self }
    }
}

/// A part of a kubeconfig, and its choices. The first one is that of every row that says nothing of it.
pub(super) struct Dimension {
    pub(super) name: &'static str,
    pub(super) choices: &'static [Choice],
}

/// One kubeconfig: a choice of each dimension.
pub(super) struct Row {
    pub(super) choices: Vec<&'static Choice>,
    /// Those that are not the first of their dimension.
    pub(super) special: Vec<&'static str>,
}

impl Row {
    fn new(dimensions: &[Dimension], special: &[(usize, &'static Choice)]) -> Self {
        let mut choices: Vec<&Choice> = dimensions.iter().map(|dimension| &dimension.choices[0]).collect();
        for (dimension, choice) in special {
            choices[*dimension] = choice;
        }
        Self { choices, special: special.iter().map(|(_, choice)| choice.name).collect() }
    }

    pub(super) fn has(&self, choice: &str) -> bool {
        self.choices.iter().any(|it| it.name == choice)
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&if self.special.is_empty() { "the usual".to_owned() } else { self.special.join(" + ") })
    }
}

pub(super) fn rows(dimensions: &[Dimension]) -> Vec<Row> {
    let mut rows = vec![Row::new(dimensions, &[])];
    let special = |dimension: usize| dimensions[dimension].choices[1..].iter().map(move |choice| (dimension, choice));
    for one in 0..dimensions.len() {
        rows.extend(special(one).map(|choice| Row::new(dimensions, &[choice])));
    }
    let crossed = |dimension| special(dimension).filter(|(_, choice)| choice.is_crossed);
    for one in 0..dimensions.len() {
        for other in one + 1..dimensions.len() {
            let pairs = crossed(one).flat_map(|choice| crossed(other).map(move |another| [choice, another]));
            rows.extend(pairs.map(|pair| Row::new(dimensions, &pair)));
        }
    }
    rows
}
