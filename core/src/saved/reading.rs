use super::error::SavedError;
use super::flash::Flash;
use super::format::{Checksum, Head};
use super::origin::Origin;
use crate::decode::{Decode, DecodeOptions, Ending, FromJson, Json, Part};
use crate::object::ObjectHandle;
use crate::request::Query;
use crate::time::WallTime;
use crate::transport::ResponseHead;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

/// A state that was saved, and read back.
#[derive(Debug)]
pub struct Saved<T> {
    /// The objects.
    pub objects: Vec<ObjectHandle<T>>,
    /// The version whose state they are.
    pub version: String,
    /// When it was saved, by the clock of then.
    pub date: WallTime,
    /// The identity of the cluster, if it was known; see [`Origin::cluster`].
    pub cluster: Option<String>,
    /// Whether objects are missing because they could not be decoded. Then list again
    /// ([`Informer::relist_restored`](crate::informer::InformerIn::relist_restored)).
    pub is_partial: bool,
}

/// How many bytes are read at once.
const BUFFER: usize = 16 << 10;
/// How many bytes the first line has at most: selectors can be long.
const LONGEST_HEAD: usize = 64 << 10;

impl<T: FromJson> Saved<T> {
    /// Reads the last whole state, if there is one. It is read twice: nothing is decoded before the checksum is right.
    ///
    /// The calling thread may block for long.
    ///
    /// # Errors
    /// If the state was cut or changed, is of another origin, is larger than `limit` bytes, or cannot be read. Then begin
    /// without it.
    pub fn read(
        flash: &mut impl Flash,
        origin: &Origin,
        options: DecodeOptions,
        limit: usize,
    ) -> Result<Option<Self>, SavedError> {
        if !flash.open().map_err(SavedError::of_flash)? {
            return Ok(None);
        }
        check(flash, limit)?;
        if !flash.open().map_err(SavedError::of_flash)? {
            return Err(SavedError::Cut);
        }
        read(flash, origin, options).map(Some)
    }
}

/// Compares the checksum.
fn check(flash: &mut impl Flash, limit: usize) -> Result<(), SavedError> {
    let (mut checksum, mut held, mut len) = (Checksum::new(), Vec::new(), 0_usize);
    let mut buffer = vec![0; BUFFER];
    loop {
        let read = flash.read(&mut buffer).map_err(SavedError::of_flash)?;
        len = len.saturating_add(read);
        if len > limit {
            return Err(SavedError::TooLarge(limit));
        }
        if read == 0 {
            break;
        }
        held.extend_from_slice(&buffer[..read]);
        // The last bytes are not summed: they may be the end.
        let before = held.len().saturating_sub(Checksum::END);
        checksum.update(&held[..before]);
        held.drain(..before);
    }
    match Checksum::read(&held) {
        None => Err(SavedError::Cut),
        Some(named) if named != checksum => Err(SavedError::Damaged),
        Some(_) => Ok(()),
    }
}

fn read<T: FromJson>(flash: &mut impl Flash, origin: &Origin, options: DecodeOptions) -> Result<Saved<T>, SavedError> {
    let mut json = Json::<T>::new(options);
    json.start(Query::List, &ResponseHead { status: 200, ..ResponseHead::default() });
    let (mut line, mut head, mut objects) = (Vec::new(), None, Vec::new());
    let mut buffer = vec![0; BUFFER];
    loop {
        let len = flash.read(&mut buffer).map_err(SavedError::of_flash)?;
        let bytes = &buffer[..len];
        if len == 0 {
            break;
        }
        if head.is_none() {
            head = first_line(&mut line, bytes).map(|line| Head::read(line, origin)).transpose()?;
        }
        json.extend_from_slice(bytes);
        while let Some(part) = json.next_part() {
            objects.push(object(part)?);
        }
    }
    let Some(Head { origin, version, saved, count, is_partial }) = head else {
        return Err(SavedError::Unknown("its first line is too long".into()));
    };
    match json.finish() {
        Ending::List { resource_version, .. } if resource_version == version && objects.len() == count => {}
        _ => return Err(SavedError::Unknown("its list is not the one that its head names".into())),
    }
    Ok(Saved { objects, version, date: saved, cluster: origin.cluster, is_partial })
}

/// The first line, once all of it has come.
fn first_line<'a>(line: &'a mut Vec<u8>, bytes: &[u8]) -> Option<&'a [u8]> {
    let room = LONGEST_HEAD.saturating_sub(line.len());
    line.extend_from_slice(&bytes[..bytes.len().min(room)]);
    let end = line.iter().position(|byte| *byte == b'\n')?;
    Some(&line[..=end])
}

fn object<T>(part: Part<ObjectHandle<T>>) -> Result<ObjectHandle<T>, SavedError> {
    match part {
        Part::Item(object) => Ok(object),
        Part::Undecodable(error) => Err(SavedError::Object(error.to_string())),
        _ => Err(SavedError::Unknown("it is no list".into())),
    }
}
