//! Finds values in a stream of JSON without parsing them: the events of a document, or the records
//! of a sequence. Memory is bounded by the longest value that is kept.

use std::io::{self, Read};

use memchr::{memchr2, memmem};

/// Largest size of a value, in bytes. A longer one is reported as unreadable.
const LONGEST: usize = 4 << 20;
/// Number of bytes read at once.
const CHUNK: usize = 256 << 10;
/// Deepest nesting, as a bit each.
const DEEPEST: u32 = 64;
/// Number of broken values after which the next one is searched inside of them. Later, all that was
/// read is dropped, so that the time stays linear.
const SEARCHES: u32 = 64;
/// Separator of records (RFC 7464).
pub(crate) const RECORD: u8 = 0x1e;

/// Bytes read and not yet taken.
pub(crate) struct Stream<R> {
    input: R,
    bytes: Vec<u8>,
    /// Position of the first byte not taken.
    start: usize,
    /// Number of bytes of the file before `bytes`.
    before: u64,
    ended: bool,
    failed: Option<io::Error>,
    searches: u32,
}

/// Reason why a value has no end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    /// The file ends in it.
    Ends,
    /// Longer than 4 MiB.
    Long,
    /// No JSON.
    Wrong(&'static str),
}

impl Broken {
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::Ends => "the file ends inside a record",
            Self::Long => "a record is longer than 4 MiB",
            Self::Wrong(reason) => reason,
        }
    }
}

/// Bits of bytes that matter inside of strings, between them, and after a number.
const STRING: u8 = 1;
const STRUCTURE: u8 = 2;
const SCALAR: u8 = 4;
const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut i = 0;
    while i < 256 {
        let b = i as u8;
        classes[i] = if matches!(b, b'"' | b'\\' | 0..0x20) { STRING } else { 0 };
        classes[i] |= if matches!(b, b'"' | b'{' | b'}' | b'[' | b']') { STRUCTURE | SCALAR } else { 0 };
        classes[i] |= if matches!(b, b',' | b' ' | b'\n' | b'\r' | b'\t' | RECORD) { SCALAR } else { 0 };
        i += 1;
    }
    classes
};

/// Returns the place of the first byte of a class.
fn find(bytes: &[u8], class: u8) -> Option<usize> {
    bytes.iter().position(|b| CLASSES[usize::from(*b)] & class != 0)
}

/// State of the search for the end of a value.
#[derive(Default)]
struct Scan {
    at: usize,
    depth: u32,
    /// One bit a level, the deepest lowest: 1 for an object.
    objects: u64,
    in_string: bool,
}

impl Scan {
    /// Continues the search. Returns the length of the value, or nothing if it goes on.
    fn step(&mut self, bytes: &[u8]) -> Result<Option<usize>, Broken> {
        while let Some(rest) = bytes.get(self.at..).filter(|rest| !rest.is_empty()) {
            if self.in_string {
                let Some(i) = find(rest, STRING) else {
                    self.at = bytes.len();
                    return Ok(None);
                };
                match rest.get(i) {
                    Some(b'"') => {
                        self.in_string = false;
                        self.at += i + 1;
                        if self.depth == 0 {
                            return Ok(Some(self.at));
                        }
                    }
                    Some(b'\\') if rest.len() <= i + 1 => {
                        self.at += i;
                        return Ok(None);
                    }
                    Some(b'\\') => self.at += i + 2,
                    _ => return Err(Broken::Wrong("a string has no end")),
                }
                continue;
            }
            let is_scalar = self.depth == 0 && self.at > 0;
            let found = find(rest, if self.depth == 0 { SCALAR } else { STRUCTURE });
            let Some(i) = found else {
                self.at = bytes.len();
                return Ok(None);
            };
            if self.depth == 0 && (is_scalar || i > 0) {
                return Ok(Some(self.at + i));
            }
            match rest.get(i) {
                Some(b'"') => self.in_string = true,
                Some(b @ (b'{' | b'[')) => {
                    if self.depth == DEEPEST {
                        return Err(Broken::Wrong("a record is nested deeper than 64 levels"));
                    }
                    self.depth += 1;
                    self.objects = self.objects << 1 | u64::from(*b == b'{');
                }
                Some(b @ (b'}' | b']')) if self.depth > 0 => {
                    if (self.objects & 1 == 1) != (*b == b'}') {
                        return Err(Broken::Wrong("a bracket does not match"));
                    }
                    self.depth -= 1;
                    self.objects >>= 1;
                    if self.depth == 0 {
                        return Ok(Some(self.at + i + 1));
                    }
                }
                _ => return Err(Broken::Wrong("expected a value")),
            }
            self.at += i + 1;
        }
        Ok(None)
    }
}

impl<R: Read> Stream<R> {
    pub(crate) fn new(input: R) -> Self {
        Self { input, bytes: Vec::new(), start: 0, before: 0, ended: false, failed: None, searches: 0 }
    }

    /// Returns the position in the file.
    pub(crate) fn at(&self) -> u64 {
        self.before + self.start as u64
    }

    /// Returns the error that ended the stream.
    pub(crate) fn failed(&mut self) -> Option<io::Error> {
        self.failed.take()
    }

    fn waiting(&self) -> &[u8] {
        self.bytes.get(self.start..).unwrap_or_default()
    }

    pub(crate) fn skip(&mut self, count: usize) {
        self.start = self.bytes.len().min(self.start + count);
    }

    /// Takes bytes found before.
    pub(crate) fn take(&mut self, count: usize) -> &[u8] {
        let from = self.start;
        self.skip(count);
        self.bytes.get(from..self.start).unwrap_or_default()
    }

    /// Reads more. Returns false at the end.
    fn fill(&mut self) -> bool {
        if self.ended {
            return false;
        }
        self.bytes.drain(..self.start);
        self.before += self.start as u64;
        self.start = 0;
        let before = self.bytes.len();
        let read = (&mut self.input).take(CHUNK as u64).read_to_end(&mut self.bytes);
        self.failed = read.err();
        self.ended = self.failed.is_some() || self.bytes.len() < before + CHUNK;
        self.bytes.len() > before
    }

    /// Returns the byte `i` places after the next one.
    pub(crate) fn peek(&mut self, i: usize) -> Option<u8> {
        while self.waiting().len() <= i && self.fill() {}
        self.waiting().get(i).copied()
    }

    /// Skips bytes while `skipped` holds, and returns the next one.
    pub(crate) fn skip_while(&mut self, skipped: impl Fn(u8) -> bool) -> Option<u8> {
        loop {
            match self.waiting().iter().position(|b| !skipped(*b)) {
                Some(i) => {
                    self.skip(i);
                    return self.peek(0);
                }
                None => {
                    self.start = self.bytes.len();
                    if !self.fill() {
                        return None;
                    }
                }
            }
        }
    }

    /// Returns the length of the value that begins here.
    pub(crate) fn value(&mut self) -> Result<usize, Broken> {
        let mut scan = Scan::default();
        loop {
            if let Some(length) = scan.step(self.waiting())? {
                return Ok(length);
            }
            if self.waiting().len() > LONGEST {
                return Err(Broken::Long);
            }
            if !self.fill() {
                let is_scalar = scan.depth == 0 && !scan.in_string && scan.at > 0;
                return if is_scalar { Ok(self.waiting().len()) } else { Err(Broken::Ends) };
            }
        }
    }

    /// Skips a broken value of an array as far as the next one: to the next that begins with the
    /// same bytes, if there is one.
    pub(crate) fn search(&mut self) {
        self.searches += 1;
        let bytes = self.waiting();
        let next = (self.searches <= SEARCHES).then(|| match bytes {
            [b'[', rest @ ..] => memmem::find(rest, b"}],").map(|i| i + 4),
            [_, rest @ ..] => memmem::find(rest, bytes.get(..8).unwrap_or(bytes)).map(|i| i + 1),
            [] => None,
        });
        let count = next.flatten().unwrap_or(bytes.len());
        self.skip(count);
    }

    /// Returns the length of the record that begins here, and whether a separator ends it.
    pub(crate) fn record(&mut self) -> Result<(usize, bool), Broken> {
        let mut from = 0;
        loop {
            while let Some(i) = memchr2(RECORD, b'\n', self.waiting().get(from..).unwrap_or_default()) {
                let at = from + i;
                // A line break inside a record is followed by a space or by another part of it.
                if self.peek(at) == Some(RECORD)
                    || self.peek(at + 1).is_none_or(|b| matches!(b, b'{' | b'[' | b'\n' | b'\r' | RECORD))
                {
                    return Ok((at, true));
                }
                from = at + 1;
            }
            from = self.waiting().len();
            if from > LONGEST {
                return Err(Broken::Long);
            }
            if !self.fill() {
                return Ok((from, false));
            }
        }
    }

    /// Skips to the next separator.
    pub(crate) fn skip_record(&mut self) {
        self.start = self.bytes.len();
        self.skip_while(|b| b != RECORD && b != b'\n');
    }

    /// Reports whether several records follow each other, rather than one document.
    pub(crate) fn is_sequence(&mut self) -> bool {
        if self.peek(0) == Some(RECORD) {
            return true;
        }
        let end = match self.value() {
            Ok(length)
                if memmem::find(self.waiting().get(..length).unwrap_or_default(), b"\"traces\"")
                    .is_some() =>
            {
                return false;
            }
            Ok(length) => length,
            Err(Broken::Wrong(_)) => return memmem::find(self.waiting(), b"\n{").is_some(),
            Err(_) => return false,
        };
        let mut next = end;
        while self.peek(next).is_some_and(|b| b.is_ascii_whitespace()) {
            next += 1;
        }
        matches!(self.peek(next), Some(b'{' | RECORD))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives one byte at a time.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let count = out.len().min(1);
            (&mut self.0).read(&mut out[..count])
        }
    }

    #[test]
    fn values_end_where_they_end() {
        for (text, length) in [
            (r#"{"a":"}\"{","b":[1,{}]},7"#, 23),
            ("12.5,", 4),
            ("12.5", 4),
            ("true]", 4),
            (r#""a\\" "#, 5),
            ("[[],[{}]]]", 9),
        ] {
            assert_eq!(Stream::new(Slow(text.as_bytes())).value(), Ok(length), "{text}");
        }
        for (text, broken) in [
            ("{\"a\":1", Broken::Ends),
            ("\"a\\", Broken::Ends),
            ("[1}", Broken::Wrong("a bracket does not match")),
            ("{\"a\n\":1}", Broken::Wrong("a string has no end")),
            ("]", Broken::Wrong("expected a value")),
        ] {
            assert_eq!(Stream::new(text.as_bytes()).value(), Err(broken), "{text}");
        }
        assert!(matches!(Stream::new(&[b'['; 65][..]).value(), Err(Broken::Wrong(_))));
        let long = [&b"\""[..], &vec![b'a'; LONGEST + CHUNK]].concat();
        assert_eq!(Stream::new(&long[..]).value(), Err(Broken::Long));
    }

    #[test]
    fn records_end_at_separators() {
        let mut stream = Stream::new(&b"{\"a\":\n 1}\n{}\n\x1e{\n  \"b\":2}"[..]);
        assert_eq!(stream.record(), Ok((9, true)));
        stream.skip(10);
        assert_eq!(stream.record(), Ok((2, true)));
        stream.skip(4);
        assert_eq!(stream.record(), Ok((10, false)));
        assert_eq!(stream.at(), 14);
    }

    #[test]
    fn documents_and_sequences() {
        for (text, is_sequence) in [
            ("{}\n{}", true),
            ("{}", false),
            ("{\"traces\":[]}\n{\"traces\":[]}", false),
            ("\x1e{}", true),
            ("{\"a", false),
            ("{\"a\n{\"b\":1}\n", true),
        ] {
            assert_eq!(Stream::new(text.as_bytes()).is_sequence(), is_sequence, "{text}");
        }
    }
}
