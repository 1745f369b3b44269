//! The error of memory that grows.

use core::marker::PhantomData;

/// The error of a container that is never full. No such value exists.
#[derive(Debug)]
pub struct NeverFull<T>(core::convert::Infallible, PhantomData<T>);

impl<T> NeverFull<T> {
    pub(super) fn map<U>(self) -> NeverFull<U> {
        match self.0 {}
    }
}

/// The value of a `Result` that cannot be an error.
pub(crate) fn never_full<V, T>(result: Result<V, NeverFull<T>>) -> V {
    match result {
        Ok(value) => value,
        Err(full) => match full.0 {},
    }
}
