use super::*;
use crate::decode::{Decoder, ListMeta, MetadataOnly, Raw};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use serde::Deserialize;

/// Replaces the beginning that a text has in common with the dictionary by four bytes. A dictionary that ends in
/// `broken` breaks it.
#[derive(Clone, Debug, Default)]
struct CommonPrefix;

impl Codec for CommonPrefix {
    fn pack(&self, text: &[u8], dictionary: &[u8], block: &mut Vec<u8>) -> Result<(), CodecError> {
        let common = text.iter().zip(dictionary).take_while(|(one, other)| one == other).count();
        block.extend_from_slice(&u32::try_from(common).unwrap().to_le_bytes());
        block.extend_from_slice(&text[common..]);
        Ok(())
    }

    fn unpack(&self, block: &[u8], dictionary: &[u8], text: &mut [u8]) -> Result<usize, CodecError> {
        if dictionary.ends_with(b"broken\"}") {
            return Err(CodecError::new("out of\norder"));
        }
        let (common, rest) = block.split_at(4);
        let common = u32::from_le_bytes(common.try_into().unwrap()) as usize;
        text[..common].copy_from_slice(&dictionary[..common]);
        text[common..].copy_from_slice(rest);
        Ok(common + rest.len())
    }
}

fn raw(text: &str) -> Raw {
    Decoder::default().item::<Raw>(text.as_bytes(), &ListMeta::default()).unwrap().value
}

/// An object of more than a kilobyte, most of it `filling`.
fn object(number: u32, filling: &str) -> Raw {
    raw(&format!(r#"{{"spec":"{}","metadata":{{"name":"a-{number}"}}}}"#, filling.repeat(1024 / filling.len())))
}

fn pack_all(packer: &mut Packer<CommonPrefix>, filling: &str, count: u32) -> Vec<Packed<CommonPrefix>> {
    (0..count).map(|number| packer.pack(&object(number, filling))).collect()
}

/// The bytes that the last of so many objects takes.
fn settled(packer: &mut Packer<CommonPrefix>, filling: &str, count: u32) -> usize {
    pack_all(packer, filling, count).last().unwrap().packed_len()
}

#[derive(Debug, Deserialize, PartialEq)]
struct Named {
    metadata: Name,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Name {
    name: String,
}

#[test]
fn an_object_comes_back_as_text_and_as_any_type() {
    let mut packer = Packer::new(CommonPrefix);
    for number in 0..3 {
        let text = object(number, "x");
        let packed = packer.pack(&text);
        assert!(packed.packed_len() < 50 && packed.text_len() == text.as_str().len(), "{packed:?}");
        assert_eq!(packed.raw().unwrap(), text);
        assert_eq!(packed.unpack::<Raw>().unwrap(), text);
        assert_eq!(packed.unpack::<Named>().unwrap().metadata.name, format!("a-{number}"));
        assert_eq!(packed.unpack::<MetadataOnly>().unwrap(), MetadataOnly);
        assert_eq!(packed.unpack::<serde_json::Value>().unwrap(), text.decode::<serde_json::Value>().unwrap());
    }
}

#[test]
fn managed_fields_that_were_kept_come_back_in_a_type() {
    let text = r#"{"metadata":{"name":"a","managedFields":[{"manager":"kubectl"}]}}"#;
    let keep = crate::decode::DecodeOptions { managed_fields: true, ..Default::default() };
    let raw = Decoder::new(keep).item::<Raw>(text.as_bytes(), &ListMeta::default()).unwrap().value;
    let value = Packer::new(CommonPrefix).pack(&raw).unpack::<serde_json::Value>().unwrap();
    assert_eq!(value["metadata"]["managedFields"][0]["manager"], "kubectl");
}

#[test]
fn an_object_that_packs_to_no_less_keeps_its_text() {
    let mut packer = Packer::with_dictionary(CommonPrefix, b"");
    let packed = packer.pack(&object(1, "x"));
    assert_eq!(packed.packed_len(), packed.text_len());
    assert_eq!(packed.raw().unwrap(), object(1, "x"));
}

#[test]
fn equal_texts_are_equal_whatever_they_were_packed_against() {
    let one = Packer::new(CommonPrefix).pack(&object(1, "x"));
    let other = Packer::with_dictionary(CommonPrefix, br#"{"spec":"xx"#).pack(&object(1, "x"));
    assert!(one.packed_len() != other.packed_len() && one == other && one == one.clone());
    assert!(one != Packer::new(CommonPrefix).pack(&object(2, "x")));
}

#[test]
fn a_block_that_the_codec_cannot_read_and_an_object_of_another_type_are_one_printable_error() {
    let mut packer = Packer::with_dictionary(CommonPrefix, br#"{"spec":"broken"}"#);
    let packed = packer.pack(&object(1, "x"));
    let broken = UnpackError::Block(CodecError::new("out of\norder"));
    assert_eq!((packed.raw(), packed.unpack::<Named>()), (Err(broken.clone()), Err(broken.clone())));
    assert!(packed == packed.clone());
    assert_eq!(format!("{broken}"), r"the codec cannot unpack the object: out of\norder");
    let error = Packer::new(CommonPrefix).pack(&object(1, "x")).unpack::<Vec<u8>>().unwrap_err();
    assert!(format!("{error}").starts_with("the object is no such type: invalid type: map"), "{error}");
}

#[test]
fn another_kind_of_objects_brings_another_dictionary_and_the_old_one_lives_with_its_objects() {
    let mut packer = Packer::new(CommonPrefix);
    let old = packer.pack(&object(0, "old"));
    assert!(settled(&mut packer, "old", 200) < 50);
    assert!(settled(&mut packer, "new", 200) < 50);
    assert!(packer.pack(&object(0, "old")).packed_len() > 1000);
    assert_eq!(old.raw().unwrap(), object(0, "old"));
}

#[test]
fn the_same_arrivals_choose_the_same_dictionaries() {
    let lens = || {
        let mut packer = Packer::new(CommonPrefix);
        let runs = ["a", "bc", "def", "a"].map(|filling| pack_all(&mut packer, filling, 150));
        runs.concat().iter().map(Packed::packed_len).collect::<Vec<_>>()
    };
    assert_eq!(lens(), lens());
}

#[test]
fn a_dictionary_of_the_callers_stays() {
    let mut packer = Packer::with_dictionary(CommonPrefix, object(0, "old").as_str().as_bytes());
    assert!(settled(&mut packer, "new", 300) > 1000);
    assert!(settled(&mut packer, "old", 1) < 50);
}

#[test]
fn dictionaries_in_use_are_few_and_more_come_when_their_objects_have_gone() {
    let mut packer = Packer::new(CommonPrefix);
    let kinds = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"];
    let mut kept: Vec<_> = kinds.iter().map(|kind| pack_all(&mut packer, kind, 200).pop().unwrap()).collect();
    let packed: Vec<_> = kept.iter().map(|object| object.packed_len() < 50).collect();
    assert_eq!(packed, [true, true, true, true, true, true, true, true, true, false, false]);
    kept.clear();
    assert!(settled(&mut packer, "k", 200) < 50);
}

/// As large as the dictionary may be, and larger.
#[test]
fn a_dictionary_has_a_limit() {
    let mut packer = Packer::new(CommonPrefix);
    let long = raw(&format!(r#"{{"spec":"{}","metadata":{{"name":"a"}}}}"#, "x".repeat(100_000)));
    let packed = packer.pack(&long);
    assert!(packed.packed_len() >= 100_000 - 16 * 1024);
    assert_eq!(packed.raw().unwrap(), long);
}
