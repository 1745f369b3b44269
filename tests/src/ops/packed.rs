//! Texts and blocks, packed and unpacked by the codec of core.

use listwatch_core::decode::{Codec, Decoder, ListMeta, Lz4, Packer, Raw};

/// The most bytes that a block is unpacked to.
const ROOM: usize = 4096;

/// Splits `data` behind three bytes into a dictionary and a text, and packs the text. Or changes the block, or takes the
/// text for a block. Or packs texts as objects, one after the other.
///
/// # Panics
/// If what was packed does not come back. If a block gives more than there is room for.
pub fn run(data: &[u8]) {
    let Some((&[kind, at, value], rest)) = data.split_first_chunk::<3>() else { return };
    let (dictionary, text) = rest.split_at(rest.len() * usize::from(at) / 255);
    match kind % 4 {
        0 => comes_back(dictionary, text),
        1 => is_harmless(dictionary, text, usize::from(value) * 16),
        2 => is_harmless(dictionary, &changed(dictionary, text, at, value), text.len()),
        _ => objects_come_back(dictionary, text, value),
    }
}

fn comes_back(dictionary: &[u8], text: &[u8]) {
    let block = packed(dictionary, text);
    let mut room = vec![0; text.len()];
    assert_eq!(Lz4.unpack(&block, dictionary, &mut room), Ok(text.len()), "{}", text.escape_ascii());
    assert_eq!(room, text);
}

/// Whatever the block is, it is refused or gives no more than the room.
fn is_harmless(dictionary: &[u8], block: &[u8], room: usize) {
    let room = room.min(ROOM);
    let unpacked = Lz4.unpack(block, dictionary, &mut vec![0; room]);
    assert!(unpacked.as_ref().is_ok_and(|len| *len <= room) || unpacked.is_err(), "{unpacked:?} of {room}");
}

/// A block with another byte in one place.
fn changed(dictionary: &[u8], text: &[u8], at: u8, value: u8) -> Vec<u8> {
    let mut block = packed(dictionary, text);
    let at = block.len().saturating_sub(1) * usize::from(at) / 255;
    block.get_mut(at).into_iter().for_each(|byte| *byte ^= value);
    block
}

fn packed(dictionary: &[u8], text: &[u8]) -> Vec<u8> {
    let mut block = Vec::new();
    Lz4.pack(text, dictionary, &mut block).expect("a text of any bytes can be packed");
    block
}

/// Objects around pieces of the text, packed by one packer and unpacked at the end.
fn objects_come_back(dictionary: &[u8], text: &[u8], len: u8) {
    let mut packer = if dictionary.is_empty() { Packer::new(Lz4) } else { Packer::with_dictionary(Lz4, dictionary) };
    let objects = text.chunks(1 + usize::from(len) * 8).map(object);
    let objects: Vec<_> = objects.map(|object| (packer.pack(&object), object)).collect();
    for (packed, object) in objects {
        assert_eq!(packed.raw().as_ref(), Ok(&object));
        assert!(packed.packed_len() <= packed.text_len());
    }
}

fn object(piece: &[u8]) -> Raw {
    let text = serde_json::json!({ "metadata": { "name": "a" }, "data": String::from_utf8_lossy(piece) }).to_string();
    let object = Decoder::default().item(text.as_bytes(), &ListMeta::default());
    object.unwrap_or_else(|error| panic!("{text}: {error}")).value
}
