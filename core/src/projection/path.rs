/// The place of a field in an object, compiled from a text such as `spec.nodeName`.
///
/// | in the text | is |
/// |---|---|
/// | `spec.nodeName` | the member `nodeName` of the member `spec` |
/// | `metadata.labels['example.com/zone']` | a member whose name has dots or brackets |
/// | `spec.containers[0].image` | the element of an array at this place, from 0 |
/// | `status.conditions[type=Ready].status` | the first element that is an object with this member. The member is this string, or a number or word that is written so, as in `[controller=true]` |
///
/// ```
/// use listwatch_core::projection::Path;
///
/// const READY: Path = Path::new("status.conditions[type=Ready].status");
/// assert_eq!(READY.as_str(), "status.conditions[type=Ready].status");
/// ```
///
/// In a constant, a text that is no path does not compile:
///
/// ```compile_fail
/// const READY: listwatch_core::projection::Path = listwatch_core::projection::Path::new("status.conditions[type=Ready");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    text: &'static str,
    steps: [Packed; Self::MAX_STEPS],
    len: u8,
}

/// A step, by the places of its texts in the path. A device has tables of paths in flash, where a slice takes eight
/// bytes and not two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Packed {
    /// Empty for an element.
    name: TextRange,
    /// Empty for a member.
    value: TextRange,
}

/// Where a text begins in another one, and its length. Or the two halves of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TextRange(u8, u8);

/// From a value to one inside of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// To a member of an object.
    Member(&'static [u8]),
    /// To an element of an array.
    Element(u32),
    /// To the first element whose member `name` is `value`.
    Where { name: &'static [u8], value: &'static [u8] },
}

impl Path {
    /// The most steps of a path. Each name and each pair of brackets is one.
    pub const MAX_STEPS: usize = 8;

    /// Compiles a path. It belongs into a constant, where a wrong path is an error of the compiler.
    ///
    /// # Panics
    /// If the text is no path. If it has more than [`MAX_STEPS`](Self::MAX_STEPS) steps, more than 255 bytes, or an
    /// element behind the 65,535th. If it leads to `kind` or `apiVersion`, which the items of a list lack.
    pub const fn new(text: &'static str) -> Self {
        assert!(text.len() <= u8::MAX as usize, "the path is too long");
        let mut path = Self { text, steps: [Packed::NOTHING; Self::MAX_STEPS], len: 0 };
        let mut rest = text;
        loop {
            let (step, behind) = if begins_with(rest, b'[') && path.len > 0 { bracket(rest) } else { name(rest) };
            assert!((path.len as usize) < Self::MAX_STEPS, "the path has too many steps");
            path.steps[path.len as usize] = step.packed(text.as_bytes(), text.len() - rest.len());
            path.len += 1;
            if behind.is_empty() {
                assert!(!matches!(step, Step::Where { .. }), "the path ends with a condition");
                break;
            }
            let is_where = matches!(step, Step::Where { .. });
            assert!(begins_with(behind, b'.') || !is_where, "a dot and a name must follow on a condition");
            rest = if begins_with(behind, b'.') { behind.split_at(1).1 } else { behind };
            assert!(
                begins_with(behind, b'.') || begins_with(behind, b'['),
                "a dot or a bracket must follow on a bracket"
            );
            assert!(!begins_with(behind, b'.') || !begins_with(rest, b'['), "a name must follow on a dot");
        }
        let is_type = path.len == 1 && (equal(text.as_bytes(), b"kind") || equal(text.as_bytes(), b"apiVersion"));
        assert!(!is_type, "the items of a list have no kind and no apiVersion");
        path
    }

    /// The text of the path.
    pub const fn as_str(&self) -> &'static str {
        self.text
    }

    pub(super) const fn step(&self, at: usize) -> Option<Step> {
        if at >= self.len as usize {
            return None;
        }
        Some(self.steps[at].of(self.text.as_bytes()))
    }

    /// Whether one of them leads through the value of the other one.
    pub(crate) const fn collides_with(&self, other: &Self) -> bool {
        let mut at = 0;
        while let (Some(step), Some(than)) = (self.step(at), other.step(at)) {
            if !step.equals(&than) {
                return false;
            }
            at += 1;
        }
        self.len != other.len
    }
}

impl Packed {
    const NOTHING: Self = Self { name: TextRange(0, 0), value: TextRange(0, 0) };

    /// The step, of a path with that text.
    const fn of(self, text: &'static [u8]) -> Step {
        let Self { name, value } = self;
        match (name.1, value.1) {
            (0, _) => Step::Element(value.0 as u32 | (value.1 as u32) << 8),
            (_, 0) => Step::Member(name.of(text)),
            _ => Step::Where { name: name.of(text), value: value.of(text) },
        }
    }
}

impl TextRange {
    const fn new(at: usize, text: &[u8]) -> Self {
        Self(at as u8, text.len() as u8)
    }

    const fn of(self, text: &'static [u8]) -> &'static [u8] {
        text.split_at(self.0 as usize).1.split_at(self.1 as usize).0
    }
}

impl Step {
    /// Whether it leads out of an array.
    pub(super) fn is_in_array(self) -> bool {
        !matches!(self, Self::Member(_))
    }

    pub(super) fn is_condition(self) -> bool {
        self.condition().is_some()
    }

    pub(super) fn member(self) -> Option<&'static [u8]> {
        if let Self::Member(name) = self { Some(name) } else { None }
    }

    /// The name and the value of a condition.
    pub(super) fn condition(self) -> Option<(&'static [u8], &'static [u8])> {
        if let Self::Where { name, value } = self { Some((name, value)) } else { None }
    }

    /// A step that is written at this place of a path.
    const fn packed(self, path: &[u8], at: usize) -> Packed {
        match self {
            Self::Member(name) => {
                let at = if path[at] == b'[' { at + 2 } else { at };
                Packed { name: TextRange::new(at, name), ..Packed::NOTHING }
            }
            Self::Element(number) => Packed { value: TextRange(number as u8, (number >> 8) as u8), ..Packed::NOTHING },
            Self::Where { name, value } => {
                let behind = at + 1 + name.len() + 1;
                let quoted = (path[behind] == b'\'') as usize;
                Packed { name: TextRange::new(at + 1, name), value: TextRange::new(behind + quoted, value) }
            }
        }
    }

    const fn equals(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Member(one), Self::Member(other)) => equal(one, other),
            (Self::Element(one), Self::Element(other)) => *one == *other,
            (Self::Where { name, value }, Self::Where { name: other, value: than }) => {
                equal(name, other) && equal(value, than)
            }
            _ => false,
        }
    }
}

/// The name that `text` begins with, up to a dot or a bracket.
const fn name(text: &'static str) -> (Step, &'static str) {
    let len = length_until(text, b".[");
    assert!(len > 0, "a name of the path is empty");
    let (name, behind) = text.split_at(len);
    assert!(length_until(name, b"]='") == len, "a name with such a character stands in brackets and quotes");
    (Step::Member(name.as_bytes()), behind)
}

/// The pair of brackets that `text` begins with.
const fn bracket(text: &'static str) -> (Step, &'static str) {
    let inside = text.split_at(1).1;
    let (step, behind) = if begins_with(inside, b'\'') {
        let (name, behind) = quoted(inside);
        (Step::Member(name.as_bytes()), behind)
    } else {
        let (word, behind) = inside.split_at(length_until(inside, b"=]"));
        assert!(!word.is_empty(), "a bracket of the path is empty");
        if begins_with(behind, b'=') {
            let (value, behind) = value(behind.split_at(1).1);
            (Step::Where { name: word.as_bytes(), value: value.as_bytes() }, behind)
        } else {
            (Step::Element(number(word)), behind)
        }
    };
    assert!(begins_with(behind, b']'), "a bracket of the path is not closed");
    (step, behind.split_at(1).1)
}

const fn value(text: &'static str) -> (&'static str, &'static str) {
    if begins_with(text, b'\'') {
        return quoted(text);
    }
    let len = length_until(text, b"]");
    assert!(len > 0, "the value of a condition is empty");
    text.split_at(len)
}

/// What stands in the quotes that `text` begins with.
const fn quoted(text: &'static str) -> (&'static str, &'static str) {
    let inside = text.split_at(1).1;
    let (quoted, behind) = inside.split_at(length_until(inside, b"'"));
    assert!(!quoted.is_empty() && !behind.is_empty(), "a quotation in the path is empty, or has no end");
    (quoted, behind.split_at(1).1)
}

const fn number(text: &str) -> u32 {
    match u32::from_str_radix(text, 10) {
        Ok(number) if number <= u16::MAX as u32 && !begins_with(text, b'+') => number,
        _ => panic!("in brackets stands the place of an element, a condition, or a name in quotes"),
    }
}

/// How long `text` is before the first of these characters.
const fn length_until(text: &str, ends: &[u8]) -> usize {
    let (text, mut at) = (text.as_bytes(), 0);
    while at < text.len() {
        let mut end = 0;
        while end < ends.len() {
            if text[at] == ends[end] {
                return at;
            }
            end += 1;
        }
        at += 1;
    }
    at
}

const fn begins_with(text: &str, byte: u8) -> bool {
    !text.is_empty() && text.as_bytes()[0] == byte
}

const fn equal(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::catch_unwind;
    use std::vec::Vec;

    fn steps(text: &'static str) -> Vec<Step> {
        let path = Path::new(text);
        (0..).map_while(|at| path.step(at)).collect()
    }

    #[test]
    fn a_path_is_divided_into_its_steps() {
        use Step::{Element, Member, Where};
        assert_eq!(steps("spec.nodeName"), [Member(b"spec"), Member(b"nodeName")]);
        assert_eq!(steps("a[0][12].b"), [Member(b"a"), Element(0), Element(12), Member(b"b")]);
        let ready = Where { name: b"type", value: b"Ready" };
        assert_eq!(steps("conditions[type=Ready].status"), [Member(b"conditions"), ready, Member(b"status")]);
        let quoted = Where { name: b"a", value: b"x]y" };
        assert_eq!(steps("m['a.b/c[']['d'][a='x]y'].e")[..4], [Member(b"m"), Member(b"a.b/c["), Member(b"d"), quoted]);
        assert_eq!(steps("größe"), [Member("größe".as_bytes())]);
    }

    #[test]
    fn a_text_that_is_no_path_is_refused() {
        refuses(&[
            "",
            ".",
            "a.",
            ".a",
            "a..b",
            "a[",
            "a[]",
            "a[0",
            "a[x]",
            "a[-1]",
            "a['']",
            "a['b]",
            "a[b=c]",
            "a[b=c",
            "a]b",
            "a.[0]",
            "a[0]b",
            "[0]",
            "a[b=c][0]",
            "kind",
            "apiVersion",
            "a.b.c.d.e.f.g.h.i",
            "a[65536]",
            "a'b",
        ]);
    }

    fn refuses(wrong: &[&'static str]) {
        let taken: Vec<_> = wrong.iter().filter(|text| catch_unwind(|| Path::new(text)).is_ok()).collect();
        assert!(taken.is_empty(), "{taken:?}");
    }

    #[test]
    fn an_element_with_a_sign_and_an_empty_value_are_refused() {
        refuses(&["a[+1].b", "a[+0]", "a[b=].c", "a[b=''].c"]);
    }

    #[test]
    fn a_path_collides_with_one_that_leads_through_its_value() {
        let collide = |one, other| Path::new(one).collides_with(&Path::new(other));
        assert!(collide("a.b", "a.b.c") && collide("a.b[0]", "a.b"));
        assert!(!collide("a.b", "a.b") && !collide("a.b", "a.bc") && !collide("a[x=1].b", "a[x=2].b.c"));
    }
}
