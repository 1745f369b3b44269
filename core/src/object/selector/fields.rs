//! Selectors as fields of objects.

use super::{LabelSelector, Requirement, Test, is_qualified_name, is_value};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The fields of `metav1.LabelSelector`.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Fields {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    match_labels: Option<BTreeMap<String, String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    match_expressions: Option<Vec<Expression>>,
}

#[derive(Deserialize, Serialize)]
struct Expression {
    key: String,
    operator: Operator,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    values: Option<Vec<String>>,
}

#[derive(Clone, Copy, PartialEq, Deserialize, Serialize)]
enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
}

/// Reads `matchLabels` and `matchExpressions` (apimachinery `LabelSelectorAsSelector`). One that the server refuses is an
/// error.
impl<'de> Deserialize<'de> for LabelSelector {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields = Fields::deserialize(deserializer)?;
        let mut selector = Self::from_labels(fields.match_labels.unwrap_or_default()).map_err(D::Error::custom)?;
        for expression in fields.match_expressions.into_iter().flatten() {
            selector.requirements.push(expression.requirement().map_err(D::Error::custom)?);
        }
        Ok(selector)
    }
}

/// Writes what [`deserialize`](Deserialize) reads: a label of one value into `matchLabels`, and the rest into
/// `matchExpressions`. A comparison has no such form, and is an error.
impl Serialize for LabelSelector {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (mut labels, mut expressions) = (BTreeMap::new(), Vec::new());
        for requirement in &self.requirements {
            match &requirement.test {
                Test::In(values) if values.len() == 1 && !labels.contains_key(&*requirement.label) => {
                    labels.insert(requirement.label.to_string(), values[0].to_string());
                }
                _ => expressions.push(Expression::of(requirement).map_err(S::Error::custom)?),
            }
        }
        let match_labels = Some(labels).filter(|labels| !labels.is_empty());
        let match_expressions = Some(expressions).filter(|all| !all.is_empty());
        Fields { match_labels, match_expressions }.serialize(serializer)
    }
}

impl Expression {
    fn of(requirement: &Requirement) -> Result<Self, &'static str> {
        let texts = |values: &[Box<str>]| Some(values.iter().map(ToString::to_string).collect());
        let (operator, values) = match &requirement.test {
            Test::In(values) => (Operator::In, texts(values)),
            Test::NotIn(values) => (Operator::NotIn, texts(values)),
            Test::Exists => (Operator::Exists, None),
            Test::DoesNotExist => (Operator::DoesNotExist, None),
            Test::GreaterThan(_) | Test::LessThan(_) => return Err("matchExpressions have no comparison of numbers"),
        };
        Ok(Self { key: requirement.label.to_string(), operator, values })
    }

    fn requirement(self) -> Result<Requirement, &'static str> {
        let values: Vec<Box<str>> = self.values.into_iter().flatten().map(String::into_boxed_str).collect();
        if !is_qualified_name(&self.key) {
            return Err("the key of matchExpressions is not the name of a label");
        }
        if !values.iter().all(|value| is_value(value)) {
            return Err("a value of matchExpressions is not a value of a label");
        }
        let takes_values = matches!(self.operator, Operator::In | Operator::NotIn);
        if takes_values == values.is_empty() {
            return Err("In and NotIn have values, and Exists and DoesNotExist have none");
        }
        let test = match self.operator {
            Operator::In => Test::In(values),
            Operator::NotIn => Test::NotIn(values),
            Operator::Exists => Test::Exists,
            Operator::DoesNotExist => Test::DoesNotExist,
        };
        Ok(Requirement { label: self.key.into(), test })
    }
}
