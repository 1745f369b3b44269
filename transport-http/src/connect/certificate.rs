//! What a certificate says of itself (RFC 5280), as far as webpki does not tell it.

use listwatch_core::time::WallTime;
use rustls::pki_types::UnixTime;

const BOOLEAN: u8 = 0x01;
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const OCTETS: u8 = 0x04;
pub(super) const OID: u8 = 0x06;
const UTC_TIME: u8 = 0x17;
pub(super) const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;
const EXTENSIONS: u8 = 0xa3;

const KEY_USAGE: &[u8] = &[0x55, 0x1d, 0x0f];
const BASIC_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 0x13];
const EXTENDED_KEY_USAGE: &[u8] = &[0x55, 0x1d, 0x25];
const ANY_USAGE: &[u8] = &[0x55, 0x1d, 0x25, 0x00];
const SERVER: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x01];
const RSA: &[u8] = &[0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];

/// The bit of a key usage that lets a key sign certificates, in its first byte.
const SIGNS_CERTIFICATES: u8 = 0x04;

/// The number that says version 3.
const V3: &[u8] = &[2];

/// The parts of a certificate that are read here.
pub(super) struct Certificate<'a> {
    is_v3: bool,
    not_before: u64,
    not_after: u64,
    /// The content of the list; empty without extensions.
    extensions: &'a [u8],
}

/// A reason not to trust a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unfit {
    Unreadable,
    Expired,
    NotYetValid,
    /// It may not sign other certificates.
    Signer,
    /// It is not for servers.
    Server,
    /// It has an RSA key of so many bits. rustls reports its signatures as bad.
    WeakKey(usize),
}

/// The shortest accepted RSA key, in bits.
pub(super) const MIN_RSA_BITS: usize = 2048;

impl<'a> Certificate<'a> {
    pub(super) fn of(der: &'a [u8]) -> Result<Self, Unfit> {
        Self::parsed(der).ok_or(Unfit::Unreadable)
    }

    fn parsed(der: &'a [u8]) -> Option<Self> {
        let (certificate, _) = element(der, SEQUENCE)?;
        let (body, _) = element(certificate, SEQUENCE)?;
        let (version, body) = element(body, VERSION).unwrap_or((&[], body));
        let (_serial, body) = element(body, INTEGER)?;
        let (_algorithm, body) = element(body, SEQUENCE)?;
        let (_issuer, body) = element(body, SEQUENCE)?;
        let (validity, body) = element(body, SEQUENCE)?;
        let (_subject, body) = element(body, SEQUENCE)?;
        let (_key, body) = element(body, SEQUENCE)?;
        let extensions = elements(body).find(|(tag, _)| *tag == EXTENSIONS);
        let mut dates = elements(validity).map(seconds);
        Some(Self {
            is_v3: element(version, INTEGER).is_some_and(|(number, _)| number == V3),
            not_before: dates.next()??,
            not_after: dates.next()??,
            extensions: extensions.map_or(Some(&[][..]), |(_, list)| Some(element(list, SEQUENCE)?.0))?,
        })
    }

    /// Checks a certificate that signs those of servers, as Go does: one of version 1 may, and one of version 3 has to
    /// say so.
    pub(super) fn check_signer(&self, now: UnixTime) -> Result<(), Unfit> {
        self.check_dates(now)?;
        let is_authority = self.extension(BASIC_CONSTRAINTS).map(|constraints| {
            let says = element(constraints, SEQUENCE).and_then(|(constraints, _)| element(constraints, BOOLEAN));
            says.is_some_and(|(value, _)| value != [0])
        });
        let may_sign = is_authority.unwrap_or(!self.is_v3) && self.extension(KEY_USAGE).is_none_or(signs_certificates);
        if may_sign { self.check_usage(Unfit::Signer) } else { Err(Unfit::Signer) }
    }

    /// Checks a server's certificate that is trusted for itself. The name remains.
    pub(super) fn check_server(&self, now: UnixTime) -> Result<(), Unfit> {
        self.check_dates(now)?;
        self.check_usage(Unfit::Server)
    }

    fn check_dates(&self, now: UnixTime) -> Result<(), Unfit> {
        match now.as_secs() {
            now if now < self.not_before => Err(Unfit::NotYetValid),
            now if now > self.not_after => Err(Unfit::Expired),
            _ => Ok(()),
        }
    }

    /// Checks that servers are among the uses, if there is a list of them.
    fn check_usage(&self, unfit: Unfit) -> Result<(), Unfit> {
        let Some((usages, _)) = self.extension(EXTENDED_KEY_USAGE).and_then(|usages| element(usages, SEQUENCE)) else {
            return Ok(());
        };
        let serves = elements(usages).any(|(_, usage)| usage == SERVER || usage == ANY_USAGE);
        if serves { Ok(()) } else { Err(unfit) }
    }

    fn extension(&self, id: &[u8]) -> Option<&'a [u8]> {
        elements(self.extensions).find_map(|(_, extension)| {
            let (its, rest) = element(extension, OID)?;
            let (_critical, rest) = element(rest, BOOLEAN).unwrap_or((&[], rest));
            (its == id).then(|| element(rest, OCTETS)).flatten().map(|(value, _)| value)
        })
    }
}

/// Whether a key usage allows it. One without a bit says nothing.
fn signs_certificates(usage: &[u8]) -> bool {
    match element(usage, BIT_STRING) {
        Some(([_unused, bits @ ..], _)) => {
            bits.iter().all(|byte| *byte == 0) || bits.first().is_some_and(|byte| byte & SIGNS_CERTIFICATES != 0)
        }
        _ => false,
    }
}

/// The date of a UTCTime, whose years are those from 1950 to 2049, or of a GeneralizedTime; none before 1970 counts.
fn seconds((tag, text): (u8, &[u8])) -> Option<u64> {
    let text = str::from_utf8(text).ok()?;
    let text = match tag {
        UTC_TIME if text.starts_with(|digit: char| digit >= '5') => format!("19{text}"),
        UTC_TIME => format!("20{text}"),
        _ => text.to_owned(),
    };
    let part = |start: usize| text.get(start..start + 2);
    let (year, month, day) = (text.get(..4)?, part(4)?, part(6)?);
    let (hour, minute, rest) = (part(8)?, part(10)?, text.get(12..)?);
    let date: WallTime = format!("{year}-{month}-{day}T{hour}:{minute}:{rest}").parse().ok()?;
    Some(u64::try_from(date.as_unix_seconds()).unwrap_or(0))
}

/// The length of an RSA key's modulus in bits, from its SubjectPublicKeyInfo (RFC 8017).
pub(super) fn rsa_bits(info: &[u8]) -> Option<usize> {
    let (info, _) = element(info, SEQUENCE)?;
    let (algorithm, info) = element(info, SEQUENCE)?;
    let (key, _) = element(info, BIT_STRING)?;
    let (key, _) = element(key.strip_prefix(&[0])?, SEQUENCE)?;
    let (modulus, _) = element(key, INTEGER)?;
    let first = modulus.iter().position(|byte| *byte != 0)?;
    let bits = (modulus.len() - first) * 8 - modulus[first].leading_zeros() as usize;
    algorithm.starts_with(RSA).then_some(bits)
}

/// The elements that follow each other, with their tags.
pub(super) fn elements(mut der: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    std::iter::from_fn(move || {
        let tag = *der.first()?;
        let (content, rest) = element(der, tag)?;
        der = rest;
        Some((tag, content))
    })
}

/// Splits off a DER element with this tag: its content, and the rest.
fn element(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&[its, len], rest) = der.split_first_chunk()?;
    let (len, rest) = match len {
        0..=0x7f => (usize::from(len), rest),
        0x81 => (usize::from(*rest.first()?), &rest[1..]),
        0x82 => {
            let (&[high, low], rest) = rest.split_first_chunk()?;
            (usize::from(u16::from_be_bytes([high, low])), rest)
        }
        _ => return None,
    };
    (its == tag).then(|| rest.split_at_checked(len)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_rsa_key_has_no_length() {
        for info in [&[][..], &[0x30], &[0x30, 0x82], &[0x30, 0x84, 1, 1, 1, 1], &[0x30, 5, 1], &[0x30, 2, 0x30, 0]] {
            assert_eq!(rsa_bits(info), None);
        }
    }

    #[test]
    fn what_is_no_certificate_is_unreadable() {
        for der in [&[][..], &[0x30], &[0x30, 2, 0x30, 0], &[0x30, 4, 0x30, 2, 0xa0, 9]] {
            assert_eq!(Certificate::of(der).err(), Some(Unfit::Unreadable));
        }
    }

    #[test]
    fn a_date_has_two_digits_of_its_year_or_four() {
        for (tag, text, expected) in [
            (UTC_TIME, "700101000000Z", Some(0)),
            (UTC_TIME, "491231235959Z", Some(2_524_607_999)),
            (UTC_TIME, "500101000000Z", Some(0)),
            (0x18, "20500101000000Z", Some(2_524_608_000)),
            (0x18, "99991231235959Z", Some(253_402_300_799)),
            (0x18, "2050010100000", None),
            (UTC_TIME, "", None),
            (UTC_TIME, "2\u{e9}0101000000Z", None),
        ] {
            assert_eq!(seconds((tag, text.as_bytes())), expected, "{text}");
        }
    }
}
