//! Projections that panic, and callers that catch it and read on.

use super::*;
use crate::projection::{Misfit, Path, Piece, Slot, checked};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::vec;

/// A field that panics where its caller wants it: in the text, for a number, or when it is cloned or cleared.
#[derive(Debug, PartialEq)]
struct Touchy(String);

impl Clone for Touchy {
    fn clone(&self) -> Self {
        assert_ne!(self.0, "clone");
        Self(self.0.clone())
    }
}

impl Slot for Touchy {
    fn clear(&mut self) {
        assert_ne!(core::mem::take(&mut self.0), "clear");
    }

    fn take(&mut self, piece: Piece<'_>) -> Result<(), Misfit> {
        match piece {
            Piece::Text(piece) => {
                assert!(!piece.contains('!'));
                self.0.push_str(piece);
                Ok(())
            }
            Piece::Integer(value) => panic!("{value}"),
            _ => panic!("it expects nothing"),
        }
    }
}

/// A projection of two such fields.
#[derive(Clone, Debug, PartialEq)]
struct Fields([Touchy; 2]);

impl Projection for Fields {
    const FIELDS: &'static [Path] = checked(&[Path::new("a"), Path::new("list[type=x].a")]);
    const ABSENT: Self = Self([Touchy(String::new()), Touchy(String::new())]);

    fn slot(&mut self, number: usize) -> &mut dyn Slot {
        &mut self.0[number]
    }
}

/// What is read of three objects, of which the second one has these members, and how often that panics.
fn told(body: Body, members: &str, length: usize) -> (Vec<String>, usize) {
    let objects = [r#""a":"1""#, members, r#""a":"3""#];
    let [first, second, third] = objects.map(|members| format!(r#"{{"metadata":{{"name":"n"}},{members}}}"#));
    let text = match body {
        Body::List => format!(r#"{{"items":[{first},{second},{third}]}}"#),
        _ => [first, second, third].map(|object| format!("{{\"type\":\"ADDED\",\"object\":{object}}}\n")).concat(),
    };
    let (mut projector, mut told, mut panics) = (Projector::<Fields>::new(), vec![], 0);
    projector.start(body);
    for mut piece in text.as_bytes().chunks(length) {
        loop {
            match catch_unwind(AssertUnwindSafe(|| projector.next_part(&mut piece))) {
                Ok(None) => break,
                Ok(Some(Part::Item(object) | Part::Event(_, object))) => told.push(object.value.0[0].0.clone()),
                Ok(Some(Part::Undecodable(DecodeErrorOf { key, error: Reason::Problem(problem), .. }))) => {
                    told.push(format!("{key:?} {}", problem.cause));
                }
                Ok(Some(other)) => panic!("{other:?}"),
                Err(_) => panics += 1,
            }
        }
    }
    let is_whole = matches!(projector.finish(), Ending::List { .. } | Ending::Watch);
    assert!(is_whole, "{text}");
    (told, panics)
}

#[test]
fn bytes_over_which_a_field_panics_are_read_once() {
    for members in [
        r#""a":"x!]}\",[","b":{}"#,
        r#""a":"x\\!\u0022\\","b":["}"]"#,
        r#""a":17,"b":0"#,
        r#""b":{},"a":17"#,
        r#""a":true"#,
        r#""a":"clear","a":{"x":"}"}"#,
        r#""a":"clear","a":"y]""#,
        r#""list":[{"a":"clear","type":"y"},{"b":"}"}],"a":"z""#,
        r#""list":[{"a":12}],"a":"z!""#,
        r#""a":"clone""#,
        r#""a":"x!","a":"clone""#,
    ] {
        for (body, length) in
            [Body::List, Body::Watch].into_iter().flat_map(|body| (1..20).chain([200]).map(move |len| (body, len)))
        {
            let (told, panics) = told(body, members, length);
            assert_eq!(told, ["1", "None the projection panicked", "3"], "{members} in pieces of {length}");
            assert_eq!(panics, 1, "{members} in pieces of {length}");
        }
    }
}
