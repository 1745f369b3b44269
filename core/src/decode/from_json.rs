use serde::de::DeserializeOwned;

/// A type that [`Json`](super::Json) decodes objects into: every serde type that owns its data, and
/// [`Packed`](super::Packed).
///
/// Implement it for a type that is made from a serde type and from what earlier objects left, for example from a
/// dictionary. A type that implements `Deserialize` needs no implementation.
pub trait FromJson: Sized {
    /// The serde type that an object's JSON is read as.
    type Json: DeserializeOwned;

    /// What a decoder keeps from one object to the next. Each stream has a decoder of its own.
    type State: Default + Send + 'static;

    /// Makes the value of `json`. Objects come in the order of their arrival.
    fn from_json(json: Self::Json, state: &mut Self::State) -> Self;
}

impl<T: DeserializeOwned> FromJson for T {
    type Json = T;
    type State = ();

    fn from_json(json: T, (): &mut ()) -> T {
        json
    }
}
