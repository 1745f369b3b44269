//! Goes through a JSON value while its bytes arrive, and passes over all that no field reads.

use super::field::{Misfit, Piece, Slot};
use super::fields::{Expected, Fields, Frame, METADATA, Mask, STATUS, Shape, Wanted, bits};
use super::literal::{Literal, Scalar};
use super::path::{Path, Step};
use super::problem::{Cause, Problem};
use crate::framing::{Scanner, ends_scalar, is_space};
use crate::text::{BadString, Unescape};

/// Where the values of the fields go.
pub(super) trait Slots {
    fn slot(&mut self, field: u32) -> &mut dyn Slot;
}

/// The way through one value.
///
/// It enters objects and arrays that hold a field, at most as many as a path has steps. The scanner passes over any
/// other value. No byte is kept: a name or a text is compared, or copied into its field, as it arrives.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    fields: Fields,
    state: Expected,
    frames: [Frame; DEPTH],
    depth: usize,
    /// Who wants the value that comes next, or that is being read.
    wanted: Wanted,
    /// How many bytes of a text or a literal were read, without escapes.
    length: usize,
    /// How many bytes of the value were read.
    offset: usize,
    /// Where the value begins that is being read.
    value_at: usize,
    unescape: Unescape,
    literal: Literal,
    scanner: Scanner,
    /// The fields whose value was refused.
    refused: Mask,
    /// The last of them.
    misfit: Option<(u32, Problem)>,
    /// What is no JSON.
    broken: Option<Problem>,
    /// The members of the outermost object that lead to a field.
    seen: Mask,
}

/// An event's object is one step deeper than an object.
const DEPTH: usize = Path::MAX_STEPS + 1;

impl Walk {
    /// A walk that is done.
    pub(super) const fn new(fields: Fields) -> Self {
        const FRAME: Frame = Frame { is_array: false, fields: 0, fulfilled: 0, found: 0, index: 0 };
        Self {
            fields,
            state: Expected::Done,
            frames: [FRAME; DEPTH],
            depth: 0,
            wanted: Wanted { inside: 0, fields: 0, conditions: 0 },
            length: 0,
            offset: 0,
            value_at: 0,
            unescape: Unescape::NEW,
            literal: Literal::NEW,
            scanner: Scanner::NEW,
            refused: 0,
            misfit: None,
            broken: None,
            seen: 0,
        }
    }

    /// Begins a value with these fields, which are all absent.
    pub(super) fn start(&mut self, shape: Shape) {
        let fields = Fields { shape, ..self.fields };
        *self = Self {
            state: Expected::Value,
            wanted: Wanted { inside: fields.all(), ..Wanted::default() },
            ..Self::new(fields)
        };
    }

    pub(super) fn is_done(&self) -> bool {
        self.state == Expected::Done
    }

    /// Whether the bytes so far end in a string.
    pub(super) fn is_in_string(&self) -> bool {
        match self.state {
            Expected::Name | Expected::Text => true,
            Expected::PassingOver => self.scanner.is_in_string(),
            _ => false,
        }
    }

    /// The place where the value turned out to be no JSON.
    pub(super) fn broken(&self) -> Option<Problem> {
        self.broken
    }

    /// The first refusal of one of `fields`.
    pub(super) fn refused(&self, fields: Mask) -> Option<Problem> {
        let field = bits(self.refused & fields).next()?;
        let told = self.misfit.filter(|(told, _)| self.refused & fields & 1 << told != 0);
        let another = Problem { field: Some(self.fields.text(field)), cause: Cause::Refused, at: self.offset };
        Some(told.map_or(another, |(_, problem)| problem))
    }

    /// Whether the outermost object has the member that leads to one of `fields`.
    pub(super) fn has_seen(&self, fields: Mask) -> bool {
        self.seen & fields != 0
    }

    pub(super) fn fields(&self) -> Fields {
        self.fields
    }

    /// How many bytes of the value were read.
    pub(super) fn offset(&self) -> usize {
        self.offset
    }

    /// Reads at most `most` of `bytes` from the front, and at most to the end of the value. If a slot panics, `bytes`
    /// begins with what was not read.
    pub(super) fn feed(&mut self, bytes: &mut &[u8], mut most: usize, slots: &mut dyn Slots) {
        while most > 0 && !self.is_done() {
            let len = self.advance(&bytes[..most], slots);
            *bytes = &bytes[len..];
            self.offset += len;
            most -= len;
        }
    }

    /// Passes over the rest of the value, after a slot panicked.
    pub(super) fn give_up(&mut self) {
        let in_string = self.state == Expected::Text;
        self.scanner = match self.depth {
            0 => Scanner::NEW,
            depth => Scanner::amid(depth as u64, in_string, in_string && self.unescape.is_escaping()),
        };
        self.broken = Some(Problem { field: None, cause: Cause::Panicked, at: self.value_at });
        self.state = Expected::PassingOver;
    }
}

impl Walk {
    fn advance(&mut self, rest: &[u8], slots: &mut dyn Slots) -> usize {
        match self.state {
            Expected::PassingOver => self.pass_over(rest),
            Expected::Name => self.on_name(rest),
            Expected::Text => self.on_text(rest, slots),
            Expected::Literal => self.on_literal(rest, slots),
            _ => match rest.iter().take_while(|byte| is_space(**byte)).count() {
                0 => usize::from(self.on_byte(rest[0], slots)),
                spaces => spaces,
            },
        }
    }

    /// Reads a byte between names and values; says whether it belongs to what ended with it.
    fn on_byte(&mut self, byte: u8, slots: &mut dyn Slots) -> bool {
        match (self.state, byte) {
            (Expected::Value, _) => return self.begin_value(byte, slots),
            (Expected::FirstName, b'}') | (Expected::FirstElement, b']') => self.close(slots),
            (Expected::FirstName | Expected::NextName, b'"') => self.begin_name(),
            (Expected::Colon, b':') => self.state = Expected::Value,
            (Expected::FirstElement, _) => {
                self.begin_element();
                return false;
            }
            (Expected::Behind, b',') if self.is_in_array() => {
                self.top().index += 1;
                self.begin_element();
            }
            (Expected::Behind, b',') => self.state = Expected::NextName,
            (Expected::Behind, b'}') if !self.is_in_array() => self.close(slots),
            (Expected::Behind, b']') if self.is_in_array() => self.close(slots),
            _ => {
                let expected = BadString::new(0, self.expectation());
                self.break_off(expected, false);
                return false;
            }
        }
        true
    }

    fn expectation(&self) -> &'static str {
        match self.state {
            Expected::FirstName | Expected::NextName => "expected a name in quotes",
            Expected::Colon => "expected a colon",
            _ if self.is_in_array() => "expected a comma or the end of the array",
            _ => "expected a comma or the end of the object",
        }
    }

    fn is_in_array(&self) -> bool {
        self.frames[self.depth - 1].is_array
    }

    fn top(&mut self) -> &mut Frame {
        &mut self.frames[self.depth - 1]
    }

    fn begin_name(&mut self) {
        let (depth, inside) = (self.depth - 1, self.top().fields);
        let conditions = if depth == 0 { 0 } else { self.fields.filter(inside, depth - 1, &Step::is_condition) };
        self.wanted = Wanted { inside, fields: 0, conditions };
        (self.state, self.unescape, self.length) = (Expected::Name, Unescape::NEW, 0);
    }

    fn on_name(&mut self, rest: &[u8]) -> usize {
        let (mut unescape, depth) = (self.unescape, self.depth - 1);
        let read = unescape.feed(rest, &mut |piece| {
            let (fields, at) = (self.fields, self.length..self.length + piece.len());
            let goes_on = |name: &[u8]| name.get(at.clone()) == Some(piece.as_bytes());
            let Wanted { inside, conditions, .. } = self.wanted;
            self.wanted.inside = fields.filter(inside, depth, &|step| step.member().is_some_and(goes_on));
            if conditions != 0 {
                let names = |step: Step| step.condition().is_some_and(|(name, _)| goes_on(name));
                self.wanted.conditions = fields.filter(conditions, depth - 1, &names);
            }
            self.length = at.end;
        });
        self.unescape = unescape;
        match read {
            Ok(Some(len)) => {
                self.end_name(depth);
                len
            }
            Ok(None) => rest.len(),
            Err(bad) => self.break_off(bad, true),
        }
    }

    fn end_name(&mut self, depth: usize) {
        let (fields, Wanted { inside, conditions, .. }) = (self.fields, self.wanted);
        let ends = |name: &[u8]| name.len() == self.length;
        let named = fields.filter(inside, depth, &|step| step.member().is_some_and(ends));
        let names = |step: Step| step.condition().is_some_and(|(name, _)| ends(name));
        let conditions = if conditions == 0 { 0 } else { fields.filter(conditions, depth - 1, &names) };
        self.want(named, conditions);
        if depth == 0 {
            self.seen |= named;
        }
        self.state = Expected::Colon;
    }

    fn begin_element(&mut self) {
        let (depth, Frame { fields, found, index, .. }) = (self.depth - 1, *self.top());
        let here = self.fields.filter(fields & !found, depth, &|step| match step {
            Step::Member(_) => false,
            Step::Element(element) => element == index,
            Step::Where { .. } => true,
        });
        self.want(here, 0);
        self.state = Expected::Value;
    }

    /// Wants the value that comes next, for these fields and conditions.
    fn want(&mut self, named: Mask, conditions: Mask) {
        let fields = self.fields.ending_at(named, self.depth);
        self.wanted = Wanted { inside: named & !fields, fields, conditions };
    }

    /// Begins the value that comes next, of which this is the first byte. The last one of a name counts. A `null` in the
    /// metadata does not, as in Go and in the decoder of the heap.
    fn begin_value(&mut self, byte: u8, slots: &mut dyn Slots) -> bool {
        let Wanted { inside, fields, conditions } = self.wanted;
        self.value_at = self.offset;
        let kept = if byte == b'n' { fields & METADATA } else { 0 };
        self.forget((inside | fields) & !kept, slots);
        if conditions != 0 {
            self.top().fulfilled &= !conditions;
        }
        (self.unescape, self.literal, self.length) = (Unescape::NEW, Literal::NEW, 0);
        match byte {
            b'{' => self.open(false, slots),
            b'[' => self.open(true, slots),
            b'"' => self.begin_text(slots),
            _ => {
                self.state = Expected::Literal;
                false
            }
        }
    }

    fn open(&mut self, is_array: bool, slots: &mut dyn Slots) -> bool {
        let entering = self.fields.filter(self.wanted.inside, self.depth, &|step| step.is_in_array() == is_array);
        self.refuse_others(entering, if is_array { "an array" } else { "an object" }, slots);
        if entering == 0 {
            self.state = Expected::PassingOver;
            return false;
        }
        self.frames[self.depth] = Frame { is_array, fields: entering, ..Frame::default() };
        self.depth += 1;
        self.state = if is_array { Expected::FirstElement } else { Expected::FirstName };
        true
    }

    fn begin_text(&mut self, slots: &mut dyn Slots) -> bool {
        let Wanted { fields, conditions, .. } = self.wanted;
        if fields | conditions == 0 {
            self.refuse_others(0, "a string", slots);
            self.state = Expected::PassingOver;
            return false;
        }
        self.refuse_others(fields, "a string", slots);
        for field in bits(fields) {
            let taken = slots.slot(field).take(Piece::Text(""));
            self.taken(field, taken, "a string", slots);
        }
        self.state = Expected::Text;
        true
    }

    fn on_text(&mut self, rest: &[u8], slots: &mut dyn Slots) -> usize {
        let mut unescape = self.unescape;
        let read = unescape.feed(rest, &mut |piece| {
            for field in bits(self.wanted.fields & !self.refused) {
                let taken = slots.slot(field).take(Piece::Text(piece));
                self.taken(field, taken, "a string", slots);
            }
            self.compare(piece.as_bytes());
        });
        self.unescape = unescape;
        match read {
            Ok(Some(len)) => {
                self.decide();
                self.end_value();
                len
            }
            Ok(None) => rest.len(),
            Err(bad) => self.break_off(bad, true),
        }
    }

    fn on_literal(&mut self, rest: &[u8], slots: &mut dyn Slots) -> usize {
        for (at, byte) in rest.iter().enumerate() {
            if ends_scalar(*byte) {
                return self.end_literal(at, slots);
            }
            if self.literal.push(*byte).is_none() {
                return self.break_off(BadString::new(at, self.no_literal()), false);
            }
            self.compare(&[*byte]);
        }
        rest.len()
    }

    fn no_literal(&self) -> &'static str {
        if self.length == 0 { "expected a value" } else { "invalid number or word" }
    }

    fn end_literal(&mut self, at: usize, slots: &mut dyn Slots) -> usize {
        let Some(scalar) = self.literal.scalar() else {
            return self.break_off(BadString::new(at, self.no_literal()), false);
        };
        self.decide();
        let (fields, found) = (self.wanted.fields, scalar.name());
        if scalar != Scalar::Null {
            self.refuse_others(fields, found, slots);
            for field in bits(fields) {
                let taken = scalar.put(slots.slot(field));
                self.taken(field, taken, found, slots);
            }
        }
        self.end_value();
        at
    }

    /// Keeps the conditions whose value goes on so.
    fn compare(&mut self, piece: &[u8]) {
        let (fields, depth, at) = (self.fields, self.depth, self.length..self.length + piece.len());
        self.length = at.end;
        if self.wanted.conditions != 0 {
            let goes_on = |value: &[u8]| value.get(at.clone()) == Some(piece);
            let values = |step: Step| step.condition().is_some_and(|(_, value)| goes_on(value));
            self.wanted.conditions = fields.filter(self.wanted.conditions, depth - 2, &values);
        }
    }

    /// Decides conditions at the end of a value.
    fn decide(&mut self) {
        if self.wanted.conditions != 0 {
            let ends = |step: Step| step.condition().is_some_and(|(_, value)| value.len() == self.length);
            let fulfilled = self.fields.filter(self.wanted.conditions, self.depth - 2, &ends);
            self.top().fulfilled |= fulfilled;
        }
    }

    fn pass_over(&mut self, rest: &[u8]) -> usize {
        match self.scanner.end_of_value(rest) {
            Some(len) => {
                self.end_value();
                len
            }
            None => rest.len(),
        }
    }

    /// Closes an object or an array. What was read of an element that does not fulfil the condition is forgotten.
    fn close(&mut self, slots: &mut dyn Slots) {
        let Frame { fields, fulfilled, .. } = *self.top();
        if self.depth > 1 {
            let around = self.depth - 2;
            let conditional = self.fields.filter(fields, around, &Step::is_condition);
            self.frames[around].found |= conditional & fulfilled;
            self.forget(conditional & !fulfilled, slots);
        }
        self.depth -= 1;
        self.end_value();
    }

    fn end_value(&mut self) {
        let is_end = self.depth == 0 || self.broken.is_some();
        self.state = if is_end { Expected::Done } else { Expected::Behind };
    }

    fn forget(&mut self, fields: Mask, slots: &mut dyn Slots) {
        self.refused &= !fields;
        bits(fields).for_each(|field| slots.slot(field).clear());
    }

    /// Refuses the value for all fields that wanted it, but for `taking`. An element of another type does not fulfil a
    /// condition, and that is all.
    fn refuse_others(&mut self, taking: Mask, found: &'static str, slots: &mut dyn Slots) {
        let Wanted { inside, fields, .. } = self.wanted;
        let inside = match self.depth {
            0 => inside,
            depth => inside & !self.fields.filter(inside, depth - 1, &Step::is_condition),
        };
        for field in bits((inside | fields) & !taking) {
            let taken = match self.fields.step(field, self.depth) {
                Some(step) => Err(Misfit::WrongType(if step.is_in_array() { "an array" } else { "an object" })),
                None => slots.slot(field).take(Piece::Other),
            };
            self.taken(field, taken, found, slots);
        }
    }

    /// Notes whether a field took its value. A field of a status that does not is absent.
    fn taken(&mut self, field: u32, taken: Result<(), Misfit>, found: &'static str, slots: &mut dyn Slots) {
        let Err(misfit) = taken else { return };
        if 1 << field & STATUS != 0 {
            return slots.slot(field).clear();
        }
        let cause = match misfit {
            Misfit::TooLong(most) => Cause::TooLong { most },
            Misfit::OutOfRange => Cause::OutOfRange,
            Misfit::WrongType(expected) => Cause::WrongType { found, expected },
        };
        if self.misfit.is_none_or(|(earlier, _)| self.refused & 1 << earlier == 0) {
            self.misfit = Some((field, Problem { field: Some(self.fields.text(field)), cause, at: self.value_at }));
        }
        self.refused |= 1 << field;
    }

    /// Passes over the rest of a value that is no JSON; returns how many bytes were read before.
    fn break_off(&mut self, bad: BadString, in_string: bool) -> usize {
        let cause = Cause::Syntax(bad.message);
        self.broken = Some(Problem { field: None, cause, at: self.offset + bad.at - bad.back });
        self.scanner = Scanner::amid(self.depth as u64, in_string, bad.escaping);
        self.state = Expected::PassingOver;
        bad.at
    }
}
