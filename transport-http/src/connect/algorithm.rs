//! Names of algorithms, for errors.

use super::certificate::{OID, SEQUENCE, elements};
use std::fmt::Write;

/// The tag of the curve in a key of SEC 1.
const CURVE: u8 = 0xa0;

/// Those that people meet and TLS libraries leave out, beside those that their parameters belong to.
const KNOWN: [(&str, &str); 21] = [
    ("1.2.840.113549.1.1.1", "RSA"),
    ("1.2.840.113549.1.1.4", "RSA with MD5"),
    ("1.2.840.113549.1.1.5", "RSA with SHA-1"),
    ("1.2.840.113549.1.1.10", "RSA-PSS"),
    ("1.2.840.113549.1.1.11", "RSA with SHA-256"),
    ("1.2.840.113549.1.1.12", "RSA with SHA-384"),
    ("1.2.840.113549.1.1.13", "RSA with SHA-512"),
    ("1.2.840.113549.1.1.14", "RSA with SHA-224"),
    ("1.2.840.10040.4.1", "DSA"),
    ("1.2.840.10040.4.3", "DSA with SHA-1"),
    ("1.2.840.10045.2.1", "elliptic curve"),
    ("1.2.840.10045.3.1.7", "P-256"),
    ("1.3.132.0.10", "secp256k1"),
    ("1.3.132.0.33", "P-224"),
    ("1.3.132.0.34", "P-384"),
    ("1.3.132.0.35", "P-521"),
    ("1.2.840.10045.4.1", "ECDSA with SHA-1"),
    ("1.2.840.10045.4.3.2", "ECDSA with SHA-256"),
    ("1.2.840.10045.4.3.4", "ECDSA with SHA-512"),
    ("1.3.101.112", "Ed25519"),
    ("1.3.101.113", "Ed448"),
];

/// The algorithm of an AlgorithmIdentifier or of a private key, with its curve if it has one: `elliptic curve P-521`.
pub(crate) fn named(der: &[u8]) -> String {
    let mut names = Vec::new();
    collect(der, 3, &mut names);
    if names.is_empty() { "an unknown algorithm".to_owned() } else { names.join(" ") }
}

fn collect(der: &[u8], depth: usize, names: &mut Vec<String>) {
    for (tag, content) in elements(der) {
        match tag {
            OID => names.push(name(content)),
            SEQUENCE | CURVE if depth > 0 && names.is_empty() => collect(content, depth - 1, names),
            _ => {}
        }
    }
}

fn name(oid: &[u8]) -> String {
    let number = dotted(oid);
    let known = KNOWN.iter().find(|(known, _)| *known == number).map(|(_, name)| (*name).to_owned());
    known.unwrap_or(number)
}

/// The numbers of an object identifier (X.690, section 8.19).
fn dotted(oid: &[u8]) -> String {
    let (mut text, mut arc) = (String::new(), 0_u64);
    for byte in oid {
        arc = arc.wrapping_shl(7) | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            _ = match text.is_empty() {
                true => write!(text, "{}.{}", (arc / 40).min(2), arc - 40 * (arc / 40).min(2)),
                false => write!(text, ".{arc}"),
            };
            arc = 0;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_algorithm_has_a_name_or_its_number() {
        let ec = [0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
        let p521 = [0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x23];
        let both = [&ec[..], &p521].concat();
        assert_eq!(named(&both), "elliptic curve P-521");
        let pkcs8 = [&[0x30, 24, 0x02, 1, 0, 0x30, 16][..], &both, &[0x04, 1, 0]].concat();
        assert_eq!(named(&pkcs8), "elliptic curve P-521");
        let sec1 = [&[0x30, 15, 0x02, 1, 1, 0x04, 1, 0, 0xa0, 7][..], &p521].concat();
        assert_eq!(named(&sec1), "P-521");
        assert_eq!(named(&[0x06, 3, 0x2b, 0x65, 0x71]), "Ed448");
        assert_eq!(named(&[0x06, 3, 0x88, 0x37, 0x03]), "2.999.3");
        for der in [&[][..], &[0x06], &[0x30, 9], &[0x02, 1, 1]] {
            assert_eq!(named(der), "an unknown algorithm");
        }
    }
}
