//! An object that is larger than the memory of any device here, as a server would send it.

use crate::tape::Source;

/// Text that repeats: each part so many times, one behind the other.
#[derive(Clone, Debug)]
pub struct Repeated {
    parts: &'static [(&'static str, usize)],
    /// How often the first part was read.
    times: usize,
    /// How many bytes of it were read once more.
    at: usize,
}

/// An event of a watch whose object has 1.5 MB, most of it before what is kept of it.
pub const LARGE: Repeated = Repeated {
    parts: &[
        (r#"{"type":"MODIFIED","object":{"metadata":{"name":"large","namespace":"team","managedFields":["#, 1),
        (r#"{"manager":"a\"}]","fieldsV1":{"f:spec":{"k:{\"name\":\"b\\\\\"}":{".":{}}}}},"#, 12_000),
        (r#"{}],"resourceVersion":"7","uid":"u","labels":{"app":"svc"}},"status":{"conditions":["#, 1),
        (r#"{"status":"False","message":"]}\\\"[{","type":"Other"},"#, 12_000),
        (r#"{"status":"True","type":"Ready"}],"containerStatuses":[{"restartCount":3}]},"spec":{"nodeName":"n"}}}"#, 1),
        ("\n", 1),
    ],
    times: 0,
    at: 0,
};

impl Repeated {
    /// The bytes that are left.
    #[must_use]
    pub fn len(&self) -> usize {
        let whole: usize = self.parts.iter().map(|(text, times)| text.len() * times).sum();
        whole - self.parts.first().map_or(0, |(text, _)| text.len() * self.times + self.at)
    }

    /// Whether nothing is left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }
}

impl Source for Repeated {
    fn read(&mut self, room: &mut [u8]) -> usize {
        let mut len = 0;
        while let Some((text, times)) = self.parts.first()
            && len < room.len()
        {
            let text = &text.as_bytes()[self.at..];
            let piece = text.len().min(room.len() - len);
            room[len..len + piece].copy_from_slice(&text[..piece]);
            len += piece;
            self.at += piece;
            if piece == text.len() {
                (self.at, self.times) = (0, self.times + 1);
                if self.times == *times {
                    (self.times, self.parts) = (0, &self.parts[1..]);
                }
            }
        }
        len
    }
}
