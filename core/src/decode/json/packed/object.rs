use super::super::decoder::Decoder;
use super::super::raw::Raw;
use super::codec::{Codec, CodecError, Dictionary, UnpackError};
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec;
use core::fmt;
use serde::de::DeserializeOwned;

/// An object's JSON, compressed by a [`Codec`]: the smallest cache that keeps every field.
///
/// It has the text that [`Raw`] has. Key, version, labels and the rest of [`Meta`](crate::Meta) stay readable without
/// unpacking, so indexes, selectors and events cost what they cost with any type. [`unpack`](Self::unpack) reads the
/// object. It reads it each time, so a program that reads each object often is better off with a type.
///
/// A pod of 5 KB takes 80 to 700 bytes of text beside its metadata. The decoder packs each object against a dictionary,
/// the text of an earlier object, which the objects share; see [`Packer`](super::Packer).
#[cfg_attr(
    feature = "lz4",
    doc = r#"
```
use listwatch_core::decode::{Lz4, Packed};
use listwatch_core::{Informer, InformerConfig, Resource};

#[derive(serde::Deserialize)]
struct Pod { spec: Spec }
#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec { node_name: Option<String> }

let (informer, pods) = Informer::<Packed<Lz4>>::shared(Resource::named("v1/pods")?, InformerConfig::default());
// A worker reads an object when it needs one.
let Some(pod) = pods.get("team-0/web-1") else { return Ok(()) };
let (typed, text) = (pod.unpack::<Pod>()?, pod.raw()?);
println!("{:?} runs on {:?}: {}", pod.key(), typed.spec.node_name, text.as_str());
# drop(informer);
# Ok::<(), Box<dyn std::error::Error>>(())
```
"#
)]
pub struct Packed<C> {
    /// The text itself where it is as long.
    block: Box<[u8]>,
    len: usize,
    dictionary: Arc<Dictionary<C>>,
}

impl<C: Codec> Packed<C> {
    /// The object as a serde type.
    ///
    /// # Errors
    /// If the object is no `T`, or the block is broken.
    pub fn unpack<T: DeserializeOwned>(&self) -> Result<T, UnpackError> {
        Decoder::value(&self.text()?).map_err(|error| UnpackError::Type(error.to_string().into()))
    }

    /// The object's JSON text.
    ///
    /// # Errors
    /// If the block is broken.
    pub fn raw(&self) -> Result<Raw, UnpackError> {
        let text = String::from_utf8(self.text()?.into_owned());
        let text = text.map_err(|error| UnpackError::Block(CodecError::new(error.to_string())))?;
        Ok(Raw::of(text))
    }

    /// How many bytes the packed text takes.
    pub fn packed_len(&self) -> usize {
        self.block.len()
    }

    /// How many bytes the text has.
    pub fn text_len(&self) -> usize {
        self.len
    }

    pub(super) fn new(block: &[u8], len: usize, dictionary: Arc<Dictionary<C>>) -> Self {
        Self { block: block.into(), len, dictionary }
    }

    fn text(&self) -> Result<Cow<'_, [u8]>, UnpackError> {
        if self.block.len() == self.len {
            return Ok(Cow::Borrowed(&self.block));
        }
        let mut text = vec![0; self.len];
        self.dictionary.unpack(&self.block, &mut text).map_err(UnpackError::Block)?;
        Ok(Cow::Owned(text))
    }
}

impl<C> Clone for Packed<C> {
    fn clone(&self) -> Self {
        Self { block: self.block.clone(), len: self.len, dictionary: Arc::clone(&self.dictionary) }
    }
}

/// Compares the texts, which it unpacks unless both were packed alike. The informer compares versions instead.
impl<C: Codec> PartialEq for Packed<C> {
    fn eq(&self, other: &Self) -> bool {
        let is_packed_alike = Arc::ptr_eq(&self.dictionary, &other.dictionary) && self.block == other.block;
        let is_equal_text = || matches!((self.text(), other.text()), (Ok(one), Ok(other)) if one == other);
        self.len == other.len && (is_packed_alike || is_equal_text())
    }
}

impl<C: Codec> Eq for Packed<C> {}

impl<C> fmt::Debug for Packed<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Packed({} bytes in {})", self.len, self.block.len())
    }
}
