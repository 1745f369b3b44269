//! Expressions in CEL, which end when they cost too much (apiserver `cel`).
//!
//! The crate `cel` evaluates them, and knows no costs. So each turn of a loop is made to pay for what it evaluates, and so is
//! each function whose result can be larger than what it is given. The costs are about those of a server. Types are not
//! checked.

use super::structural::Schema;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use core::cell::{Cell, RefCell};
use kube_cel::KubeCelExt;
use kube_cel::cel::common::ast::operators::{
    ADD, CONDITIONAL, EQUALS, GREATER, GREATER_EQUALS, IN, LESS, LESS_EQUALS, NOT_EQUALS, OPT_INDEX, OPT_SELECT,
};
use kube_cel::cel::common::ast::{CallExpr, EntryExpr, Expr, LiteralValue};
use kube_cel::cel::extractors::{Arguments, This};
use kube_cel::cel::objects::{Key, Map, OptionalValue};
use kube_cel::cel::parser::Parser;
use kube_cel::cel::{Context, ExecutionError, IdedExpr, Value as Cel};
use regex::Regex;
use serde_json::{Number, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// What one expression costs at most.
pub(super) const MOST: u64 = 1_000_000;
/// What a regular expression costs when it is compiled.
const COMPILED: u64 = 10_000;
/// The bytes that have the cost of one step.
const BYTES: u64 = 10;
/// The bytes of an item that a loop copies, for the cost of one step.
const COPIED: u64 = 1_000;

/// An expression that pays for what it does.
#[derive(Debug)]
pub(super) struct Expression(IdedExpr);

/// The reason why an expression has no value.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// It cannot be evaluated.
    Error(String),
    /// It costs more than one expression may.
    Costly,
    /// All expressions together cost more than they may.
    Spent,
}

impl Expression {
    /// Reads an expression. `Err` says what is wrong with it.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let parser = Parser::default().enable_optional_syntax(true);
        let mut read = parser.parse(text).map_err(|error| error.to_string())?;
        let cost = pay(&mut read, &mut Vec::new())?;
        Ok(Self(paid(cost, None, read)))
    }

    /// Whether it uses a variable.
    pub(super) fn names(&self, variable: &str) -> bool {
        self.0.references().has_variable(variable)
    }

    /// Evaluates it with these variables, and takes what it costs.
    pub(super) fn evaluate(&self, variables: &[(&'static str, Cel)], budget: &mut u64) -> Result<Cel, Failure> {
        LEFT.set(MOST);
        let value = CONTEXT.with(|context| {
            let mut scope = context.new_inner_scope();
            variables.iter().for_each(|(name, value)| scope.add_variable_from_value(*name, value.clone()));
            Cel::resolve(&self.0, &scope)
        });
        let left = LEFT.replace(u64::MAX);
        let cost = if left == 0 { MOST + 1 } else { MOST - left };
        *budget = budget.checked_sub(cost).ok_or(Failure::Spent)?;
        if left == 0 { Err(Failure::Costly) } else { value.map_err(|error| Failure::Error(words(&error))) }
    }
}

/// An error in the words of a server.
fn words(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
        ExecutionError::NoSuchOverload
        | ExecutionError::UnsupportedBinaryOperator(..)
        | ExecutionError::UnsupportedUnaryOperator(..)
        | ExecutionError::ValuesNotComparable(..) => "no such overload".to_owned(),
        ExecutionError::DivisionByZero(_) => "division by zero".to_owned(),
        ExecutionError::RemainderByZero(_) => "modulus by zero".to_owned(),
        ExecutionError::Overflow(..) => "integer overflow".to_owned(),
        ExecutionError::IndexOutOfBounds(Cel::Int(index)) => format!("index out of bounds: {index}"),
        ExecutionError::FunctionError { message, .. } => message.clone(),
        other => other.to_string(),
    }
}

thread_local! {
    /// What the expression that is evaluated may still cost.
    static LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
    static CONTEXT: Context<'static> = context();
    /// The regular expression that was compiled last.
    static REGEX: RefCell<Option<Regex>> = const { RefCell::new(None) };
}

/// Takes a cost. Nothing goes on once nothing is left.
fn spend(cost: u64) -> Result<(), ExecutionError> {
    let left = LEFT.get().saturating_sub(cost);
    LEFT.set(left);
    if left == 0 { Err(ExecutionError::function_error("cost", "actual cost limit exceeded")) } else { Ok(()) }
}

/// Functions of a name that no expression can write.
const TURN: &str = "@turn";
const RANGE: &str = "@range";
const READ: &str = "@read";

/// The operators that take longer for larger values.
const READING: [&str; 8] = [ADD, EQUALS, NOT_EQUALS, IN, LESS, LESS_EQUALS, GREATER, GREATER_EQUALS];

/// Lets an expression pay that stands where there are these variables. Returns what it costs beside that.
fn pay(of: &mut IdedExpr, variables: &mut Vec<String>) -> Result<u64, String> {
    Ok(match &mut of.expr {
        Expr::Unspecified | Expr::Literal(_) => 0,
        Expr::Ident(_) => 1,
        Expr::Select(select) => 1 + pay(&mut select.operand, variables)?,
        Expr::Call(call) => {
            let target = call.target.as_deref_mut().map_or(Ok(0), |target| pay(target, variables))?;
            let args = sum(call.args.iter_mut(), variables)?;
            pay_for_values(call, variables);
            // The crate has an error, and no empty optional, where the field is absent.
            if call.func_name == OPT_SELECT {
                call.func_name = OPT_INDEX.to_owned();
            }
            1 + target + args
        }
        Expr::List(list) => 10 + kept(list.elements.iter_mut(), variables)?,
        Expr::Map(map) => {
            let parts = map.entries.iter_mut().flat_map(|entry| match &mut entry.expr {
                EntryExpr::MapEntry(entry) => [Some(&mut entry.key), Some(&mut entry.value)],
                EntryExpr::StructField(field) => [Some(&mut field.value), None],
            });
            30 + kept(parts.flatten(), variables)?
        }
        Expr::Struct(message) => return Err(format!("undeclared reference to '{}'", message.type_name)),
        Expr::Comprehension(of) => {
            let collects = matches!(of.accu_init.expr, Expr::List(_));
            let before = pay(&mut of.iter_range, variables)? + pay(&mut of.accu_init, variables)?;
            variables.push(of.iter_var.clone());
            let turn = pay(&mut of.loop_cond, variables)? + pay(&mut of.loop_step, variables)?;
            variables.pop();
            let item = IdedExpr { id: 0, expr: Expr::Ident(of.iter_var.clone()) };
            of.loop_step = paid(turn, Some(item), std::mem::take(&mut of.loop_step));
            if collects {
                wrap(RANGE, &mut of.iter_range);
            }
            before + pay(&mut of.result, variables)?
        }
    })
}

fn sum<'e>(mut parts: impl Iterator<Item = &'e mut IdedExpr>, variables: &mut Vec<String>) -> Result<u64, String> {
    parts.try_fold(0, |sum, part| Ok(sum + pay(part, variables)?))
}

/// As [`sum`], for parts that are copied.
fn kept<'e>(parts: impl Iterator<Item = &'e mut IdedExpr>, variables: &mut Vec<String>) -> Result<u64, String> {
    let mut cost = 0;
    for part in parts {
        cost += pay(part, variables)?;
        wrap(READ, part);
    }
    Ok(cost)
}

/// Lets a call pay for the values that it is given: it may look at all of them.
fn pay_for_values(call: &mut CallExpr, variables: &[String]) {
    let name = call.func_name.as_str();
    let is_accumulator = |it: &IdedExpr| matches!(&it.expr, Expr::Ident(name) if name.starts_with('@'));
    let reads = READING.contains(&name) || name.starts_with(|letter: char| letter.is_alphabetic());
    if !reads || call.args.iter().any(is_accumulator) {
        return;
    }
    // A target can be the first part of a function's name, such as `sets`.
    let is_variable = |name: &String| ["self", "oldSelf"].contains(&name.as_str()) || variables.contains(name);
    let is_value = |it: &IdedExpr| !matches!(&it.expr, Expr::Ident(name) if !is_variable(name));
    let compares_each = name == "distinct"
        || matches!(call.target.as_deref(), Some(IdedExpr { expr: Expr::Ident(name), .. }) if name == "sets");
    let by = if compares_each { RANGE } else { READ };
    let target = call.target.as_deref_mut().filter(|target| is_value(target));
    for value in target.into_iter().chain(&mut call.args) {
        wrap(by, value);
    }
}

/// Gives an expression to a function. Literals are free.
fn wrap(function: &str, of: &mut IdedExpr) {
    if !matches!(of.expr, Expr::Literal(_)) {
        *of = call(function, vec![std::mem::take(of)]);
    }
}

/// An expression that is evaluated once its cost is paid, and that of the item that its loop copies.
fn paid(cost: u64, item: Option<IdedExpr>, of: IdedExpr) -> IdedExpr {
    let literal = |value| IdedExpr { id: 0, expr: Expr::Literal(value) };
    let cost = literal(LiteralValue::Int(i64::try_from(cost).unwrap_or(i64::MAX).into()));
    let turn = call(TURN, vec![cost, item.unwrap_or_else(|| literal(LiteralValue::Null))]);
    call(CONDITIONAL, vec![turn, of, literal(LiteralValue::Null)])
}

fn call(name: &str, args: Vec<IdedExpr>) -> IdedExpr {
    IdedExpr { id: 0, expr: Expr::Call(CallExpr { func_name: name.to_owned(), target: None, args }) }
}

/// The functions of a server. Those whose results can be larger than what they are given pay for them.
fn context() -> Context<'static> {
    let mut context = Context::default().with_all();
    context
        .add_function(TURN, |cost: i64, item: Cel| spend(cost.unsigned_abs() + weight(&item) / COPIED).map(|()| true));
    context.add_function(READ, |value: Cel| spend(weight(&value) / BYTES).map(|()| value));
    context.add_function(RANGE, |range: Cel| {
        let count = match &range {
            Cel::List(elements) => elements.len() as u64,
            Cel::Map(fields) => fields.map.len() as u64,
            _ => 0,
        };
        // The list is copied by each turn.
        spend(count.saturating_mul(count) / 200).map(|()| range)
    });
    context.add_function("lists.range", |count: i64| {
        let count = u64::try_from(count).map_err(|_| ExecutionError::function_error("lists.range", "is negative"))?;
        spend(count)?;
        Ok(Cel::List(Arc::new((0..count).map(|number| Cel::Int(number.cast_signed())).collect())))
    });
    context.add_function("join", |This(list): This<Arc<Vec<Cel>>>, Arguments(args): Arguments| {
        let separator = args.first().map_or(Ok(""), text)?;
        spend((list.len() as u64).saturating_mul(separator.len() as u64) / BYTES)?;
        let texts: Vec<&str> = list.iter().map(text).collect::<Result<_, _>>()?;
        Ok(Cel::String(Arc::new(texts.join(separator))))
    });
    context.add_function("replace", |This(of): This<Arc<String>>, Arguments(args): Arguments| {
        let [from, to, ..] = &args[..] else { return Err(ExecutionError::NoSuchOverload) };
        let (from, to) = (text(from)?, text(to)?);
        let most = match args.get(2) {
            Some(Cel::Int(most)) => usize::try_from(*most).unwrap_or(usize::MAX),
            _ => usize::MAX,
        };
        let times = of.matches(from).take(most).count() as u64;
        spend(times.saturating_mul(to.len() as u64) / BYTES)?;
        Ok(Cel::String(Arc::new(of.replacen(from, to, most))))
    });
    context.add_function("matches", |This(of): This<Arc<String>>, pattern: Arc<String>| {
        regex(&pattern, &of).map(|regex| regex.is_match(&of))
    });
    context.add_function("find", |This(of): This<Arc<String>>, pattern: Arc<String>| {
        let found = regex(&pattern, &of)?.find(&of).map_or("", |found| found.as_str()).to_owned();
        Ok::<_, ExecutionError>(Cel::String(Arc::new(found)))
    });
    context.add_function("findAll", |This(of): This<Arc<String>>, Arguments(args): Arguments| {
        let pattern = args.first().ok_or(ExecutionError::NoSuchOverload).and_then(text)?;
        let most = match args.get(1) {
            Some(Cel::Int(most)) => usize::try_from(*most).unwrap_or(usize::MAX),
            _ => usize::MAX,
        };
        let regex = regex(pattern, &of)?;
        let found = regex.find_iter(&of).take(most).map(|found| Cel::String(Arc::new(found.as_str().to_owned())));
        Ok::<_, ExecutionError>(Cel::List(Arc::new(found.collect())))
    });
    context
}

fn text(value: &Cel) -> Result<&str, ExecutionError> {
    if let Cel::String(text) = value { Ok(text) } else { Err(ExecutionError::NoSuchOverload) }
}

/// A regular expression that is matched with a text.
fn regex(pattern: &str, text: &str) -> Result<Regex, ExecutionError> {
    spend(text.len() as u64 / BYTES)?;
    REGEX.with_borrow_mut(|last| {
        if let Some(regex) = last.as_ref().filter(|regex| regex.as_str() == pattern) {
            return Ok(regex.clone());
        }
        spend(COMPILED)?;
        let regex = Regex::new(pattern).map_err(|error| ExecutionError::function_error("matches", error))?;
        Ok(last.insert(regex).clone())
    })
}

/// About how many bytes a value takes.
fn weight(value: &Cel) -> u64 {
    const LEAST: u64 = 5;
    LEAST
        + match value {
            Cel::List(elements) => elements.iter().map(weight).sum(),
            Cel::Map(fields) => fields.map.values().map(|value| LEAST + weight(value)).sum(),
            Cel::String(text) => text.len() as u64,
            Cel::Bytes(bytes) => bytes.len() as u64,
            _ => 0,
        }
}

/// An old value of a rule that can do without one.
pub(super) fn optional(value: Option<Cel>) -> Cel {
    Cel::Opaque(Arc::new(value.map_or_else(OptionalValue::none, OptionalValue::of)))
}

/// A value as rules see it.
pub(super) fn to_cel(schema: Option<&Schema>, value: &Value) -> Cel {
    match value {
        Value::Null => Cel::Null,
        Value::Bool(is) => Cel::Bool(*is),
        Value::Number(number) => number_to_cel(schema, number),
        Value::String(text) => text_to_cel(schema, text),
        Value::Array(elements) => {
            let of = schema.and_then(Schema::element);
            Cel::List(Arc::new(elements.iter().map(|element| to_cel(of, element)).collect()))
        }
        Value::Object(fields) => {
            // The keys of a map are no names of fields.
            let escapes = schema.is_some_and(|schema| schema.additional_properties.is_none());
            let key = |name: &String| if escapes { escaped(name) } else { name.clone() };
            let field = |(name, value): (&String, &Value)| {
                (Key::from(key(name)), to_cel(schema.and_then(|schema| schema.field(name)), value))
            };
            let mut map: HashMap<Key, Cel> = fields.iter().map(field).collect();
            if schema.is_some_and(|schema| schema.is_embedded) {
                let empty = || Cel::String(Arc::default());
                map.entry("apiVersion".into()).or_insert_with(empty);
                map.entry("kind".into()).or_insert_with(empty);
                map.entry("metadata".into()).or_insert_with(|| Cel::Map(Map { map: Arc::default() }));
            }
            Cel::Map(Map { map: Arc::new(map) })
        }
    }
}

fn number_to_cel(schema: Option<&Schema>, number: &Number) -> Cel {
    let is_whole = schema.is_none_or(|schema| schema.types() != ["number"]);
    let whole = number.as_i64().filter(|_| is_whole).map(Cel::Int);
    whole.unwrap_or_else(|| Cel::Float(number.as_f64().unwrap_or(f64::NAN)))
}

/// A text, or what its format makes of it.
fn text_to_cel(schema: Option<&Schema>, text: &str) -> Cel {
    let format = schema.filter(|schema| !schema.is_int_or_string).map_or("", |schema| &schema.format);
    let read = match format {
        "byte" => BASE64_STANDARD.decode(text).ok().map(|bytes| Cel::Bytes(Arc::new(bytes))),
        "date" => called("timestamp", &format!("{text}T00:00:00Z")),
        "date-time" | "datetime" => called("timestamp", text),
        "duration" => called("duration", text),
        _ => None,
    };
    read.unwrap_or_else(|| Cel::String(Arc::new(text.to_owned())))
}

/// What a function of CEL makes of a text.
fn called(function: &str, text: &str) -> Option<Cel> {
    let text = IdedExpr { id: 0, expr: Expr::Literal(LiteralValue::String(text.into())) };
    CONTEXT.with(|context| Cel::resolve(&call(function, vec![text]), context).ok())
}

/// The name of a field, as rules have to write it.
fn escaped(name: &str) -> String {
    if RESERVED.contains(&name) {
        return format!("__{name}__");
    }
    let name = name.replace("__", "__underscores__");
    name.replace('.', "__dot__").replace('-', "__dash__").replace('/', "__slash__")
}

/// The words that are no names in CEL.
const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn evaluated(text: &str, value: &Value) -> Result<Cel, Failure> {
        let variables = [("self", to_cel(None, value))];
        Expression::read(text).unwrap().evaluate(&variables, &mut u64::MAX.clone())
    }

    #[test]
    fn an_expression_ends_when_it_costs_too_much() {
        let value = json!({ "list": vec![1; 1_000], "text": "a".repeat(20_000) });
        for text in [
            "self.list.all(a, self.list.all(b, self.list.all(c, c > 0)))",
            "self.list.map(a, self.list.map(b, self.text)).size() > 0",
            "self.text.replace('a', self.text).size() > 0",
            "self.list.map(a, 'a').join(self.text).size() > 0",
            "lists.range(1000000000000).size() > 0",
            "self.list.exists(a, self.text.matches('^b' + self.text))",
            "self.list.exists(a, self.list.all(b, self.list.all(c, c > 0))) || true",
            "lists.range(100000).all(a, !(2 in self.list))",
            "lists.range(100000).all(a, !self.text.contains('b'))",
            "lists.range(100000).distinct().size() > 0",
            "sets.contains(lists.range(50000), lists.range(50000))",
            "lists.range(100000).all(a, [self].all(b, b.text.size() > 1))",
            "lists.range(100000).all(a, [self, self][0].list[0] == 1)",
        ] {
            assert_eq!(evaluated(text, &value), Err(Failure::Costly), "{text}");
        }
        for text in [
            "self.list.all(a, self.list.exists(b, a == b))",
            "self.list.map(a, a + 1).filter(a, a > 1).size() == 1000",
            "self.text.replace('b', 'c').matches('^a+$')",
            "self.list.all(a, a in self.list && sets.contains([1], [a]))",
            "[self.text.substring(0, 9)].all(a, a.matches('^a{9}$') && a.size() == 9 && a + 'b' == 'aaaaaaaaab')",
            "self.?none.orValue(1) == 1 && optional.of(self).value().list.distinct() == [1]",
            "['a', 'b'].join('-').find('-.') == '-b' && 'abab'.findAll('a', 1) == ['a']",
        ] {
            assert_eq!(evaluated(text, &value), Ok(Cel::Bool(true)), "{text}");
        }
    }

    #[test]
    fn all_expressions_share_what_they_may_cost() {
        let (read, mut left) = (Expression::read("[1, 2].all(a, a > 0)").unwrap(), 50);
        let results = [(); 3].map(|()| read.evaluate(&[], &mut left));
        assert_eq!(results, [Ok(Cel::Bool(true)), Ok(Cel::Bool(true)), Err(Failure::Spent)]);
    }

    #[test]
    fn a_value_has_the_type_of_its_schema() {
        let schema = json!({ "type": "object", "properties": { "a_b": { "type": "number" }, "c-d": { "type": "string" },
            "for": { "type": "string", "format": "duration" }, "at": { "type": "string", "format": "date-time" },
            "bytes": { "type": "string", "format": "byte" }, "map": { "type": "object", "additionalProperties": {} } } });
        let value = json!({ "a_b": 1, "c-d": "x", "for": "1h", "at": "2024-01-01T00:00:00Z", "bytes": "YWI=",
            "map": { "in": 1 } });
        let rule = "self.a_b == 1.0 && self.c__dash__d == 'x' && self.__for__ == duration('60m') && self.map['in'] == 1 && \
                    self.at < timestamp('2024-01-02T00:00:00Z') && size(self.bytes) == 2";
        let variables = [("self", to_cel(Some(&Schema::read(&schema).unwrap()), &value))];
        let read = Expression::read(rule).unwrap();
        assert_eq!(read.evaluate(&variables, &mut u64::MAX.clone()), Ok(Cel::Bool(true)));
        assert!(Expression::read("a.B{c: 1} == a.B{c: 1}").is_err());
    }
}
